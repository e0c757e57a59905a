"""An answer becomes one message, its reason and its cost; an error becomes a typed one."""

import json
from typing import Any

import pytest

from copyfit.errors import BadRequest, ContextOverflow, MalformedReply, ProviderError, RateLimited
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, Usage
from copyfit_adapters.mistral_chat.decode import decode, read_usage
from copyfit_adapters.mistral_chat.dialect import PROTOCOL, sendable_id
from copyfit_adapters.mistral_chat.encode import encode
from copyfit_adapters.overflow.refusal import Asked

THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "t"}], "closed": True}


def reply(message: Any, finish: str | None = "stop", **top: Any) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return json.dumps({"id": "r1", "object": "chat.completion", "model": "m1", "choices": [choice]} | top).encode()


def call(**fields: Any) -> dict[str, Any]:
    return {"id": "Jc4AR31Hp", "function": {"name": "f", "arguments": '{"n": 1.0}'}, "index": 0} | fields


def test_a_text_is_plain_text_and_what_is_not_modelled_is_kept() -> None:
    said = {"role": "assistant", "content": "Hello.", "tool_calls": None, "prefix": False}
    output = decode(200, reply(said, created=3, x_unheard={"a": 1}))
    assert output.message == AssistantMessage(content="Hello.")
    assert (output.model, output.response_id, output.raw_finish_reason) == ("m1", "r1", "stop")
    assert output.extra == {"created": 3, "x_unheard": {"a": 1}}


def test_chunks_keep_the_order_of_the_wire_and_calls_come_last() -> None:
    unknown = {"type": "reference", "reference_ids": [1]}
    content = [THINKING, {"type": "text", "text": "a"}, unknown, {"type": "text", "text": "b"}]
    output = decode(200, reply({"role": "assistant", "content": content, "tool_calls": [call()]}, "tool_calls"))
    assert output.message.content == (
        ThinkingPart(text="t", provider=PROTOCOL, opaque={"closed": True}),
        TextPart(text="a"),
        TextPart(text="", extra={PROTOCOL: unknown}),
        TextPart(text="b"),
        ToolCall(id="Jc4AR31Hp", name="f", arguments='{"n": 1.0}'),
    )
    assert output.finish_reason is FinishReason.TOOL_CALLS


def test_reasoning_goes_back_byte_for_byte() -> None:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    sealed = {"type": "thinking", "thinking": [], "signature": "c2ln", "closed": False, "x": None}
    content = [chunk, {"type": "text", "text": "x"}, sealed]
    message = decode(200, reply({"role": "assistant", "content": content})).message
    (sent,) = json.loads(encode(ModelInput("", (message,)), "m").body)["messages"]
    assert sent == {"role": "assistant", "content": content}
    assert [part.text for part in message.parts if isinstance(part, ThinkingPart)] == ["ab", ""]


def test_a_field_that_a_request_may_not_have_does_not_go_back() -> None:
    said = {"role": "assistant", "content": "Hello.", "reasoning_content": "why", "metadata": {"a": 1}}
    output = decode(200, reply(said))
    assert output.message.extra == {}
    assert output.extra["message"] == {"reasoning_content": "why", "metadata": {"a": 1}}


@pytest.mark.parametrize("content", ["", None, []])
def test_nothing_beside_a_call_is_no_content(content: Any) -> None:
    said = {"role": "assistant", "content": content, "tool_calls": [call()]}
    assert decode(200, reply(said)).message.content == (
        ToolCall(id="Jc4AR31Hp", name="f", arguments='{"n": 1.0}'),
    )


@pytest.mark.parametrize("content", ["", None, []])
def test_no_content_at_all_is_an_empty_text(content: Any) -> None:
    assert decode(200, reply({"role": "assistant", "content": content})).message.content == ""


def test_arguments_may_be_an_object_or_nothing() -> None:
    calls = [
        call(function={"name": "f", "arguments": {"é": [1.0]}}),
        call(id="abcdefgh1", function={"name": "g", "arguments": ""}),
    ]
    assert decode(200, reply({"content": "", "tool_calls": calls})).message.tool_calls == (
        ToolCall(id="Jc4AR31Hp", name="f", arguments='{"é":[1.0]}'),
        ToolCall(id="abcdefgh1", name="g", arguments="{}"),
    )


def test_calls_without_an_id_get_ids_of_their_own_that_the_api_takes() -> None:
    first, second = call(id="null"), call(index=1)
    del second["id"]
    calls = decode(200, reply({"content": "", "tool_calls": [first, second]})).message.tool_calls
    ids = [each.id for each in calls]
    assert len(set(ids)) == 2
    assert ids == [sendable_id(each) for each in ids]
    assert "null" not in ids


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("model_length", FinishReason.CONTEXT_WINDOW),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("error", FinishReason.OTHER),
        ("a_new_word", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_why_it_ended_is_said_in_our_words_and_in_theirs(word: str | None, reason: FinishReason) -> None:
    output = decode(200, reply({"content": "x"}, word))
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


@pytest.mark.parametrize(
    "cached", [{"num_cached_tokens": 3}, {"prompt_tokens_details": {"cached_tokens": 3}}], ids=str
)
def test_usage_is_read_under_either_name_of_the_cached_share(cached: dict[str, Any]) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7} | cached
    assert read_usage(usage) == Usage(input_tokens=5, output_tokens=2, cached_input_tokens=3, raw=usage)


@pytest.mark.parametrize("usage", [None, [], {}, {"prompt_tokens": None}, {"prompt_tokens": True}])
def test_usage_that_says_nothing_is_none(usage: Any) -> None:
    assert read_usage(usage).input_tokens is None


TOO_LONG = "Prompt contains 40012 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
BAD_ID = "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."


@pytest.mark.parametrize(
    ("status", "message", "kind", "error"),
    [
        (400, TOO_LONG, "invalid_request_prompt_too_long", ContextOverflow),
        (400, "Unexpected role 'user' after role 'tool'", "invalid_request_message_order", BadRequest),
        (400, BAD_ID, "invalid_function_call", BadRequest),
        (429, "Rate limit exceeded", "rate_limited", RateLimited),
        (200, "Rate limit exceeded", "rate_limited", RateLimited),
    ],
)
def test_an_error_is_typed(status: int, message: str, kind: str, error: type[ProviderError]) -> None:
    body = {"object": "error", "message": message, "type": kind, "param": None, "code": "1"}
    with pytest.raises(error) as caught:
        decode(status, json.dumps(body).encode(), Asked(provider="p", model="m"))
    assert (caught.value.provider, caught.value.model) == ("p", "m")
    assert not isinstance(caught.value, MalformedReply)
    assert isinstance(caught.value, ContextOverflow) == (error is ContextOverflow)


def test_a_refused_field_is_a_bad_request() -> None:
    detail = [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "user", "name"], "msg": "Not permitted"}]
    with pytest.raises(BadRequest):
        decode(422, json.dumps({"detail": detail}).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [{"message": 1}]}',
        b'{"choices": [{"message": {"content": 1}}]}',
        b'{"choices": [{"message": {"content": [{}]}}]}',
    ],
)
def test_what_is_no_answer_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReply):
        decode(200, body)
