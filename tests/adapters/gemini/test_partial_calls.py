"""A call whose arguments are streamed, as Vertex AI does on request, is the call that a whole answer holds."""

import json
from typing import Any

import pytest

from copyfit.errors import MalformedReply
from copyfit.shapes.messages import TextPart, ToolCall
from copyfit.shapes.model_output import Finished, FinishReason, ToolCallDelta
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.stream import GeminiStream

MORE = {"willContinue": True}


def streamed(*calls: dict[str, Any], finish: str = "STOP", **first: Any) -> tuple[list[ToolCallDelta], Any]:
    parts = [{"functionCall": call} for call in calls]
    parts[0] |= first
    chunks: list[Any] = [{"responseId": "r", "candidates": [{"content": {"parts": [part]}}]} for part in parts]
    chunks.append({"candidates": [{"finishReason": finish}]})
    stream = GeminiStream()
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)
    *deltas, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    assert all(isinstance(delta, ToolCallDelta) for delta in deltas)
    return deltas, last.output  # type: ignore[return-value]


def piece(path: str, **value: Any) -> dict[str, Any]:
    return {"partialArgs": [{"jsonPath": path, **value}]} | MORE


def test_the_pieces_of_a_call_become_one_call_with_its_signature() -> None:
    deltas, output = streamed(
        {"name": "light"} | MORE,
        piece("$.room", stringValue="kit", willContinue=True),
        piece("$.room", stringValue="chen"),
        piece("$.level", numberValue=50),
        {},
        {"name": "other", "args": {"a": 1}},
        thoughtSignature="QQ==",
    )
    first, second = output.message.tool_calls
    signed = {PROTOCOL: {"thoughtSignature": "QQ=="}}
    assert first == ToolCall(id="call-r-0", name="light", arguments='{"room":"kitchen","level":50}', extra=signed)
    assert second == ToolCall(id="call-r-1", name="other", arguments='{"a":1}')
    assert [(delta.index, delta.id, delta.arguments) for delta in deltas] == [
        (0, first.id, first.arguments),
        (1, second.id, second.arguments),
    ]
    assert output.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([("$.a.b", {"boolValue": False}), ("$.a.c", {"nullValue": None})], {"a": {"b": False, "c": None}}),
        ([("$.a", {"nullValue": "NULL_VALUE"})], {"a": None}),
        ([("$.a[0].b", {"numberValue": 1}), ("$.a[1].b", {"numberValue": 2})], {"a": [{"b": 1}, {"b": 2}]}),
        ([("$.a[0]", {"stringValue": "x"}), ("$.a[0]", {"stringValue": "y"})], {"a": ["xy"]}),
        ([("$['a.b'][\"c d\"]", {"stringValue": "x"})], {"a.b": {"c d": "x"}}),
        ([("$['it\\'s']", {"stringValue": "x"})], {"it's": "x"}),
        ([("$.a", {"stringValue": ""})], {"a": ""}),
        ([("$.a", {})], {}),
    ],
    ids=str,
)
def test_a_value_stands_where_its_path_leads(pieces: list[tuple[str, Any]], expected: Any) -> None:
    _, output = streamed({"name": "f"} | MORE, *(piece(path, **value) for path, value in pieces), {})
    (call,) = output.message.tool_calls
    assert json.loads(call.arguments) == expected


def test_a_call_may_come_with_all_its_pieces_at_once() -> None:
    _, output = streamed({"id": "c", "name": "f", "partialArgs": [{"json_path": "$.a", "string_value": "x"}]})
    assert output.message.tool_calls == (ToolCall(id="c", name="f", arguments='{"a":"x"}'),)


def test_a_call_that_the_answer_breaks_off_is_no_call_and_is_kept() -> None:
    deltas, output = streamed({"name": "f"} | MORE, piece("$.a", stringValue="x"), finish="MAX_TOKENS")
    assert (deltas, output.message.tool_calls) == ([], ())
    (kept,) = output.message.parts
    assert kept == TextPart(
        text="", extra={PROTOCOL: {"part": {"functionCall": {"name": "f", "args": {"a": "x"}, **MORE}}}}
    )


@pytest.mark.parametrize("pieces", [5, {"jsonPath": "$.a"}, "$.a", ["$.a"], [None]], ids=str)
def test_pieces_that_are_none_are_told(pieces: Any) -> None:
    with pytest.raises(MalformedReply, match="parts"):
        streamed({"name": "f", "partialArgs": pieces})


@pytest.mark.parametrize(
    "path", ["", "a", "$", "$.a[*]", "$..a", "$.a[5]", "$.s.t", "$[0]", None, "$.a[99999999999]"]
)
def test_a_path_that_leads_nowhere_is_told(path: Any) -> None:
    with pytest.raises(MalformedReply, match="no place"):
        streamed({"name": "f", "args": {"s": "text"}} | MORE, piece(path, stringValue="x"), {})
