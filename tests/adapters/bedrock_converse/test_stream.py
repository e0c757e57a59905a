"""A streamed answer gives its pieces as they come, and at the end what a whole answer would have given."""

import json
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
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
from copyfit.shapes.messages import ImagePart, TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_output import (
    Finished,
    FinishReason,
    ModelOutput,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.bedrock_converse.decode import decode
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.stream import ConverseStream


def frame(kind: str, **fields: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_event(headers, json.dumps(fields | {"p": "abcde"}, ensure_ascii=False).encode())


def failure(kind: str, message: str, **more: Any) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return encode_event(headers, json.dumps({"message": message} | more).encode())


def block(index: int, *deltas: dict[str, Any], start: dict[str, Any] | None = None) -> bytes:
    begin = b"" if start is None else frame("contentBlockStart", contentBlockIndex=index, start=start)
    pieces = [frame("contentBlockDelta", contentBlockIndex=index, delta=delta) for delta in deltas]
    return b"".join([begin, *pieces, frame("contentBlockStop", contentBlockIndex=index)])


def thought(**fields: str) -> dict[str, Any]:
    return {"reasoningContent": fields}


def call(call_id: str, name: str, **more: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name} | more}


def arguments(piece: str) -> dict[str, Any]:
    return {"toolUse": {"input": piece}}


START = frame("messageStart", role="assistant")
STOP = frame("messageStop", stopReason="tool_use", additionalModelResponseFields={"x": 1})
USAGE = {"inputTokens": 3, "cacheReadInputTokens": 7, "outputTokens": 12, "totalTokens": 22}
METADATA = frame("metadata", usage=USAGE, metrics={"latencyMs": 605})
THINKING = block(0, thought(text="Two "), thought(text="plots."), thought(signature="c2"), thought(signature="ln"))
TEXT = block(1, {"text": "I "}, {"text": "look: \u76d0."})
CALLS = block(2, arguments('{"a"'), arguments(": 1}"), start=call("c1", "f")) + block(3, start=call("c2", "g"))
WHOLE = START + THINKING + TEXT + CALLS + STOP + METADATA
MESSAGE = (
    ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL),
    TextPart(text="I look: \u76d0."),
    ToolCall(id="c1", name="f", arguments='{"a": 1}'),
    ToolCall(id="c2", name="g", arguments="{}"),
)


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = ConverseStream()
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
        TextDelta("look: \u76d0."),
        ToolCallDelta(index=0, id="c1", name="f"),
        ToolCallDelta(index=0, arguments='{"a"'),
        ToolCallDelta(index=0, arguments=": 1}"),
        ToolCallDelta(index=1, id="c2", name="g"),
    ]
    assert isinstance(last, Finished)
    assert last.output.message.content == MESSAGE
    assert last.output.finish_reason is FinishReason.TOOL_CALLS
    usage = last.output.usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (10, 7, 12)
    assert last.output.extra == {"additionalModelResponseFields": {"x": 1}, "metrics": {"latencyMs": 605}}


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_into_pieces_decodes_the_same(cuts: list[int]) -> None:
    edges = sorted({0, len(WHOLE), *cuts})
    assert events(WHOLE[start:end] for start, end in pairwise(edges)) == events([WHOLE])


@given(st.integers(0, len(WHOLE) - len(METADATA) - 1))
def test_a_stream_that_ends_anywhere_is_broken_and_keeps_what_arrived(end: int) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([WHOLE[:end]])
    assert "I look: \u76d0.".startswith(caught.value.arrived)


def test_the_answer_is_over_with_its_cost_and_whole_without_it() -> None:
    stream = ConverseStream()
    *_, last = stream.feed(WHOLE)
    assert isinstance(last, Finished)
    assert list(stream.close()) == []
    without_cost = output(WHOLE.removesuffix(METADATA))
    assert without_cost.message == last.output.message
    assert without_cost.usage.input_tokens is None


def test_arguments_that_were_cut_are_kept_as_they_are() -> None:
    cut = block(0, arguments('{"a": [1'), start=call("c", "f"))
    (said,) = output(START + cut + frame("messageStop", stopReason="max_tokens")).message.tool_calls
    assert said.arguments == '{"a": [1'


def test_hidden_reasoning_is_joined_as_data_and_not_as_text() -> None:
    (part,) = output(
        START + block(0, thought(redactedContent="QQ=="), thought(redactedContent="Qg==")) + STOP
    ).message.parts
    assert part == ThinkingPart(provider=PROTOCOL, opaque={"redactedContent": "QUI="})


def test_a_cited_text_keeps_its_citations() -> None:
    data = START + block(0, {"text": "So."}, {"citation": {"title": "a"}}, {"citation": {"title": "b"}}) + STOP
    whole = {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "a"}, {"title": "b"}]}}
    reply = {"output": {"message": {"content": [whole]}}}
    assert output(data).message == decode(200, json.dumps(reply).encode()).message
    assert output(data).message.text == "So."


