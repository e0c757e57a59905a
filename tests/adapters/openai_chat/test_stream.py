"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ContextOverflow, CopyfitError, MalformedReply, ProviderError, StreamBroken, Unavailable
from copyfit.shapes.messages import ThinkingPart, ToolCall
from copyfit.shapes.model_output import (
    Finished,
    FinishReason,
    ModelOutput,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.encode import encode_message
from copyfit_adapters.openai_chat.stream import ChatStream

SHARED = Path(__file__).parents[3].parent / "shared"
HAS_SHARED = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared captures are not beside this checkout")


def sse(*chunks: Any, done: bool = True) -> bytes:
    frames = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **top: Any) -> dict[str, Any]:
    return {"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **top}


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = ChatStream()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def output(*pieces: bytes) -> ModelOutput:
    last = events(pieces)[-1]
    assert isinstance(last, Finished)
    return last.output


def test_text_comes_in_pieces_and_whole_at_the_end() -> None:
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
    data = sse(
        chunk({"role": "assistant", "content": ""}, model="m1"),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        {"id": "r1", "choices": [], "usage": usage},
    )
    *pieces, last = events([data])
    assert pieces == [TextDelta("Hel"), TextDelta("lo")]
    whole = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    reply = {"id": "r1", "model": "m1", "choices": [whole], "usage": usage}
    assert last == Finished(decode(200, json.dumps(reply).encode()))


def test_parallel_calls_are_put_together_by_their_index() -> None:
    first = {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}
    second = {"index": 1, "id": "b", "type": "function", "function": {"name": "g"}}
    third = [{"index": 1, "function": {"arguments": '{"n":'}}, {"index": 0, "function": {"arguments": "{}"}}]
    last = {"index": 1, "function": {"arguments": "1.0}"}}
    data = sse(
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [second]}),
        chunk({"tool_calls": third}),
        chunk({"tool_calls": [last]}, "tool_calls"),
    )
    *pieces, _ = events([data])
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


@pytest.mark.parametrize("index", [{"index": 0}, {}], ids=["always 0", "none"])
def test_calls_with_ids_of_their_own_stay_apart_without_a_useful_index(index: dict[str, int]) -> None:
    data = sse(
        chunk({"tool_calls": [index | {"id": "a", "function": {"name": "f", "arguments": "{"}}]}),
        chunk({"tool_calls": [index | {"function": {"arguments": "}"}}]}),
        chunk({"tool_calls": [index | {"id": "b", "function": {"name": "f", "arguments": "[]"}}]}, "tool_calls"),
    )
    assert output(data).message.content == (
        ToolCall(id="a", name="f", arguments="{}"),
        ToolCall(id="b", name="f", arguments="[]"),
    )


def test_a_call_whose_id_and_name_are_repeated_in_every_piece_stays_one() -> None:
    piece = {"index": 0, "id": "a", "type": "function"}
    data = sse(
        chunk({"tool_calls": [piece | {"function": {"name": "f", "arguments": "{"}}]}),
        chunk({"tool_calls": [piece | {"function": {"name": "f", "arguments": "}"}}]}, "tool_calls"),
    )
    assert output(data).message.content == (ToolCall(id="a", name="f", arguments="{}"),)


@pytest.mark.parametrize(
    ("field", "opaque"), [("reasoning_content", {}), ("reasoning", {"field": "reasoning"})], ids=str
)
def test_reasoning_is_thinking_under_either_name(field: str, opaque: dict[str, Any]) -> None:
    data = sse(chunk({field: "a"}), chunk({field: "b"}), chunk({"content": "c"}, "stop"))
    *pieces, _ = events([data])
    assert pieces == [ThinkingDelta("a"), ThinkingDelta("b"), TextDelta("c")]
    assert output(data).message.parts[0] == ThinkingPart(text="ab", provider=PROTOCOL, opaque=opaque)


