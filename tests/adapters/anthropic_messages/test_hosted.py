"""A body for a cloud says the same as one for Anthropic, and a stream from one is unwrapped to the same answer."""

import json
from base64 import b64encode
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ContextOverflow, MalformedReply, ProviderError, RateLimited, StreamBroken, Unavailable
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.anthropic_messages.hosted import ChunkFraming, encode_for_bedrock, encode_for_vertex
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.errors import UnencodableInput

INPUT = ModelInput(
    "Be brief.",
    (UserMessage(content="hi"), UserMessage(content="there")),
    (ToolSpec(name="f"),),
    ModelSettings(max_output_tokens=5, tool_choice="auto", extra={PROTOCOL: {"thinking": {"type": "adaptive"}}}),
)
PLACE: Any = {"project": "p", "region": "global"}


def own(model_input: ModelInput, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, "m", **options).body)
    del body["model"]
    return body


def asking(*betas: Any) -> ModelInput:
    return ModelInput(
        "", (), settings=ModelSettings(max_output_tokens=5, extra={PROTOCOL: {"anthropic_beta": [*betas]}})
    )


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_for_bedrock_says_the_same_but_how_it_travels(stream: bool) -> None:
    request = encode_for_bedrock(INPUT, "eu.anthropic.claude-v1:0", stream=stream, cache="5m")
    verb = "invoke-with-response-stream" if stream else "invoke"
    assert request.path == f"/model/eu.anthropic.claude-v1%3A0/{verb}"
    assert json.loads(request.body) == own(INPUT, cache="5m") | {"anthropic_version": "bedrock-2023-05-31"}
    assert readback(request.body) == readback(encode(INPUT, "m", cache="5m").body)


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_for_vertex_says_the_same_but_how_it_travels(stream: bool) -> None:
    request = encode_for_vertex(INPUT, "claude@1", **PLACE, stream=stream, cache="5m")
    verb = "streamRawPredict" if stream else "rawPredict"
    assert request.path == f"/projects/p/locations/global/publishers/anthropic/models/claude@1:{verb}"
    assert json.loads(request.body) == own(INPUT, cache="5m", stream=stream) | {
        "anthropic_version": "vertex-2023-10-16"
    }
    assert readback(request.body) == readback(encode(INPUT, "m", cache="5m").body)


def test_fragments_are_the_same_in_all_forms() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    encode(INPUT, "m", known=known)
    assert encode_for_bedrock(INPUT, "m", known=known) == encode_for_bedrock(INPUT, "m")
    assert encode_for_vertex(INPUT, "m", **PLACE, known=known) == encode_for_vertex(INPUT, "m", **PLACE)


def test_betas_of_another_client_are_read_back_and_those_of_this_one_join_them() -> None:
    sent = encode_for_bedrock(asking("a", "b"), "m")
    assert json.loads(sent.body)["anthropic_beta"] == ["a", "b"]
    assert readback(sent.body) == asking("a", "b")
    joined = encode_for_bedrock(asking("a", "b"), "m", betas=("b", "c"))
    assert json.loads(joined.body)["anthropic_beta"] == ["a", "b", "c"]


def test_betas_that_cannot_be_joined_are_refused() -> None:
    odd = ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: {"anthropic_beta": "a"}}))
    with pytest.raises(UnencodableInput, match="anthropic_beta"):
        encode_for_bedrock(odd, "m", betas=("b",))


@pytest.mark.parametrize("form", [encode, encode_for_bedrock])
def test_the_version_is_no_setting(form: Any) -> None:
    dated = ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: {"anthropic_version": "1"}}))
    with pytest.raises(UnencodableInput, match="anthropic_version"):
        form(dated, "m")


def chunk(event: Any) -> bytes:
    return framed({"bytes": b64encode(json.dumps(event).encode()).decode(), "p": "abc"})


def framed(payload: Any, kind: str = "chunk") -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_event(headers, json.dumps(payload).encode())


def exception(name: str, message: str, **more: str) -> bytes:
    headers = {":exception-type": name, ":message-type": "exception"}
    return encode_event(headers, json.dumps({"message": message} | more).encode())


TEXT = [
    {"type": "message_start", "message": {"type": "message", "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "盐 "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "it is."}},
]
METRICS = {"inputTokenCount": 3, "outputTokenCount": 4}
END = [
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": METRICS},
]
BEGUN = b"".join(map(chunk, TEXT))
WHOLE = BEGUN + b"".join(map(chunk, END))


def events(pieces: Iterable[bytes]) -> list[StreamEvent]:
    stream = MessagesStream(framing=ChunkFraming())
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def test_chunks_are_the_events_of_the_protocol_and_what_bedrock_adds_is_kept() -> None:
    *deltas, last = events([WHOLE])
    assert deltas == [TextDelta("盐 "), TextDelta("it is.")]
    assert isinstance(last, Finished)
    assert last.output.message.content == "盐 it is."
    assert (last.output.usage.input_tokens, last.output.usage.output_tokens) == (3, 4)
    assert last.output.extra == {"amazon-bedrock-invocationMetrics": METRICS}


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_a_stream_cut_anywhere_into_pieces_decodes_the_same(cuts: list[int]) -> None:
    edges = sorted({0, len(WHOLE), *cuts})
    assert events(WHOLE[start:end] for start, end in pairwise(edges)) == events([WHOLE])


@given(st.integers(0, len(BEGUN)))
def test_a_stream_that_ends_anywhere_is_broken_and_keeps_what_arrived(end: int) -> None:
    with pytest.raises(StreamBroken) as caught:
        events([WHOLE[:end]])
    assert "盐 it is.".startswith(caught.value.arrived)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (exception("throttlingException", "Too many requests, please wait."), RateLimited),
        (exception("validationException", "Input is too long for requested model."), ContextOverflow),
        (
            exception("modelStreamErrorException", "Broken.", originalMessage="prompt is too long: 9 tokens > 8"),
            ContextOverflow,
        ),
        (
            chunk({"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}),
            ContextOverflow,
        ),
        (framed({"bytes": "e3!0="}), MalformedReply),
        (framed({"bytes": None}), MalformedReply),
        (framed({"p": "abc"}), MalformedReply),
        (framed([]), MalformedReply),
        (WHOLE[:40], StreamBroken),
        (b"\0" * 40, MalformedReply),
    ],
)
def test_what_goes_wrong_in_mid_stream_comes_typed_after_what_was_before_it(
    frame: bytes, kind: type[ProviderError]
) -> None:
    stream = MessagesStream(framing=ChunkFraming())
    seen = list(stream.feed(BEGUN))
    with pytest.raises(kind) as caught:
        seen += [*stream.feed(frame), *stream.close()]
    assert seen == [TextDelta("盐 "), TextDelta("it is.")]
    assert caught.type is kind


def test_an_exception_in_mid_stream_says_its_type_and_status() -> None:
    with pytest.raises(Unavailable) as caught:
        events([BEGUN, exception("modelTimeoutException", "The model took too long.")])
    assert (caught.value.code, caught.value.status) == ("modelTimeoutException", 408)


def test_an_event_that_is_no_chunk_is_kept() -> None:
    *_, last = events([BEGUN, framed({"x": 1}, "trace"), WHOLE[len(BEGUN) :]])
    assert isinstance(last, Finished)
    assert last.output.extra["events"] == [{"x": 1}]


def test_an_answer_that_is_no_stream_is_read_as_a_whole() -> None:
    whole = b'{"type": "message", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}'
    (last,) = events([whole[:1], whole[1:]])
    assert last == Finished(decode(200, whole))
