"""Answers become outputs, whatever a server leaves out or adds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import (
    AuthFailed,
    BadRequest,
    ContextOverflow,
    MalformedReply,
    ProviderError,
    RateLimited,
    Unavailable,
)
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.openai_responses.decode import decode
from copyfit_adapters.openai_responses.dialect import ITEM, PROTOCOL
from copyfit_adapters.openai_responses.encode import encode
from copyfit_adapters.overflow.refusal import Asked

ASKED = Asked(provider="acme", model="m1", secrets=("hunter2-hunter2",))
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"n": 1.0}'}


def said(text: str = "Hello.", **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **fields}


def answer(*items: Any, **top: Any) -> ModelOutput:
    body = {"id": "r1", "model": "m1", "status": "completed", "output": list(items), **top}
    return decode(200, json.dumps(body).encode(), ASKED)


def test_a_bare_text_answer_is_plain_text() -> None:
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    assert answer(said(), usage=usage, object="response", error=None) == ModelOutput(
        message=AssistantMessage(content="Hello."),
        finish_reason=FinishReason.STOP,
        raw_finish_reason="completed",
        usage=Usage(input_tokens=9, output_tokens=2, raw=usage),
        model="m1",
        response_id="r1",
    )


def test_items_become_parts_in_their_order_with_their_fields() -> None:
    output = answer(
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "c2VhbGVk", "status": None},
        said("One.", id="m_1", status="completed", phase="commentary"),
        CALL | {"id": "fc", "status": "completed", "namespace": None},
        {"type": "mcp_call", "id": "mcp", "output": "x"},
        said("Two.", id="m_2", phase=None),
    )
    around = {"id": "m_1", "status": "completed", "phase": "commentary"}
    assert output.message.content == (
        ThinkingPart(signature="c2VhbGVk", provider=PROTOCOL, opaque={"id": "rs"}),
        TextPart(text="One.", extra={PROTOCOL: {ITEM: around}}),
        ToolCall(id="a", name="f", arguments='{"n": 1.0}', extra={PROTOCOL: {"id": "fc", "status": "completed"}}),
        TextPart(text="", extra={PROTOCOL: {"type": "mcp_call", "id": "mcp", "output": "x"}}),
        TextPart(text="Two.", extra={PROTOCOL: {ITEM: {"id": "m_2"}}}),
    )
    assert output.finish_reason is FinishReason.TOOL_CALLS


def test_an_answer_without_items_is_an_empty_text() -> None:
    assert answer().message.content == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"call_id": None, "id": "fc"}, ToolCall(id="fc", name="f", extra={PROTOCOL: {"id": "fc"}})),
        ({"call_id": "", "arguments": ""}, ToolCall(id="call-r1-0", name="f")),
        ({"arguments": {"n": 1.0}}, ToolCall(id="a", name="f", arguments='{"n":1.0}')),
    ],
    ids=["item's id", "nothing", "object"],
)
def test_calls_get_what_the_server_left_out(call: dict[str, Any], expected: ToolCall) -> None:
    assert answer({"type": "function_call", "call_id": "a", "name": "f"} | call).message.content == (expected,)


def test_the_output_of_a_tool_at_the_provider_is_kept_outside_the_message() -> None:
    item = {"type": "function_call_output", "call_id": "c", "output": "x"}
    output = answer(said(), item)
    assert output.message.content == "Hello."
    assert output.extra == {"other_items": [item]}


@pytest.mark.parametrize(
    ("top", "reason", "word"),
    [
        ({"status": "completed"}, FinishReason.STOP, "completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            FinishReason.LENGTH,
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            FinishReason.CONTENT_FILTER,
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "bored"}}, FinishReason.OTHER, "bored"),
        ({"status": "incomplete", "incomplete_details": None}, FinishReason.OTHER, "incomplete"),
        ({"status": "cancelled"}, FinishReason.OTHER, "cancelled"),
        ({"status": None}, FinishReason.OTHER, None),
    ],
)
@pytest.mark.parametrize("items", [[said()], [CALL], [said(content=[{"type": "refusal", "refusal": "No."}])]])
def test_the_finish_reason_is_mapped_and_its_word_kept(
    top: dict[str, Any], reason: FinishReason, word: str | None, items: list[Any]
) -> None:
    output = answer(*items, **top)
    if reason is FinishReason.STOP:
        reason = {"function_call": FinishReason.TOOL_CALLS}.get(items[0]["type"], reason)
        reason = FinishReason.REFUSAL if "refusal" in json.dumps(items) else reason
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


def test_usage_tells_the_cached_the_cache_write_and_the_reasoning_share() -> None:
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    assert answer(said(), usage=usage).usage == Usage(
        input_tokens=9,
        output_tokens=7,
        cached_input_tokens=5,
        cache_write_tokens=3,
        reasoning_tokens=4,
        raw=usage,
    )


@pytest.mark.parametrize(
    "usage", [None, [], "9", {"input_tokens": "9", "output_tokens": True, "input_tokens_details": None}], ids=repr
)
def test_usage_that_says_nothing_is_no_failure(usage: Any) -> None:
    read = answer(said(), usage=usage).usage
    assert (read.input_tokens, read.output_tokens, read.cached_input_tokens) == (None, None, None)


def test_what_is_not_modelled_is_kept_and_what_says_nothing_is_not() -> None:
    output = answer(
        said(), created_at=3, user=None, tools=[], billing={"payer": "developer"}, text={"format": None}
    )
    assert output.extra == {"created_at": 3, "billing": {"payer": "developer"}}


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthFailed), (403, AuthFailed), (404, BadRequest), (429, RateLimited), (500, Unavailable)],
)
def test_an_error_status_is_a_typed_error(status: int, error: type[ProviderError]) -> None:
    with pytest.raises(error) as caught:
        decode(status, b'{"error":{"message":"no luck with hunter2-hunter2","code":"c1"}}', ASKED)
    assert (caught.value.provider, caught.value.model, caught.value.status) == ("acme", "m1", status)
    assert caught.value.code == "c1"
    assert "no luck with" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        {
            "error": {
                "message": "Your input exceeds the context window of this model.",
                "code": "context_length_exceeded",
            }
        },
        {"type": "error", "code": "context_length_exceeded", "message": "Too long."},
        {"status": "failed", "output": [], "error": {"code": "context_length_exceeded", "message": "Too long."}},
        {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}},
    ],
    ids=["nested", "event", "failed response", "llama.cpp"],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_overflow_is_an_overflow_under_any_status(status: int, body: dict[str, Any]) -> None:
    with pytest.raises(ContextOverflow):
        decode(status, json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"[]",
        b"3",
        b"{}",
        b'{"choices":[{"message":{"content":"x"}}]}',
        b'{"output":null}',
        b'{"output":[3]}',
        b'{"output":[{}]}',
        b'{"output":[{"type":"message","content":3}]}',
        b'{"output":[{"type":"message","content":[{}]}]}',
        b'{"status":"failed","error":null,"output":[]}',
    ],
    ids=lambda body: body[:40].decode(),
)
def test_a_good_status_without_an_answer_is_a_malformed_reply(body: bytes) -> None:
    with pytest.raises(MalformedReply, match="acme"):
        decode(200, body, ASKED)


KINDS = ["message", "reasoning", "function_call", "web_search_call", "output_text", "refusal", "summary_text"]
LOOSE: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, "", "x", *KINDS]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional={"text": inner, "refusal": inner})
    ),
    max_leaves=6,
)
FIELDS = (
    "role",
    "content",
    "summary",
    "arguments",
    "call_id",
    "name",
    "id",
    "status",
    "encrypted_content",
    "text",
)


@given(
    st.lists(
        st.fixed_dictionaries({"type": st.sampled_from(KINDS)}, optional=dict.fromkeys(FIELDS, LOOSE)), max_size=3
    )
)
def test_every_answer_that_was_read_can_go_back_in_the_next_request(items: list[dict[str, Any]]) -> None:
    try:
        output = answer(*items)
    except MalformedReply:
        return
    encode(ModelInput("", (output.message, UserMessage(content="go on"))), "m1")
