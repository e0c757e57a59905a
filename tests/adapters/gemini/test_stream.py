"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, MalformedReply, StreamBroken, Unavailable
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
from copyfit_adapters.gemini.decode import decode
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.stream import GeminiStream

SIGNED = {"thoughtSignature": "QQ=="}


def chunk(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0} | fields]}


def frames(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(entry).encode() + b"\r\n\r\n" for entry in chunks)


def events(*pieces: bytes) -> list[StreamEvent]:
    stream = GeminiStream()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def output(*chunks: Any) -> ModelOutput:
    last = events(frames(*chunks))[-1]
    assert isinstance(last, Finished)
    return last.output


END = chunk(finishReason="STOP")


def test_pieces_come_as_deltas_and_the_whole_last() -> None:
    calls = [{"functionCall": {"name": name, "args": {"a": 1}}} for name in "fg"]
    *deltas, last = events(
        frames(
            {"responseId": "r", **chunk({"text": "hm", "thought": True})},
            chunk({"text": "m", "thought": True}),
            chunk({"text": "Hel"}),
            chunk({"text": "lo."}, calls[0]),
            chunk(calls[1], finishReason="STOP"),
            {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 5}},
        )
    )
    assert deltas == [
        ThinkingDelta("hm"),
        ThinkingDelta("m"),
        TextDelta("Hel"),
        TextDelta("lo."),
        ToolCallDelta(index=0, arguments='{"a":1}', id="call-r-0", name="f"),
        ToolCallDelta(index=1, arguments='{"a":1}', id="call-r-1", name="g"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == (
        ThinkingPart(text="hmm", provider=PROTOCOL),
        TextPart(text="Hello."),
        ToolCall(id="call-r-0", name="f", arguments='{"a":1}'),
        ToolCall(id="call-r-1", name="g", arguments='{"a":1}'),
    )
    assert last.output.finish_reason == FinishReason.TOOL_CALLS
    assert (last.output.usage.input_tokens, last.output.usage.output_tokens) == (3, 9)


def test_a_stream_of_one_chunk_is_the_whole_answer() -> None:
    parts = [
        {"text": "t", "thought": True, **SIGNED},
        {"text": "a"},
        {"text": "b", "x_note": [1]},
        {"functionCall": {"name": "f"}, **SIGNED},
    ]
    whole = chunk(*parts, finishReason="STOP", citationMetadata={"citations": [1]}) | {"responseId": "r"}
    assert output(whole) == decode(200, json.dumps(whole).encode())


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([{"text": "a"}, {"text": "b"}], [("ab", False)]),
        ([{"text": "a"}, {"text": "", **SIGNED}], [("a", False), ("", True)]),
        ([{"text": "a"}, {"text": "b", **SIGNED}], [("a", False), ("b", True)]),
        ([{"text": "a", **SIGNED}, {"text": "b"}], [("a", True), ("b", False)]),
        ([{"text": "a", **SIGNED}, {"text": "b"}, {"text": "c"}], [("a", True), ("bc", False)]),
        ([{"text": "a"}, {"text": ""}, {"text": "c"}], [("ac", False)]),
        ([{"text": "a"}, {**SIGNED}, {"text": "c"}], [("a", False), ("", True), ("c", False)]),
    ],
    ids=str,
)
def test_plain_texts_join_and_a_signature_stays_on_its_own_part(
    pieces: list[dict[str, Any]], expected: list[tuple[str, bool]]
) -> None:
    parts = output(*map(chunk, pieces), END).message.parts
    assert [(part.text, bool(part.extra)) for part in parts if isinstance(part, TextPart)] == expected