def test_a_character_cut_between_two_pieces_is_whole_in_the_end() -> None:
    halves = [chunk({"content": "\ud83d"}), chunk({"content": "\ude00"}, "stop")]
    data = b"".join(f"data: {json.dumps(half)}\n\n".encode() for half in halves)
    assert output(data).message.content == "\U0001f600"


def test_unknown_fields_grow_by_index_and_stay_with_the_message() -> None:
    data = sse(
        chunk({"reasoning_details": [{"index": 0, "type": "text", "text": "a"}]}),
        chunk({"reasoning_details": [{"index": 0, "type": "text", "text": "b"}], "content": "x"}),
        chunk({"refusal": "n"}),
        chunk({"refusal": "o"}, "stop"),
    )
    assert output(data).message.extra == {
        PROTOCOL: {"reasoning_details": [{"index": 0, "type": "text", "text": "ab"}], "refusal": "no"}
    }


def test_sealed_reasoning_goes_back_as_it_came_though_all_of_it_has_one_index() -> None:
    thought = {"type": "reasoning.text", "format": "google-gemini-v1", "index": 0}
    seals = [{"type": "reasoning.encrypted", "data": seal, "id": seal * 3, "index": 0} for seal in "xy"]
    call = {"index": 0, "id": "xxx", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    data = sse(
        chunk({"reasoning": "Let", "reasoning_details": [thought | {"text": "Let"}], "content": ""}),
        chunk({"reasoning": " me.", "reasoning_details": [thought | {"text": " me."}], "content": ""}),
        chunk({"reasoning": None, "reasoning_details": [seals[0]], "content": ""}),
        chunk({"reasoning": None, "reasoning_details": [seals[1]], "content": ""}),
        chunk({"tool_calls": [call], "content": None}, "tool_calls"),
    )
    sent = json.loads(encode_message(output(data).message))
    assert sent["reasoning_details"] == [thought | {"text": "Let me."}, *seals]
    assert sent["reasoning"] == "Let me."


def test_a_signature_that_comes_last_belongs_to_the_reasoning_before_it() -> None:
    part = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    data = sse(
        chunk({"reasoning_details": [part | {"text": "a", "signature": None}]}),
        chunk({"reasoning_details": [part | {"text": "b"}]}),
        chunk({"reasoning_details": [part | {"signature": "sig"}]}),
        chunk({"content": "x"}, "stop"),
    )
    sent = json.loads(encode_message(output(data).message))
    assert sent["reasoning_details"] == [part | {"text": "ab", "signature": "sig"}]


def test_reasoning_under_the_second_name_is_told_though_the_first_is_there_and_empty() -> None:
    *told, last = events([sse(chunk({"reasoning_content": "", "reasoning": "why"}), chunk({}, "stop"))])
    assert told == [ThinkingDelta("why")]
    assert isinstance(last, Finished)
    thought = ThinkingPart(text="why", provider=PROTOCOL, opaque={"field": "reasoning"})
    assert last.output.message.content == (thought,)


def test_logprobs_of_all_pieces_are_kept_in_order() -> None:
    frames = [chunk({"content": text}) for text in "ab"]
    for frame, text in zip(frames, "ab", strict=True):
        frame["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": -1.0}]}
    kept = output(sse(*frames, chunk({}, "stop"))).extra["choice"]["logprobs"]
    assert [entry["token"] for entry in kept["content"]] == ["a", "b"]


def test_other_choices_are_kept_and_give_no_events() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "two"}, "finish_reason": "stop"}]}
    data = sse(chunk({"content": "one"}), second, chunk({}, "stop"))
    *pieces, _ = events([data])
    assert pieces == [TextDelta("one")]
    assert output(data).extra["other_choices"][0]["message"] == {"content": "two"}


@pytest.mark.parametrize("done", [True, False], ids=["done", "finish reason alone"])
def test_either_sign_of_the_end_is_enough(done: bool) -> None:
    assert output(sse(chunk({"content": "x"}, "length"), done=done)).finish_reason is FinishReason.LENGTH


