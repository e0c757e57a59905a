"""A stream is followed to its end, whatever its protocol: what broke it is typed and holds what arrived."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, MalformedReply, ProviderError, StreamBroken, Unavailable
from copyfit.shapes.messages import AssistantMessage
from copyfit.shapes.model_output import Finished, FinishReason, ModelOutput, StreamEvent, TextDelta
from copyfit_adapters.answers.framing import SseFraming
from copyfit_adapters.answers.reply import Replies
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.overflow.refusal import Asked

REPLIES = Replies("a toy endpoint", lambda reply: bool(reply.get("error")))


class Toy(AnswerStream):
    """A protocol of texts: ``{"text": …}`` goes on, ``{"end": true}`` ends."""

    def __init__(self) -> None:
        super().__init__(Asked(provider="toy", model="m", secrets=("s3cret",)), REPLIES, SseFraming())
        self.said = ""
        self.ended = False

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        self.said += chunk.get("text", "")
        self.ended = self.ended or bool(chunk.get("last"))
        events: list[StreamEvent] = [TextDelta(chunk["text"])] if "text" in chunk else []
        return [*events, self._finish()] if chunk.get("end") else events

    def _complete(self) -> bool:
        return self.ended

    def _output(self) -> ModelOutput:
        return ModelOutput(message=AssistantMessage(content=self.said), finish_reason=FinishReason.STOP)

    def _whole(self, body: bytes) -> ModelOutput:
        return ModelOutput(
            message=AssistantMessage(content=json.loads(body)["text"]), finish_reason=FinishReason.STOP
        )


def frame(value: Any, event: str = "") -> bytes:
    return (f"event: {event}\n" if event else "").encode() + b"data: " + json.dumps(value).encode() + b"\n\n"


def read(*pieces: bytes) -> list[StreamEvent]:
    stream = Toy()
    fed = [event for piece in pieces for event in stream.feed(piece)]
    return [*fed, *stream.close()]


def text_of(events: list[StreamEvent]) -> str:
    (last,) = [event for event in events if isinstance(event, Finished)]
    return last.output.message.text


def test_what_follows_the_end_is_not_read() -> None:
    assert text_of(read(frame({"text": "a"}) + frame({"end": True}) + frame({"text": "b"}) + b"data: {")) == "a"


def test_a_stream_whose_answer_is_whole_may_just_end() -> None:
    assert text_of(read(frame({"text": "a", "last": True}))) == "a"


@pytest.mark.parametrize("rest", [b"", b'data: {"te', b": comment\n\n"], ids=["nothing", "half", "comment"])
def test_a_stream_that_stops_early_is_broken_and_holds_what_arrived(rest: bytes) -> None:
    with pytest.raises(StreamBroken) as caught:
        read(frame({"text": "a"}), frame({"text": "b"}) + rest)
    assert (caught.value.arrived, caught.value.provider, caught.value.retryable) == ("ab", "toy", True)


def test_an_answer_that_is_no_stream_is_read_whole() -> None:
    assert text_of(read(b'  {"te', b'xt": "whole"}\n')) == "whole"


def test_an_overflow_in_mid_stream_comes_after_what_came_before_it() -> None:
    events = Toy().feed(frame({"text": "a"}) + frame({"error": {"message": "prompt is too long"}}))
    assert next(events) == TextDelta("a")
    with pytest.raises(ContextOverflow):
        next(events)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (frame({"error": {"message": "The server had an error", "type": "server_error"}}), Unavailable),
        (frame({"message": "overloaded_error"}, "error"), ProviderError),
        (frame([1]), ProviderError),
        (frame(7), MalformedReply),
        (b"data: {no json}\n\n", MalformedReply),
        (frame({"error": {}}, "error"), MalformedReply),
    ],
    ids=["error", "event", "list", "number", "no json", "says nothing"],
)
def test_what_is_no_piece_of_an_answer_is_a_typed_error(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(data)


def test_an_event_without_end_is_malformed_and_secrets_are_masked() -> None:
    with pytest.raises(MalformedReply, match="without end"):
        read(b"data: " + b"x" * (17 * 1024 * 1024))
    with pytest.raises(ProviderError, match="masked") as caught:
        read(frame({"error": {"message": "the key s3cret is no good"}}))
    assert "s3cret" not in str(caught.value)