def test_what_runs_at_the_provider_and_what_nobody_has_heard_of_is_kept() -> None:
    data = START + block(
        0, arguments('{"q":'), arguments('"x"}'), start=call("s", "search", type="server_tool_use")
    )
    result = {"toolResult": {"toolUseId": "s", "type": "web"}}
    data += block(1, {"toolResult": [{"text": "r"}]}, {"toolResult": [{"json": {"n": 1}}]}, start=result)
    data += block(2, {"image": {"source": {"bytes": "QUJD"}}}, start={"image": {"format": "png"}})
    data += block(3, {"hologram": {"hue": "re"}}, {"hologram": {"hue": "d", "depth": 3}})
    data += frame("hologramEvent", x=1) + STOP
    *pieces, last = events([data])
    assert pieces == []
    assert isinstance(last, Finished)
    used = {"toolUse": {"toolUseId": "s", "name": "search", "type": "server_tool_use", "input": {"q": "x"}}}
    got = {"toolResult": result["toolResult"] | {"content": [{"text": "r"}, {"json": {"n": 1}}]}}
    assert last.output.message.parts == (
        TextPart(text="", extra={PROTOCOL: used}),
        TextPart(text="", extra={PROTOCOL: got}),
        ImagePart(data="QUJD", media_type="image/png"),
        TextPart(text="", extra={PROTOCOL: {"hologram": {"hue": "red", "depth": 3}}}),
    )
    assert last.output.extra["events"] == [{"hologramEvent": {"x": 1}}]


def test_an_image_in_pieces_is_joined_as_data_and_not_as_text() -> None:
    pieces = [{"image": {"source": {"bytes": data}}} for data in ("QQ==", "Qg==")]
    (part,) = output(START + block(0, *pieces, start={"image": {"format": "png"}}) + STOP).message.parts
    assert part == ImagePart(data="QUI=", media_type="image/png")


def test_what_goes_on_without_a_beginning_is_kept() -> None:
    data = START + block(0, arguments('{"a":1}')) + block(1, {"toolResult": [{"text": "r"}]}) + STOP
    assert [part.extra[PROTOCOL] for part in output(data).message.parts if isinstance(part, TextPart)] == [
        {"toolUse": {"input": {"a": 1}}},
        {"toolResult": {"content": [{"text": "r"}]}},
    ]


NAMES = st.sampled_from(["text", "toolUse", "toolResult", "reasoningContent", "citation", "image", "input", "x"])
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "QQ=="]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
EVENTS = st.tuples(
    st.sampled_from(["messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "hologram"]),
    st.fixed_dictionaries(
        {},
        optional={
            "contentBlockIndex": st.integers(0, 1),
            "start": st.dictionaries(NAMES, ODD, max_size=2),
            "delta": st.dictionaries(NAMES, ODD, max_size=2),
            "stopReason": ODD,
            "role": ODD,
        },
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENTS, max_size=6))
def test_events_of_any_form_are_an_answer_or_a_typed_error(sent: list[tuple[str, dict[str, Any]]]) -> None:
    with suppress(ProviderError):
        output(START, *(frame(kind, **fields) for kind, fields in sent), STOP + METADATA)


@pytest.mark.parametrize(
    ("word", "message", "kind"),
    [
        ("validationException", "Input is too long for requested model.", ContextOverflow),
        (
            "validationException",
            "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum",
            ContextOverflow,
        ),
        ("modelStreamErrorException", "prompt is too long: 903884 tokens > 200000 maximum", ContextOverflow),
        ("throttlingException", "Too many requests, please wait before trying again.", RateLimited),
        ("throttlingException", "Too many tokens, please wait before trying again.", RateLimited),
        ("serviceUnavailableException", "Bedrock is unable to process your request.", Unavailable),
        ("internalServerException", "The system encountered an unexpected error.", Unavailable),
        ("modelStreamErrorException", "The model broke.", ProviderError),
        ("holographicException", "The model broke.", ProviderError),
    ],
)
def test_an_error_in_mid_stream_is_typed_and_comes_after_what_was_before_it(
    word: str, message: str, kind: type[ProviderError]
) -> None:
    stream = ConverseStream()
    fed = stream.feed(START + TEXT + failure(word, message))
    assert [next(fed), next(fed)] == [TextDelta("I "), TextDelta("look: \u76d0.")]
    with pytest.raises(kind) as caught:
        next(fed)
    assert not isinstance(caught.value, MalformedReply)
    assert caught.value.code == word
    assert stream.arrived == "I look: \u76d0."


def test_the_models_own_words_in_a_failure_are_judged_too() -> None:
    own = {"originalStatusCode": 400, "originalMessage": "Input is too long for requested model."}
    with pytest.raises(ContextOverflow):
        events([START, failure("modelStreamErrorException", "The model returned an error.", **own)])


def test_an_answer_that_is_no_stream_is_read_as_a_whole() -> None:
    whole = b'{"output": {"message": {"role": "assistant", "content": [{"text": "x"}]}}, "stopReason": "end_turn"}'
    assert output(whole[:9], whole[9:]) == decode(200, whole)


@pytest.mark.parametrize(
    "data",
    [
        START[:-1] + b"?",
        frame("contentBlockDelta", contentBlockIndex=0),
        frame("contentBlockDelta", contentBlockIndex="0", delta={"text": "x"}),
        frame("contentBlockStart", contentBlockIndex=0),
        encode_event({":event-type": "messageStart", ":message-type": "event"}, b"{]"),
        encode_event({":event-type": "messageStart", ":message-type": "event"}, b"1"),
    ],
)
def test_a_stream_of_something_else_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedReply):
        events([data])


@given(st.binary(max_size=80))
def test_garbage_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(CopyfitError):
        events([data])
