"""`readback` reads what any client sends, and says where a body is no request."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import AssistantMessage, FilePart, TextPart, ThinkingPart, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.errors import UnreadableRequest


def read(**fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "max_tokens": 5, "messages": []} | fields).encode())


@pytest.mark.parametrize(
    "system",
    [
        "Be brief.",
        [{"type": "text", "text": "Be brief."}],
        [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    ],
)
def test_a_system_of_one_text_is_the_system_text(system: Any) -> None:
    assert read(system=system).system == "Be brief."


def test_a_system_of_several_blocks_is_kept_whole_and_goes_out_again() -> None:
    system = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]
    found = read(system=system)
    assert found.system == ""
    assert json.loads(encode(found, "m").body)["system"] == system


def test_tools_that_run_at_the_provider_are_kept_whole() -> None:
    tools = [{"name": "f", "input_schema": {}}, {"type": "web_search_20250305", "name": "web_search"}]
    found = read(tools=tools)
    assert found.tools == ()
    assert json.loads(encode(found, "m").body)["tools"] == tools


def test_results_between_texts_are_messages_of_their_own_in_the_same_order() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "r"}], "is_error": True},
        {"type": "text", "text": "b"},
    ]
    assert read(messages=[{"role": "user", "content": content}]).messages == (
        UserMessage(content=(TextPart(text="a"),)),
        ToolMessage(call_id="c", content=(TextPart(text="r"),), is_error=True),
        UserMessage(content=(TextPart(text="b"),)),
    )


def test_blocks_that_have_no_shape_are_carried_and_go_out_again() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "text", "text": "So.", "citations": [{"type": "char_location"}]},
    ]
    found = read(messages=[{"role": "assistant", "content": blocks}])
    assert json.loads(encode(found, "m").body)["messages"] == [{"role": "assistant", "content": blocks}]


def test_reasoning_keeps_its_seal() -> None:
    blocks = [
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ]
    assert read(messages=[{"role": "assistant", "content": blocks}]).messages == (
        AssistantMessage(
            content=(
                ThinkingPart(text="t", signature="s", provider=PROTOCOL),
                ThinkingPart(provider=PROTOCOL, opaque={"type": "redacted_thinking", "data": "d"}),
            )
        ),
    )


def test_a_plain_text_document_is_a_file() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "盐"}
    block = {"type": "document", "source": source, "title": "t"}
    assert read(messages=[{"role": "user", "content": [block]}]).messages == (
        UserMessage(content=(FilePart(data="55uQ", media_type="text/plain", filename="t"),)),
    )


def test_a_message_of_another_role_stays_in_its_place_under_the_users() -> None:
    (message,) = read(messages=[{"role": "system", "content": "Stop."}]).messages
    assert message == UserMessage(content="Stop.", extra={PROTOCOL: {"role": "system"}})


def test_values_without_a_place_stay_in_the_settings() -> None:
    odd = {"max_tokens": 0, "temperature": "hot", "stop_sequences": [1], "tool_choice": {"type": "auto", "x": 1}}
    found = read(**odd, thinking={"type": "adaptive"}, top_p=None)
    assert found.settings.extra == {PROTOCOL: odd | {"thinking": {"type": "adaptive"}}}
    assert readback(encode(found, "m").body) == found


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"[]", r"\$ "),
        (b'{"messages": 1}', r"\$\.messages"),
        (b'{"messages": [1]}', r"\$\.messages\[0\]"),
        (b'{"messages": [{"content": "x"}]}', r"\$\.messages\[0\]\.role"),
        (b'{"messages": [{"role": "user", "content": 1}]}', r"\$\.messages\[0\]\.content"),
        (b'{"messages": [{"role": "user", "content": [{}]}]}', r"\$\.messages\[0\]\.content\[0\]\.type"),
        (b'{"messages": [], "temperature": 1e999}', "the body"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_its_place(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=where):
        readback(body)


@given(st.binary(max_size=40))
def test_garbage_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        readback(body)
