"""A streamed answer adds up to the whole one, and what goes wrong in it is told by type."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, MalformedReply, ProviderError, StreamBroken
from copyfit.shapes.messages import TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.cohere_v2.decode import decode
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.stream import CohereStream

START = {
    "type": "message-start",
    "id": "r",
    "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}},
}
END = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 3}}}}


def chunk(
    kind: str, index: int | None = None, *, beside: dict[str, Any] | None = None, **message: Any
) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, "delta": {"message": message}} | (beside or {})


def call(index: int, call_id: str, name: str, *arguments: str) -> list[dict[str, Any]]:
    begun = {"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [{"function": {"arguments": piece}} for piece in arguments]
    return [
        chunk("tool-call-start", index, tool_calls=begun),
        *(chunk("tool-call-delta", index, tool_calls=piece) for piece in pieces),
        {"type": "tool-call-end", "index": index},
    ]


def text(index: int, *pieces: str, kind: str = "text") -> list[dict[str, Any]]:
    return [
        chunk("content-start", index, content={"type": kind, kind: ""}),
        *(chunk("content-delta", index, content={kind: piece}) for piece in pieces),
        {"type": "content-end", "index": index},
    ]


def framed(*chunks: dict[str, Any]) -> bytes:
    return b"".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in chunks)


def events_of(*chunks: dict[str, Any]) -> list[StreamEvent]:
    stream = CohereStream()
    return [*stream.feed(framed(*chunks)), *stream.close()]


def finished(*chunks: dict[str, Any]) -> Finished:
    last = events_of(*chunks)[-1]
    assert isinstance(last, Finished)
    return last


def test_the_pieces_come_as_events_and_add_up_to_the_whole_answer() -> None:
    citation = {"start": 0, "end": 1, "text": "I"}
    *events, last = events_of(
        START,
        *text(0, "Two", " plots.", kind="thinking"),
        *(chunk("tool-plan-delta", tool_plan=piece) for piece in ("I", " look.")),
        *call(0, "c1", "f", '{"a"', ": 1}"),
        *call(1, "c2", "g"),
        chunk("citation-start", 0, citations=citation),
        {"type": "citation-end", "index": 0},
        END,
    )
    assert events == [
        ThinkingDelta("Two"),
        ThinkingDelta(" plots."),
        TextDelta("I"),
        TextDelta(" look."),
        ToolCallDelta(0, id="c1", name="f"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ": 1}"),
        ToolCallDelta(1, id="c2", name="g"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == (
        ThinkingPart(text="Two plots.", provider=PROTOCOL),
        TextPart(text="I look.", extra={PROTOCOL: {"type": "tool_plan"}}),
        ToolCall(id="c1", name="f", arguments='{"a": 1}'),
        ToolCall(id="c2", name="g"),
    )
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    whole = {
        "id": "r",
        "finish_reason": "TOOL_CALL",
        "message": {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Two plots."}],
            "tool_plan": "I look.",
            "tool_calls": calls,
            "citations": [citation],
        },
        "usage": {"tokens": {"input_tokens": 3}},
    }
    assert last.output == decode(200, json.dumps(whole).encode())


def test_a_call_is_numbered_among_the_calls_wherever_its_index_begins() -> None:
    *events, _ = events_of(START, *text(0, "x"), *call(1, "c1", "f", "{}"), *call(5, "c2", "g"), END)
    assert [event.index for event in events if isinstance(event, ToolCallDelta)] == [0, 0, 1]


def test_parts_with_interleaved_pieces_are_kept_apart() -> None:
    first, second = text(0, "a", "b"), text(1, "c", "d")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    assert [
        part.text for part in finished(START, *mixed, END).output.message.parts if isinstance(part, TextPart)
    ] == [
        "ab",
        "cd",
    ]


def test_the_end_of_the_message_ends_the_stream_and_what_follows_says_nothing() -> None:
    stream = CohereStream()
    events = [*stream.feed(framed(START, *text(0, "x"), END) + b"data: [DONE]\n\n" + framed(END)), *stream.close()]
    assert [type(event) for event in events] == [TextDelta, Finished]


@pytest.mark.parametrize("tail", [b"", b"data: [DONE]\n\n"])
def test_a_stream_without_its_end_is_broken_and_keeps_what_arrived(tail: bytes) -> None:
    stream = CohereStream()
    with pytest.raises(StreamBroken) as caught:
        [
            *stream.feed(framed(START, chunk("tool-plan-delta", tool_plan="I"), *text(0, "x")) + tail),
            *stream.close(),
        ]
    assert caught.value.arrived == "Ix"


def test_unknown_events_and_log_probabilities_are_kept() -> None:
    debug, odd = {"type": "debug", "prompt": "<BOS>"}, {"type": "search-start", "detail": "soil"}
    probability = {"text": "x", "token_ids": [1]}
    piece = chunk("content-delta", 0, beside={"logprobs": probability}, content={"text": "x"})
    begin, *_ = text(0)
    found = finished(START, debug, begin, piece, odd, END).output
    assert found.extra == {"events": [debug, odd], "logprobs": [probability]}
    assert found.message.content == "x"


def test_the_kind_of_the_frame_stands_in_for_a_missing_type() -> None:
    begin, piece, _ = text(0, "x")
    bare = [({**each}, each.pop("type")) for each in ({**START}, begin, piece, {**END})]
    body = b"".join(
        f"event: {kind}\ndata: {json.dumps({k: v for k, v in each.items() if k != 'type'})}\n\n".encode()
        for each, kind in bare
    )
    stream = CohereStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    assert last.output.message.content == "x"


def test_an_answer_that_comes_whole_after_all_is_read() -> None:
    body = b'{"id":"r","message":{"content":[{"type":"text","text":"x"}]},"finish_reason":"COMPLETE"}'
    stream = CohereStream()
    (last,) = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    assert last.output == decode(200, body)


def test_an_error_at_the_end_of_the_message_is_raised_by_its_kind() -> None:
    with pytest.raises(ProviderError, match="the model is down") as caught:
        events_of(
            START, {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "the model is down"}}
        )
    assert not isinstance(caught.value, MalformedReply)
    full = "too many tokens: total number of tokens in the prompt cannot exceed 4081"
    with pytest.raises(ContextOverflow):
        events_of(START, {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": full}})


def test_an_end_for_an_error_without_words_is_an_answer_that_says_so() -> None:
    end = {"type": "message-end", "delta": {"finish_reason": "TIMEOUT", "error": None}}
    found = finished(START, *text(0, "x"), end).output
    assert (found.finish_reason, found.raw_finish_reason, found.message.content) == ("other", "TIMEOUT", "x")


@pytest.mark.parametrize(
    "wrong",
    [
        chunk("content-delta", 0, content={"text": "x"}),
        chunk("content-start", None, content={"type": "text"}),
        chunk("tool-call-delta", 0, tool_calls={"function": {"arguments": "{}"}}),
        chunk("tool-call-start", 0, tool_calls={"id": "c"}),
        chunk("content-start", 0, content="x"),
        {"type": "content-start", "index": 0},
        {"type": "message-end"},
    ],
)
def test_events_that_do_not_add_up_are_malformed(wrong: dict[str, Any]) -> None:
    with pytest.raises(MalformedReply):
        events_of(START, wrong, END)