def test_what_follows_the_end_is_ignored() -> None:
    data = sse(chunk({"content": "x"}, "stop")) + b"data: {broken\n\ndata: [DONE]\n\n"
    assert [type(event) for event in events([data])] == [TextDelta, Finished]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b": ping\n\n",
        sse(chunk({"content": "so far"}), done=False),
        sse(chunk({"content": "so far"}), done=False) + b'data: {"choices": [{"de',
    ],
    ids=["nothing", "comment", "no end", "cut event"],
)
def test_a_stream_without_an_end_is_broken_and_says_what_arrived(data: bytes) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([data])
    assert caught.value.arrived == ("so far" if b"so far" in data else "")


OVERFLOW = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}


@pytest.mark.parametrize("word", ["error", "network_error"])
def test_an_answer_that_broke_off_behind_the_gateway_is_broken_and_says_what_arrived(word: str) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([sse(chunk({"content": "Hal"}), chunk({"content": ""}, word))])
    assert caught.value.arrived == "Hal"
    assert caught.value.retryable


def test_an_overflow_in_mid_stream_is_raised_after_what_came_before_it() -> None:
    stream = ChatStream()
    seen: list[StreamEvent] = []
    with pytest.raises(ContextOverflow, match="mid-stream") as caught:
        seen.extend(stream.feed(sse(chunk({"content": "a"}), OVERFLOW)))
    assert caught.value.status == 500
    assert stream.arrived == "a"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'event: error\ndata: {"code":500,"message":"Context size has been exceeded."}\n\n', ContextOverflow),
        (sse({"error": {"message": "Internal server error", "type": "server_error", "code": 500}}), Unavailable),
        (sse({"error": "the prompt is too long"}), ContextOverflow),
        (sse([{"error": {"message": "input token count exceeds the maximum of 8 tokens"}}]), ContextOverflow),
        (sse({"error_type": "overloaded_error", "error_message": "Overloaded"}), Unavailable),
        (b"data: prompt is too long: 9 tokens > 8 maximum\n\n", ContextOverflow),
        (b'{"error":{"message":"prompt is too long"}}', ContextOverflow),
        (b"ERROR: the prompt exceeds the context window", ContextOverflow),
        (b"<html>\nWelcome\n</html>", MalformedReply),
    ],
    ids=["event", "server error", "bare text", "array", "flat", "plain text", "no stream", "no JSON", "a page"],
)
def test_an_error_in_the_stream_is_a_typed_error(data: bytes, error: type[ProviderError]) -> None:
    with pytest.raises(error):
        events([data])


@pytest.mark.parametrize("frame", ["3", "[]", '{"choices":[3]}', '{"choices":[{"index":"x"}]}', '{"error":{}} {'])
def test_an_event_that_is_no_chunk_is_malformed(frame: str) -> None:
    with pytest.raises(ProviderError):
        events([f"data: {frame}\n\n".encode(), sse(chunk({"content": "x"}))])


