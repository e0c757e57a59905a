"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, MalformedReply, RateLimited, StreamBroken
from copyfit.shapes.messages import TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_output import (
    Finished,
    FinishReason,
    ModelOutput,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from copyfit_adapters.mistral_chat.decode import decode
from copyfit_adapters.mistral_chat.dialect import PROTOCOL
from copyfit_adapters.mistral_chat.stream import MistralStream


def sse(*chunks: Any, done: bool = True) -> bytes:
    frames = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> dict[str, Any]:
    return {"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **top}


def thought(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **fields}


def events(*pieces: bytes) -> list[StreamEvent]:
    stream = MistralStream()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def output(*pieces: bytes) -> ModelOutput:
    last = events(*pieces)[-1]
    assert isinstance(last, Finished)
    return last.output


def test_text_comes_in_pieces_and_whole_at_the_end() -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    data = sse(
        chunk({"role": "assistant", "content": ""}, model="m1"),
        chunk({"content": "Hel"}, p="abcdef"),
        chunk({"content": "lo"}, "stop", usage=usage, p="a"),
    )
    *pieces, last = events(data)
    assert pieces == [TextDelta("Hel"), TextDelta("lo")]
    message = {"role": "assistant", "content": "Hello"}
    whole = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "r1", "model": "m1", "choices": [whole], "usage": usage}
    assert last == Finished(decode(200, json.dumps(body).encode()))


def test_reasoning_comes_as_chunks_and_is_one_part_before_the_text() -> None:
    data = sse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": [thought("Ok")]}),
        chunk({"content": ""}),
        chunk({"content": [thought(", so"), {"type": "text", "text": "The"}]}),
        chunk({"content": " answer"}, "stop"),
    )
    *pieces, last = events(data)
    assert pieces == [ThinkingDelta("Ok"), ThinkingDelta(", so"), TextDelta("The"), TextDelta(" answer")]
    whole = {"content": [thought("Ok, so"), {"type": "text", "text": "The answer"}]}
    body = {"id": "r1", "choices": [{"index": 0, "message": whole, "finish_reason": "stop"}]}
    assert last == Finished(decode(200, json.dumps(body).encode()))


def test_a_signature_seals_the_reasoning_before_it() -> None:
    data = sse(
        chunk({"content": [thought("a")]}),
        chunk({"content": [{"type": "thinking", "thinking": [], "signature": "s1", "closed": True}]}),
        chunk({"content": [thought("b", signature="s2")]}, "stop"),
    )
    assert output(data).message.content == (
        ThinkingPart(text="a", signature="s1", provider=PROTOCOL, opaque={"closed": True}),
        ThinkingPart(text="b", signature="s2", provider=PROTOCOL),
    )


def test_a_reference_stays_in_its_place_among_the_texts() -> None:
    reference = {"type": "reference", "reference_ids": [0]}
    data = sse(
        chunk({"content": "As "}),
        chunk({"content": [{"type": "text", "text": "said"}, reference]}),
        chunk({"content": "."}, "stop"),
    )
    assert output(data).message.content == (
        TextPart(text="As said"),
        TextPart(text="", extra={PROTOCOL: reference}),
        TextPart(text="."),
    )


