"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ContextOverflow, CopyfitError, MalformedReply, ProviderError, StreamBroken, Unavailable
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
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.stream import MessagesStream


def frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields, ensure_ascii=False)}\n\n".encode()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    pieces = [frame("content_block_delta", index=index, delta=delta) for delta in deltas]
    begin = frame("content_block_start", index=index, content_block=start)
    return b"".join([begin, *pieces, frame("content_block_stop", index=index)])


def text(piece: str) -> dict[str, str]:
    return {"type": "text_delta", "text": piece}


def arguments(piece: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": piece}


START = frame(
    "message_start",
    message={
        "id": "r1",
        "type": "message",
        "role": "assistant",
        "model": "m1",
        "content": [],
        "stop_reason": None,
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 2,
            "output_tokens": 1,
        },
    },
)
END = frame("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 12}) + frame(
    "message_stop"
)
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Two "},
    {"type": "thinking_delta", "thinking": "plots."},
    {"type": "signature_delta", "signature": "c2ln"},
)
TEXT = block(1, {"type": "text", "text": ""}, text("I "), text("look: 盐."))
CALLS = block(2, {"type": "tool_use", "id": "c1", "name": "f", "input": {}}, arguments('{"a"'), arguments(": 1}"))
CALLS += block(3, {"type": "tool_use", "id": "c2", "name": "g"})
WHOLE = START + frame("ping") + THINKING + TEXT + CALLS + END
MESSAGE = (
    ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL),
    TextPart(text="I look: 盐."),
    ToolCall(id="c1", name="f", arguments='{"a": 1}'),
    ToolCall(id="c2", name="g", arguments="{}"),
)


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = MessagesStream()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def output(*pieces: bytes) -> ModelOutput:
    last = events(pieces)[-1]
    assert isinstance(last, Finished)
    return last.output


def test_pieces_come_as_they_are_and_the_whole_at_the_end() -> None:
    *pieces, last = events([WHOLE])
    assert pieces == [
        ThinkingDelta("Two "),
        ThinkingDelta("plots."),
        TextDelta("I "),
        TextDelta("look: 盐."),
        ToolCallDelta(index=0, id="c1", name="f"),
        ToolCallDelta(index=0, arguments='{"a"'),
        ToolCallDelta(index=0, arguments=": 1}"),
        ToolCallDelta(index=1, id="c2", name="g"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == MESSAGE
    assert last.output.finish_reason is FinishReason.TOOL_CALLS
    usage = last.output.usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (12, 7, 12)
    assert usage.cache_write_tokens == 2
    assert (last.output.model, last.output.response_id) == ("m1", "r1")


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_into_pieces_decodes_the_same(cuts: list[int]) -> None:
    edges = sorted({0, len(WHOLE), *cuts})
    assert events(WHOLE[start:end] for start, end in pairwise(edges)) == events([WHOLE])


@given(st.integers(0, len(WHOLE) - len(END)))
def test_a_stream_that_ends_anywhere_is_broken_and_keeps_what_arrived(end: int) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([WHOLE[:end]])
    assert "I look: 盐.".startswith(caught.value.arrived)


def test_the_last_event_may_be_missing() -> None:
    assert output(WHOLE.removesuffix(frame("message_stop"))).message.content == MESSAGE


def test_arguments_that_were_cut_are_kept_as_they_are() -> None:
    cut = block(0, {"type": "tool_use", "id": "c", "name": "f", "input": {}}, arguments('{"a": [1'))
    end = frame("message_delta", delta={"stop_reason": "max_tokens"}) + frame("message_stop")
    (call,) = output(START + cut + end).message.tool_calls
    assert call.arguments == '{"a": [1'


def test_what_nobody_has_heard_of_is_kept() -> None:
    tool = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    data = START + block(0, tool, arguments('{"query":"x"}'))
    data += block(1, {"type": "text", "text": ""}, text("So."), {"type": "citations_delta", "citation": {"n": 1}})
    data += block(2, {"type": "hologram"}, {"type": "hologram_delta", "hue": "re"}, {"hue": "d"}, {"depth": 3})
    data += frame("hologram_event", x=1) + END
    found = output(data)
    assert [part.extra[PROTOCOL] for part in found.message.parts if isinstance(part, TextPart)] == [
        tool | {"input": {"query": "x"}},
        {"citations": [{"n": 1}]},
        {"type": "hologram", "hue": "red", "depth": 3},
    ]
    assert found.extra["events"] == [{"type": "hologram_event", "x": 1}]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, Unavailable),
        ({"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}, ContextOverflow),
        (
            {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}},
            ContextOverflow,
        ),
    ],
    ids=["nested", "flat", "nested overflow"],
)
def test_an_error_in_mid_stream_is_typed_and_comes_after_what_was_before_it(
    said: dict[str, Any], kind: type[ProviderError]
) -> None:
    stream = MessagesStream()
    fed = stream.feed(START + TEXT + f"event: error\ndata: {json.dumps(said)}\n\n".encode())
    assert [next(fed), next(fed)] == [TextDelta("I "), TextDelta("look: 盐.")]
    with pytest.raises(kind):
        next(fed)
    assert stream.arrived == "I look: 盐."


def test_an_answer_that_is_no_stream_is_read_as_a_whole() -> None:
    whole = b'{"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}'
    assert output(whole[:9], whole[9:]) == decode(200, whole)


@pytest.mark.parametrize(
    "data",
    [
        b"data: {]\n\n",
        b"data: 1\n\n",
        frame("content_block_delta", index=0, delta=text("x")),
        frame("content_block_start", index="0", content_block={}),
        frame("message_start"),
        START + block(0, {"no": "type"}) + END,
    ],
)
def test_a_stream_of_something_else_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedReply):
        events([data])


@given(st.binary(max_size=80))
def test_garbage_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(CopyfitError):
        events([data])
