"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import (
    ContextOverflow,
    CopyfitError,
    MalformedReply,
    ProviderError,
    RateLimited,
    StreamBroken,
    Unavailable,
)
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
from copyfit_adapters.openai_responses.decode import decode
from copyfit_adapters.openai_responses.dialect import CONTINUES, ITEM, PROTOCOL
from copyfit_adapters.openai_responses.stream import ResponsesStream


def frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields, ensure_ascii=False)}\n\n".encode()


def added(number: int, item: dict[str, Any]) -> bytes:
    return frame("response.output_item.added", output_index=number, item=item)


def delta(kind: str, number: int, piece: str, **place: int) -> bytes:
    return frame(f"response.{kind}.delta", output_index=number, delta=piece, **place)


def done(number: int, item: dict[str, Any]) -> bytes:
    return frame("response.output_item.done", output_index=number, item=item)


REASONING = {
    "type": "reasoning",
    "id": "rs",
    "summary": [{"type": "summary_text", "text": "Two plots."}],
    "encrypted_content": "c2VhbGVk",
}
MESSAGE = {
    "type": "message",
    "id": "m",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look: 盐."}],
}
CALLS = [
    {"type": "function_call", "id": f"fc{n}", "call_id": f"c{n}", "name": "f", "arguments": '{"a": 1}'}
    for n in (1, 2)
]
OUTPUT: list[dict[str, Any]] = [REASONING, MESSAGE, *CALLS]
START = frame("response.created", response={"id": "r1", "status": "in_progress", "output": []}) + frame(
    "response.in_progress", response={"id": "r1", "status": "in_progress", "output": []}
)
ITEMS = b"".join(
    [
        added(0, REASONING | {"summary": [], "encrypted_content": "half"}),
        frame("response.reasoning_summary_part.added", output_index=0, summary_index=0),
        delta("reasoning_summary_text", 0, "Two ", summary_index=0),
        delta("reasoning_summary_text", 0, "plots.", summary_index=0),
        done(0, REASONING),
        added(1, MESSAGE | {"content": [], "status": "in_progress"}),
        frame(
            "response.content_part.added",
            output_index=1,
            content_index=0,
            part={"type": "output_text", "text": ""},
        ),
        delta("output_text", 1, "I ", content_index=0),
        delta("output_text", 1, "look: 盐.", content_index=0),
        frame("response.output_text.done", output_index=1, content_index=0, text="I look: 盐."),
        done(1, MESSAGE),
        added(2, CALLS[0] | {"arguments": ""}),
        added(3, CALLS[1] | {"arguments": ""}),
        delta("function_call_arguments", 3, '{"a"'),
        delta("function_call_arguments", 2, '{"a": 1}'),
        delta("function_call_arguments", 3, ": 1}"),
        done(2, CALLS[0]),
        done(3, CALLS[1]),
    ]
)
RESPONSE = {
    "id": "r1",
    "status": "completed",
    "model": "m1",
    "output": OUTPUT,
    "usage": {"input_tokens": 3, "output_tokens": 12},
}
END = frame("response.completed", response=RESPONSE)
WHOLE = START + ITEMS + END
EVENTS = [
    ThinkingDelta("Two "),
    ThinkingDelta("plots."),
    TextDelta("I "),
    TextDelta("look: 盐."),
    ToolCallDelta(index=0, id="c1", name="f"),
    ToolCallDelta(index=1, id="c2", name="f"),
    ToolCallDelta(index=1, arguments='{"a"'),
    ToolCallDelta(index=0, arguments='{"a": 1}'),
    ToolCallDelta(index=1, arguments=": 1}"),
]


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = ResponsesStream()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def output(*pieces: bytes) -> ModelOutput:
    last = events(pieces)[-1]
    assert isinstance(last, Finished)
    return last.output


def test_pieces_come_as_they_are_and_the_whole_at_the_end() -> None:
    *pieces, last = events([WHOLE])
    assert pieces == EVENTS
    assert last == Finished(decode(200, json.dumps(RESPONSE).encode()))


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_into_pieces_decodes_the_same(cuts: list[int]) -> None:
    edges = sorted({0, len(WHOLE), *cuts})
    assert events(WHOLE[start:end] for start, end in pairwise(edges)) == events([WHOLE])


@given(st.integers(0, len(WHOLE) - len(END)))
def test_a_stream_that_ends_anywhere_is_broken_and_keeps_what_arrived(end: int) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([WHOLE[:end]])
    assert "I look: 盐.".startswith(caught.value.arrived)


def test_a_done_marker_does_not_end_an_answer_that_is_not_there_yet() -> None:
    with pytest.raises(StreamBroken):
        events([START + ITEMS + b"data: [DONE]\n\n"])
    assert output(WHOLE + b"data: [DONE]\n\n").message.content


def test_an_answer_that_was_cut_by_its_cap_ends_the_stream_too() -> None:
    cut = RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert output(START + ITEMS + frame("response.incomplete", response=cut)).finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("left_out", [{"output": []}, {"output": None}], ids=repr)
def test_the_answer_is_put_together_where_the_last_event_leaves_it_out(left_out: dict[str, Any]) -> None:
    assert output(START + ITEMS + frame("response.completed", response=RESPONSE | left_out)) == output(WHOLE)


