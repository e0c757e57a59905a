import json
from collections.abc import Callable
from typing import Any

import pytest

from copyfit import (
    AssistantMessage,
    ModelInput,
    ModelSettings,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from copyfit_adapters.openai_chat.encode import encode
from copyfit_harness.errors import NotExact
from copyfit_harness.proof.exact import assert_exact, compare, prove
from copyfit_harness.proof.protocols import OPENAI_CHAT
from copyfit_harness.wire.exchange import Exchange, WireRequest, WireResponse

INPUT = ModelInput(
    system="Cite every figure.",
    messages=(
        UserMessage(content="比较两个品系"),
        AssistantMessage(
            content=(TextPart(text="I look."), ToolCall(id="c1", name="read", arguments='{"n": 1.0}'))
        ),
        ToolMessage(call_id="c1", name="read", content="12.5"),
    ),
    tools=(ToolSpec(name="read"),),
    settings=ModelSettings(max_output_tokens=64, temperature=0.5),
)


def body_of(model_input: ModelInput) -> bytes:
    return encode(model_input, "m").body


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    body = json.loads(body_of(INPUT))
    change(body)
    return json.dumps(body).encode()


def exchange(body: bytes) -> Exchange:
    request = WireRequest("POST", "http://provider.invalid/v1/chat/completions", (), body)
    return Exchange(request, WireResponse(200, "OK", (), (b"{}",)))


def test_what_the_codec_encoded_is_exact() -> None:
    assert compare(INPUT, body_of(INPUT), OPENAI_CHAT).is_exact


def test_the_form_of_the_json_does_not_matter() -> None:
    assert compare(INPUT, json.dumps(json.loads(body_of(INPUT)), indent=4).encode(), OPENAI_CHAT).is_exact


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda body: body["messages"][0].update(content="Cite nothing."), "system"),
        (lambda body: body["messages"][1].update(content="比较三个品系"), "messages[0].content"),
        (lambda body: body["messages"].pop(), "messages[2]"),
        (
            lambda body: body["messages"][2]["tool_calls"][0]["function"].update(arguments='{"n": 1}'),
            "messages[1].content[1].arguments",
        ),
        (lambda body: body["messages"][3].update(tool_call_id="c2"), "messages[2].call_id"),
        (lambda body: body["tools"][0]["function"].update(name="write"), "tools[0].name"),
        (lambda body: body.update(temperature=0.7), "settings.temperature"),
        (lambda body: body.update(logit_bias={"9": 100}), "settings.extra"),
    ],
)
def test_every_change_on_the_wire_is_found_and_its_path_named(
    change: Callable[[dict[str, Any]], object], path: str
) -> None:
    finding = compare(INPUT, changed(change), OPENAI_CHAT)
    assert not finding.is_exact
    assert any(found.startswith(path) for found in finding.paths), finding.paths


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"messages": 7}', b"\xff\xfe"])
def test_a_body_that_is_no_request_is_not_exact_and_says_why(body: bytes) -> None:
    finding = compare(INPUT, body, OPENAI_CHAT)
    assert not finding.is_exact
    assert "cannot be read back" in finding.problem


def test_each_input_is_proven_against_the_exchange_of_its_position() -> None:
    other = ModelInput(system="", messages=(UserMessage(content="x"),))
    first, second = prove([INPUT, other], [exchange(body_of(INPUT)), exchange(body_of(INPUT))], OPENAI_CHAT)
    assert first.is_exact
    assert not second.is_exact


def test_a_request_that_no_assembly_made_fails_the_proof() -> None:
    with pytest.raises(NotExact, match="1 inputs were assembled and 2 requests travelled"):
        prove([INPUT], [exchange(body_of(INPUT))] * 2, OPENAI_CHAT)


def test_the_assertion_passes_an_exact_exchange_and_shows_the_differences_of_another() -> None:
    assert_exact(INPUT, exchange(body_of(INPUT)), OPENAI_CHAT)
    with pytest.raises(NotExact, match="temperature") as raised:
        assert_exact(INPUT, exchange(changed(lambda body: body.update(temperature=0.7))), OPENAI_CHAT)
    assert raised.value.paths == ("settings.temperature",)