def test_a_whole_answer_where_a_stream_was_asked_for_is_read_as_it_is() -> None:
    reply = {"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}
    assert output(json.dumps(reply).encode()).message.content == "whole"


def test_an_event_that_never_ends_is_refused() -> None:
    with pytest.raises(MalformedReply, match="without end"):
        events(b"x" * 1024 * 1024 for _ in range(40))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def told(pieces: list[bytes]) -> tuple[list[StreamEvent], str]:
    stream = ChatStream()
    seen: list[StreamEvent] = []
    try:
        for piece in pieces:
            seen.extend(stream.feed(piece))
        seen.extend(stream.close())
    except CopyfitError as error:
        return seen, f"{type(error).__name__}: {error}"
    return seen, ""


@given(st.binary(max_size=80), st.lists(st.integers(min_value=0), max_size=6))
def test_garbage_is_a_typed_error_and_the_same_one_however_it_is_cut(data: bytes, places: list[int]) -> None:
    seen, failure = told([data])
    assert failure
    assert told(cut(data, places)) == (seen, failure)


TEXTS = st.text(max_size=8)
CALL_TEXTS = st.tuples(st.text(min_size=1, max_size=4), st.text(min_size=1, max_size=4), TEXTS)


@given(
    TEXTS, TEXTS, st.lists(CALL_TEXTS, max_size=3), st.booleans(), st.lists(st.integers(min_value=0), max_size=12)
)
def test_a_stream_gives_what_the_whole_answer_gives_however_it_is_cut(
    text: str, thinking: str, calls: list[tuple[str, str, str]], usage: bool, places: list[int]
) -> None:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    frames = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": letter}) for letter in text)]
    if thinking:
        message["reasoning_content"] = thinking
        frames[1:1] = [chunk({"reasoning_content": letter}) for letter in thinking]
    if calls:
        ids = [f"{index}{call[0]}" for index, call in enumerate(calls)]
        message["tool_calls"] = [
            {"id": ids[index], "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (_, name, arguments) in enumerate(calls)
        ]
        for index, (_, name, arguments) in enumerate(calls):
            start = {"index": index, "id": ids[index], "type": "function", "function": {"name": name}}
            frames.append(chunk({"tool_calls": [start]}))
            frames += [chunk({"tool_calls": [{"index": index, "function": {"arguments": c}}]}) for c in arguments]
    frames.append(chunk({}, "stop"))
    counts = {"prompt_tokens": 3} if usage else None
    frames.append({"id": "r1", "choices": [], "usage": counts})
    whole = {"id": "r1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": counts}
    assert output(*cut(sse(*frames), places)) == decode(200, json.dumps(whole).encode())


def streams() -> Iterable[tuple[str, bytes]]:
    for path in sorted((SHARED / "local-provider" / "captures").glob("*chat*.json")):
        capture = json.loads(path.read_text("utf-8"))
        request, response = capture["request"], capture["response"]
        is_stream = request["path"] == "/v1/chat/completions" and '"stream": true' in request["body"]
        if is_stream and response["status"] == 200:
            yield path.stem, response["body"].encode()


@HAS_SHARED
def test_every_recorded_stream_decodes_and_ends_as_its_server_ended_it() -> None:
    endings = {name: told([data])[1].partition(":")[0] for name, data in streams()}
    broken = {"llamacpppython-0.3.36.chat.over.stream": "StreamBroken"}
    swallowed = {"litellm-midstream.chat.anthropic": ""}
    overflows = dict.fromkeys((name for name in endings if "midstream" in name), "ContextOverflow")
    assert len(endings) > 25
    assert endings == dict.fromkeys(endings, "") | overflows | swallowed | broken


@HAS_SHARED
@given(st.data())
def test_every_recorded_stream_decodes_the_same_however_it_is_cut(draw: st.DataObject) -> None:
    _, data = draw.draw(st.sampled_from(sorted(streams())))
    places = draw.draw(st.lists(st.integers(min_value=0), max_size=40))
    assert told(cut(data, places)) == told([data])


@HAS_SHARED
def test_a_recorded_stream_fed_byte_by_byte_decodes_the_same() -> None:
    data = dict(streams())["llamacpp-b11549-tools.chat.required.stream"]
    assert told([bytes([byte]) for byte in data]) == told([data])
    (*_, last), _ = told([data])
    assert isinstance(last, Finished)
    assert last.output.message.tool_calls[0].name == "get_weather"


def test_a_message_beside_the_deltas_is_not_the_answer_and_one_in_their_place_is() -> None:
    empty = {"content": None, "tool_calls": None}
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    beside = [
        {"choices": [{"index": 0, "delta": empty | {"tool_calls": [call]}, "message": empty}]},
        {"choices": [{"index": 0, "delta": empty, "message": empty, "finish_reason": "tool_calls"}]},
    ]
    assert output(sse(*beside)).message.content == (ToolCall(id="a", name="f", arguments="{}"),)
    instead = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    assert output(sse(instead)).message.content == "Hello"