def test_items_that_never_ended_are_what_their_deltas_add_up_to() -> None:
    data = [
        START,
        added(0, {"type": "reasoning", "id": "rs", "summary": []}),
        delta("reasoning_summary_text", 0, "a", summary_index=0),
        delta("reasoning_summary_text", 0, "b", summary_index=1),
        added(1, {"type": "reasoning"}),
        delta("reasoning_text", 1, "why", content_index=0),
        added(2, {"type": "message", "id": "m", "content": []}),
        delta("output_text", 2, "x", content_index=0),
        delta("output_text", 2, "y", content_index=0),
        delta("refusal", 2, "No", content_index=1),
        added(3, CALLS[0] | {"arguments": ""}),
        delta("function_call_arguments", 3, '{"a": [1'),
        frame("response.incomplete", response={"status": "incomplete"}),
    ]
    summary = [{"type": "summary_text", "text": text} for text in "ab"]
    content = [{"type": "reasoning_text", "text": "why"}]
    assert output(*data).message.content == (
        ThinkingPart(text="a\n\nb", provider=PROTOCOL, opaque={"id": "rs", "summary": summary}),
        ThinkingPart(text="why", provider=PROTOCOL, opaque={"content": content}),
        TextPart(text="xy", extra={PROTOCOL: {ITEM: {"id": "m"}}}),
        TextPart(text="", extra={PROTOCOL: {"type": "refusal", "refusal": "No", CONTINUES: True}}),
        ToolCall(id="c1", name="f", arguments='{"a": [1', extra={PROTOCOL: {"id": "fc1"}}),
    )


def test_a_character_that_two_deltas_share_is_one_character_where_the_answer_is_put_together() -> None:
    halves = [
        delta("output_text", 0, "HALF", content_index=0).replace(b"HALF", half)
        for half in (b"\\ud83d", b"\\ude00")
    ]
    data = [START, added(0, MESSAGE | {"content": []}), *halves, frame("response.completed", response={})]
    assert output(*data).message.text == "\U0001f600"


@pytest.mark.parametrize("named", [{"item_id": "m"}, {"item_id": "of another", "content_index": 0}, {}], ids=repr)
def test_deltas_find_their_item_however_the_server_names_it(named: dict[str, Any]) -> None:
    data = START + frame("response.output_item.added", item=MESSAGE | {"content": []})
    data += frame("response.output_text.delta", delta="I look: 盐.", **named)
    data += frame("response.output_item.done", item=MESSAGE) + END
    found = events([data])
    assert found[:-1] == [TextDelta("I look: 盐.")]
    assert found[-1] == Finished(output(WHOLE))


def test_what_came_without_deltas_is_told_when_its_item_ends() -> None:
    data = START + b"".join(done(number, item) for number, item in enumerate(OUTPUT)) + END
    *pieces, last = events([data])
    assert pieces == [
        ThinkingDelta("Two plots."),
        TextDelta("I look: 盐."),
        ToolCallDelta(index=0, id="c1", name="f"),
        ToolCallDelta(index=0, arguments='{"a": 1}'),
        ToolCallDelta(index=1, id="c2", name="f"),
        ToolCallDelta(index=1, arguments='{"a": 1}'),
    ]
    assert last == Finished(output(WHOLE))


def test_what_stands_beside_the_response_is_kept() -> None:
    data = START + ITEMS + frame("response.completed", response=RESPONSE, timings={"n": 1}, sequence_number=9)
    assert output(data).extra == {"timings": {"n": 1}}


def test_events_that_nobody_has_heard_of_are_kept() -> None:
    unheard = {"type": "response.hologram.delta", "hue": "red"}
    assert output(START + frame("response.hologram.delta", hue="red") + ITEMS + END).extra == {"events": [unheard]}


TOO_LONG = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
LIMITED = {"code": "rate_limit_exceeded", "message": "Rate limit reached for gpt-x. Please try again in 2s."}
FAULT = {"code": "server_error", "message": "An error occurred while processing your request."}


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"type": "error", **TOO_LONG}, ContextOverflow),
        ({"type": "response.failed", "response": {"status": "failed", "error": TOO_LONG}}, ContextOverflow),
        ({"error": {"code": 500, "message": "Context size has been exceeded."}}, ContextOverflow),
        ({"type": "error", **LIMITED}, RateLimited),
        ({"type": "response.failed", "response": {"status": "failed", "error": FAULT}}, Unavailable),
        ({"type": "response.incomplete", "response": {"output": [], "error": FAULT}}, Unavailable),
        ({"type": "response.failed", "response": {"error": None}}, MalformedReply),
    ],
    ids=["event", "failed", "llama.cpp", "rate", "fault", "fault in the answer", "nothing"],
)
@pytest.mark.parametrize("name", ["", "event: error\n"], ids=["unnamed", "named"])
def test_an_error_in_mid_stream_is_typed_and_comes_after_what_was_before_it(
    said: dict[str, Any], kind: type[ProviderError], name: str
) -> None:
    stream = ResponsesStream()
    begun = added(0, MESSAGE | {"content": []}) + delta("output_text", 0, "I ", content_index=0)
    fed = stream.feed(START + begun + f"{name}data: {json.dumps(said)}\n\n".encode())
    assert next(fed) == TextDelta("I ")
    with pytest.raises(kind):
        next(fed)
    assert stream.arrived == "I "


def test_an_answer_that_is_no_stream_is_read_as_a_whole() -> None:
    whole = json.dumps(RESPONSE).encode()
    assert output(whole[:9], whole[9:]) == decode(200, whole)


@pytest.mark.parametrize(
    "data",
    [
        b"data: {]\n\n",
        b"data: 1\n\n",
        delta("output_text", 0, "x", content_index=0),
        frame("response.output_item.added", output_index=0),
        frame("response.completed"),
        b'event: response.completed\ndata: {"type": []}\n\n',
        START + ITEMS + frame("response.completed", response={"output": [{"no": "type"}]}),
    ],
)
def test_a_stream_of_something_else_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedReply):
        events([data])


@given(st.binary(max_size=80))
def test_garbage_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(CopyfitError):
        events([data])