def test_a_call_of_an_answer_without_an_id_is_told_under_the_id_that_it_keeps() -> None:
    calls = [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f"}}]
    whole = chunk(*calls, finishReason="STOP")
    *deltas, last = events(frames(chunk(calls[0]), chunk(calls[0]), whole))
    assert isinstance(last, Finished)
    told = [delta.id for delta in deltas if isinstance(delta, ToolCallDelta)]
    assert told == [call.id for call in last.output.message.tool_calls]
    assert len(set(told)) == 4
    assert output(whole) == decode(200, json.dumps(whole).encode())


def test_a_safety_block_in_mid_stream_keeps_what_was_said_and_says_why() -> None:
    blocked = {"candidates": [{"finishReason": "SAFETY", "index": 0, "safetyRatings": [{"blocked": True}]}]}
    found = output(chunk({"text": "a"}), chunk({"functionCall": {"name": "f"}}), blocked)
    assert (found.finish_reason, found.raw_finish_reason) == (FinishReason.CONTENT_FILTER, "SAFETY")
    assert (found.message.text, len(found.message.tool_calls)) == ("a", 1)
    assert found.extra["candidate"] == {"safetyRatings": [{"blocked": True}]}


def test_a_part_without_text_is_no_delta() -> None:
    (last,) = events(frames(chunk({"text": ""}, {"text": "", "thought": True}, SIGNED), END))
    assert isinstance(last, Finished)
    assert len(last.output.message.parts) == 3


def test_a_prompt_that_is_blocked_in_mid_stream_ends_the_answer_so_far() -> None:
    found = output(chunk({"text": "a"}), {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (found.message.content, found.finish_reason) == ("a", FinishReason.CONTENT_FILTER)


def test_thoughts_and_texts_never_join() -> None:
    parts = output(chunk({"text": "a", "thought": True}), chunk({"text": "b"}), END).message.parts
    assert parts == (ThinkingPart(text="a", provider=PROTOCOL), TextPart(text="b"))


def test_parts_of_one_chunk_stay_apart() -> None:
    parts = output(chunk({"text": "a"}, {"text": "b"}), chunk({"text": "c"}), END).message.parts
    assert parts == (TextPart(text="a"), TextPart(text="bc"))


def test_facts_of_the_candidate_come_in_any_chunk_and_citations_add_up() -> None:
    found = output(
        chunk({"text": "a"}, citationMetadata={"citations": [{"uri": "1"}]}, finishReason=None),
        chunk({"text": "b"}, citationMetadata={"citations": [{"uri": "2"}]}, groundingMetadata={"q": 1}),
        END,
        {"modelVersion": "gemini-x", "responseId": "r", "x_new": True},
    )
    assert found.message.content == "ab"
    assert (found.model, found.response_id) == ("gemini-x", "r")
    assert found.extra == {
        "x_new": True,
        "candidate": {
            "citationMetadata": {"citations": [{"uri": "1"}, {"uri": "2"}]},
            "groundingMetadata": {"q": 1},
        },
    }


def test_a_second_candidate_gives_no_events_and_is_kept() -> None:
    both = chunk({"text": "a"}, finishReason="STOP")
    both["candidates"].append({"content": {"parts": [{"text": "b"}]}, "index": 1, "finishReason": "STOP"})
    *deltas, last = events(frames(both))
    assert deltas == [TextDelta("a")]
    assert isinstance(last, Finished)
    assert last.output.extra["other_candidates"][0]["content"]["parts"] == [{"text": "b"}]


def test_a_blocked_prompt_ends_the_stream_with_its_reason() -> None:
    (last,) = events(
        frames({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 2}})
    )
    assert isinstance(last, Finished)
    assert last.output.finish_reason == FinishReason.CONTENT_FILTER
    assert last.output.raw_finish_reason == "SAFETY"


def test_a_stream_that_ends_without_a_finish_reason_is_broken_and_keeps_what_arrived() -> None:
    with pytest.raises(StreamBroken) as caught:
        events(frames(chunk({"text": "Hel"}), chunk({"text": "lo"}, finishReason=None)))
    assert caught.value.arrived == "Hello"


def test_an_error_in_mid_stream_comes_after_what_was_said() -> None:
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    stream = GeminiStream()
    assert list(stream.feed(frames(chunk({"text": "Hel"})))) == [TextDelta("Hel")]
    with pytest.raises(Unavailable):
        list(stream.feed(frames(error)))


@pytest.mark.parametrize("cut", [1, 5, 40, 10_000])
def test_a_body_that_is_a_json_array_is_read_when_it_has_ended(cut: int) -> None:
    body = json.dumps([chunk({"text": "Hel"}), chunk({"text": "lo."}, finishReason="STOP")], indent=2).encode()
    (last,) = events(body[:cut], body[cut:])
    assert isinstance(last, Finished)
    assert last.output.message.content == "Hello."


def test_an_array_with_an_error_is_that_error() -> None:
    said = "The input token count (9) exceeds the maximum number of tokens allowed (5)."
    with pytest.raises(ContextOverflow):
        events(json.dumps([{"error": {"code": 400, "message": said}}]).encode())


@pytest.mark.parametrize(
    "bad",
    [
        {"candidates": {}},
        {"candidates": ["x"]},
        {"candidates": [{"content": "x"}]},
        {"candidates": [{"content": {"parts": "x"}}]},
        {"candidates": [{"content": {"parts": ["x"]}}]},
        5,
    ],
    ids=str,
)
def test_a_chunk_that_is_none_is_told(bad: Any) -> None:
    with pytest.raises(MalformedReply):
        events(frames(chunk({"text": "a"}), bad))