@pytest.mark.parametrize("indexes", [(0, 1), (0, 0)], ids=str)
def test_whole_calls_in_one_delta_stay_apart(indexes: tuple[int, int]) -> None:
    calls = [
        {"id": "Jc4AR31Hp", "function": {"name": "f", "arguments": '{"n": 1.0}'}, "index": indexes[0]},
        {"id": "abcdefgh1", "function": {"name": "f", "arguments": {"n": 2}}, "index": indexes[1]},
    ]
    *pieces, last = events(sse(chunk({"content": "", "tool_calls": calls}, "tool_calls")))
    assert pieces == [
        ToolCallDelta(0, '{"n": 1.0}', id="Jc4AR31Hp", name="f"),
        ToolCallDelta(1, '{"n":2}', id="abcdefgh1", name="f"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == (
        ToolCall(id="Jc4AR31Hp", name="f", arguments='{"n": 1.0}'),
        ToolCall(id="abcdefgh1", name="f", arguments='{"n":2}'),
    )
    assert last.output.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("filler", [{}, {"id": "null"}, {"id": ""}], ids=str)
def test_calls_in_pieces_are_put_together_by_their_index(filler: dict[str, str]) -> None:
    later = [
        {"index": 1, "function": {"name": "", "arguments": '{"n":'}} | filler,
        {"index": 0, "function": {"arguments": "{}"}} | filler,
    ]
    data = sse(
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}]}),
        chunk({"tool_calls": later}),
        chunk({"tool_calls": [{"index": 1, "function": {"arguments": "1.0}"}} | filler]}, "tool_calls"),
    )
    *pieces, _ = events(data)
    assert pieces == [
        ToolCallDelta(0, id="a", name="f"),
        ToolCallDelta(1, id="b", name="g"),
        ToolCallDelta(1, '{"n":'),
        ToolCallDelta(0, "{}"),
        ToolCallDelta(1, "1.0}"),
    ]
    assert output(data).message.content == (
        ToolCall(id="a", name="f", arguments="{}"),
        ToolCall(id="b", name="g", arguments='{"n":1.0}'),
    )


def test_a_second_choice_gives_no_events_and_is_kept() -> None:
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}
    data = sse(chunk({"content": "x"}, "stop"), {"id": "r1", "choices": [other]})
    *pieces, last = events(data)
    assert pieces == [TextDelta("x")]
    assert isinstance(last, Finished)
    assert last.output.extra["other_choices"][0]["message"]["content"] == "other"


def test_a_stream_that_ends_without_its_mark_is_whole_if_it_said_why() -> None:
    assert output(sse(chunk({"content": "x"}, "length"), done=False)).finish_reason is FinishReason.LENGTH


def test_a_stream_that_breaks_off_keeps_what_arrived() -> None:
    data = sse(chunk({"content": [thought("hm"), {"type": "text", "text": "Hel"}]}), done=False)
    with pytest.raises(StreamBroken) as caught:
        events(data)
    assert caught.value.arrived == "Hel"


TOO_LONG = "Prompt contains 40012 tokens and 0 draft tokens, too large for model with 32768 maximum context length"


@pytest.mark.parametrize(
    ("message", "kind", "error"),
    [
        (TOO_LONG, "invalid_request_prompt_too_long", ContextOverflow),
        ("Rate limit exceeded", "rate_limited", RateLimited),
    ],
)
def test_an_error_in_mid_stream_is_typed(message: str, kind: str, error: type[Exception]) -> None:
    refused = {"object": "error", "message": message, "type": kind, "param": None, "code": "1300"}
    stream = MistralStream()
    assert list(stream.feed(sse(chunk({"content": "Hel"}), done=False))) == [TextDelta("Hel")]
    with pytest.raises(error):
        list(stream.feed(sse(refused)))


@pytest.mark.parametrize(
    "bad",
    [
        {"choices": [1]},
        {"choices": [{"index": "0", "delta": {}}]},
        chunk({"tool_calls": [1]}),
        chunk({"tool_calls": 1}),
        chunk({"tool_calls": [{"id": "a"}]}),
        chunk({"content": 3}, "stop"),
        chunk({"content": [{"no": "type"}]}, "stop"),
    ],
    ids=repr,
)
def test_what_is_no_piece_of_an_answer_is_malformed(bad: Any) -> None:
    with pytest.raises(MalformedReply):
        events(sse(bad))


def test_thousands_of_pieces_of_reasoning_are_one_part() -> None:
    many = 20_000
    data = sse(*[chunk({"content": [thought("x")]}) for _ in range(many)], chunk({"content": "y"}, "stop"))
    message = output(data).message
    assert [len(part.text) for part in message.parts if isinstance(part, TextPart | ThinkingPart)] == [many, 1]
