"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ContextOverflow, CopyfitError, MalformedReply, ProviderError, StreamBroken
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
from copyfit_adapters.ollama_chat.decode import decode
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.stream import OllamaStream


def line(message: Any = None, *, done: bool = False, **fields: Any) -> bytes:
    said = {} if message is None else {"message": message}
    chunk = {"model": "m1", "created_at": "t"} | said | {"done": done} | fields
    return json.dumps(chunk, ensure_ascii=False).encode() + b"\n"


def called(name: str, arguments: Any, **fields: Any) -> dict[str, Any]:
    return fields | {"function": {"name": name, "arguments": arguments}}


END = line(
    {"role": "assistant", "content": ""},
    done=True,
    created_at="end",
    done_reason="stop",
    prompt_eval_count=10,
    eval_count=12,
    total_duration=5,
)
CALLS = [called("f", {"a": 1}, id="c1"), called("g", {}, id="c2")]
WHOLE = (
    line({"role": "assistant", "content": "", "thinking": "Two "})
    + line({"role": "assistant", "content": "", "thinking": "plots."})
    + line({"role": "assistant", "content": "I "}, logprobs=[{"token": "I "}])
    + line({"role": "assistant", "content": "look: 盐."}, logprobs=[{"token": "look"}])
    + line({"role": "assistant", "content": "", "tool_calls": CALLS[:1]})
    + line({"role": "assistant", "content": "", "tool_calls": CALLS[1:]})
    + END
)
MESSAGE = (
    ThinkingPart(text="Two plots.", provider=PROTOCOL),
    TextPart(text="I look: 盐."),
    ToolCall(id="c1", name="f", arguments='{"a":1}'),
    ToolCall(id="c2", name="g", arguments="{}"),
)


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = OllamaStream()
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
        ToolCallDelta(index=0, id="c1", name="f", arguments='{"a":1}'),
        ToolCallDelta(index=1, id="c2", name="g", arguments="{}"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == MESSAGE
    said = {"role": "assistant", "content": "I look: 盐.", "thinking": "Two plots.", "tool_calls": CALLS}
    whole = json.loads(END) | {"message": said, "logprobs": [{"token": "I "}, {"token": "look"}]}
    assert last.output == decode(200, json.dumps(whole).encode())
    assert last.output.finish_reason is FinishReason.TOOL_CALLS
    assert (last.output.usage.input_tokens, last.output.usage.output_tokens) == (10, 12)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_into_pieces_decodes_the_same(cuts: list[int]) -> None:
    edges = sorted({0, len(WHOLE), *cuts})
    assert events(WHOLE[start:end] for start, end in pairwise(edges)) == events([WHOLE])


@given(st.integers(0, len(WHOLE) - 2))
def test_a_stream_that_ends_anywhere_is_broken_and_keeps_what_arrived(end: int) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([WHOLE[:end]])
    assert "I look: 盐.".startswith(caught.value.arrived)


def test_the_last_line_needs_no_end() -> None:
    assert output(WHOLE.removesuffix(b"\n")).message.content == MESSAGE


def test_the_ids_that_are_made_are_the_same_in_the_pieces_and_at_the_end() -> None:
    twice = [called("f", {"a": 1}), called("f", {"a": 1})]
    data = line({"content": "", "tool_calls": twice}) + line({"content": "", "tool_calls": twice[:1]}) + END
    *deltas, last = events([data])
    assert isinstance(last, Finished)
    told = [delta.id for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert told == [call.id for call in last.output.message.tool_calls]
    assert len(set(told)) == 3
    assert events([data]) == [*deltas, last]


def test_a_model_that_only_came_or_went_says_nothing() -> None:
    found = output(line(done=True, message=None, done_reason="load"))
    assert (found.message.content, found.finish_reason) == ("", FinishReason.OTHER)


def test_unknown_fields_stay_where_they_were() -> None:
    found = output(line({"content": "x", "mood": "ca"}, remote_host="h"), line({"mood": "lm"}), END)
    assert found.message.extra == {PROTOCOL: {"mood": "calm"}}
    assert found.extra == {"created_at": "end", "remote_host": "h"}


def test_what_follows_the_end_is_ignored() -> None:
    assert [type(event) for event in events([line({"content": "x"}) + END + b"{broken\n" + END])] == [
        TextDelta,
        Finished,
    ]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("an error was encountered while running the model: unexpected EOF", ProviderError),
        ("the prompt is longer than the context length currently available to the model", ContextOverflow),
    ],
)
def test_an_error_in_mid_stream_is_typed_and_comes_after_what_was_before_it(
    said: str, kind: type[ProviderError]
) -> None:
    stream = OllamaStream()
    fed = stream.feed(line({"content": "a"}) + json.dumps({"error": said}).encode() + b"\n")
    assert next(fed) == TextDelta("a")
    with pytest.raises(kind, match="mid-stream"):
        next(fed)
    assert stream.arrived == "a"


def test_a_whole_answer_where_a_stream_was_asked_for_is_read_as_it_is() -> None:
    whole = b'{"message": {"content": "whole"}, "done": true, "done_reason": "stop"}'
    assert output(whole[:9], whole[9:]) == decode(200, whole)


@pytest.mark.parametrize(
    "data",
    [
        b"{]\n",
        b"1\n",
        b"<html>\n",
        line(3),
        line({"content": "", "tool_calls": [3]}),
        line({"content": "", "tool_calls": [{"function": {"arguments": {}}}]}),
        line({"content": 3}) + END,
    ],
)
def test_a_stream_of_something_else_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedReply):
        events([data])


@given(st.binary(max_size=80))
def test_garbage_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(CopyfitError):
        events([data])
