"""A whole answer is read as it was meant, and an error is an error whatever its status."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, MalformedReply, ProviderError
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.cohere_v2.decode import decode
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.encode import encode

CITATION = {
    "start": 0,
    "end": 3,
    "text": "Rub",
    "sources": [{"type": "tool", "id": "c:0"}],
    "type": "TEXT_CONTENT",
}


def reply(**fields: Any) -> ModelOutput:
    said = {"message": {"role": "assistant", "content": [{"type": "text", "text": "Ruby."}]}}
    return decode(200, json.dumps({"id": "r", "finish_reason": "COMPLETE"} | said | fields).encode())


def said(**message: Any) -> AssistantMessage:
    return reply(message={"role": "assistant"} | message).message


def test_an_answer_with_one_text_is_plain_text() -> None:
    assert reply() == ModelOutput(
        message=AssistantMessage(content="Ruby."),
        finish_reason=FinishReason.STOP,
        raw_finish_reason="COMPLETE",
        response_id="r",
    )


def test_reasoning_plan_and_calls_come_in_the_order_of_their_places_and_go_back_the_same() -> None:
    message = {
        "role": "assistant",
        "tool_plan": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ],
        "content": [{"type": "thinking", "thinking": "Two."}],
        "citations": [CITATION],
    }
    found = reply(message=message, finish_reason="TOOL_CALL")
    assert found.message.content == (
        ThinkingPart(text="Two.", provider=PROTOCOL),
        TextPart(text="I look.", extra={PROTOCOL: {"type": "tool_plan"}}),
        ToolCall(id="c1", name="f", arguments='{"a": 1}'),
        ToolCall(id="c2", name="g"),
    )
    assert found.finish_reason is FinishReason.TOOL_CALLS
    assert json.loads(encode(ModelInput("", (found.message,)), "m").body)["messages"] == [message]


def test_what_says_nothing_is_no_part_of_the_message() -> None:
    empty: dict[str, Any] = {"tool_plan": "", "tool_calls": [], "citations": [], "x": None}
    part = {"type": "text", "text": "Ruby.", "thinking": None}
    assert said(content=[part], **empty) == AssistantMessage(content="Ruby.")
    assert said(content=None, **empty) == AssistantMessage(content="")
    assert said(content="Ruby.") == AssistantMessage(content="Ruby.")


def test_a_call_gets_what_the_server_left_out() -> None:
    calls = [
        {"type": "function", "function": {"name": "f"}},
        {"id": "c", "function": {"name": "g", "arguments": ""}},
    ]
    assert said(tool_calls=calls).content == (ToolCall(id="call-r-0", name="f"), ToolCall(id="c", name="g"))


def test_parts_and_calls_that_have_no_shape_are_kept() -> None:
    part = {"type": "audio", "audio": {"id": 1}}
    found = said(content=[part], tool_calls=["?"])
    assert found.content == (TextPart(text="", extra={PROTOCOL: part}),)
    assert found.extra == {PROTOCOL: {"tool_calls": ["?"]}}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("COMPLETE", FinishReason.STOP),
        ("STOP_SEQUENCE", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("TOOL_CALL", FinishReason.TOOL_CALLS),
        ("ERROR_TOXIC", FinishReason.CONTENT_FILTER),
        ("ERROR_LIMIT", FinishReason.CONTEXT_WINDOW),
        ("ERROR", FinishReason.OTHER),
        ("TIMEOUT", FinishReason.OTHER),
        ("BORED", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_a_finish_reason_keeps_the_servers_word(word: str | None, reason: FinishReason) -> None:
    found = reply(finish_reason=word)
    assert (found.finish_reason, found.raw_finish_reason) == (reason, word)


def test_tokens_are_counted_and_billed_units_are_kept_aside() -> None:
    usage = {
        "billed_units": {"input_tokens": 44, "output_tokens": 28},
        "tokens": {"input_tokens": 1476.0, "output_tokens": 58},
        "cached_tokens": 1376,
    }
    expected = Usage(input_tokens=1476, output_tokens=58, cached_input_tokens=1376, raw=usage)
    assert reply(usage=usage).usage == expected
    assert isinstance(reply(usage=usage).usage.input_tokens, int)


@pytest.mark.parametrize("usage", [None, [], "12", {}, {"tokens": None}, {"tokens": {"input_tokens": 0.5}}])
def test_a_usage_that_says_nothing_counts_nothing(usage: Any) -> None:
    found = reply(usage=usage).usage
    assert (found.input_tokens, found.output_tokens, found.cached_input_tokens) == (None, None, None)


def test_billed_units_alone_are_no_count_of_tokens() -> None:
    assert reply(usage={"billed_units": {"input_tokens": 7}}).usage.input_tokens is None


def test_log_probabilities_are_kept() -> None:
    found = [{"text": "Ruby", "token_ids": [1], "logprobs": [-0.1]}]
    assert reply(logprobs=found).extra == {"logprobs": found}


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":"r","message":"too many tokens: size limit exceeded by 25836 tokens. The limit is 9 tokens."}',
        b'{"error_type":"TOO_MANY_TOKENS","message":"too many tokens: size limit exceeded by 2 tokens."}',
    ],
)
@pytest.mark.parametrize("status", [400, 200])
def test_too_many_tokens_are_an_overflow(status: int, body: bytes) -> None:
    with pytest.raises(ContextOverflow):
        decode(status, body)


@pytest.mark.parametrize("body", [b'{"message":"invalid request"}', b'{"detail":"no such model"}'])
def test_an_error_under_a_good_status_is_no_malformed_answer(body: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        decode(200, body)
    assert not isinstance(caught.value, MalformedReply)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b'{"message":{"content":1}}', b'{"message":{"content":[{"text":"x"}]}}'],
)
def test_what_is_no_answer_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReply):
        decode(200, body)
