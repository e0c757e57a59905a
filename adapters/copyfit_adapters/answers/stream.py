"""Follow a streamed answer to its end, whatever its protocol: bytes in, events out."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit.errors import MalformedReply, ProviderError, StreamBroken
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent, TextDelta
from copyfit_adapters.answers.framing import Frame, Framing
from copyfit_adapters.answers.reply import Replies
from copyfit_adapters.errors import BrokenFrame, OversizedEvent
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked, refusal
from copyfit_adapters.sse import MAX_EVENT_BYTES


class AnswerStream(ABC):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    A protocol says how its chunks add up (`_add`), when the answer is complete (`_complete`, `_output`), and how
    an answer that came whole after all is read (`_whole`).
    """

    def __init__(self, asked: Asked, replies: Replies, framing: Framing) -> None:
        self._asked = asked
        self._replies = replies
        self._framing = framing
        # What comes before the first frame, for an answer that is no stream is read whole.
        self._head = bytearray()
        self._began = False
        self._finished = False
        self._arrived: list[str] = []

    @property
    def arrived(self) -> str:
        """The answer's text that has come so far."""
        return "".join(self._arrived)

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes and yield the events that they complete, in order.

        Iterate it to the end: what came before an error is given out before the error is raised.

        Raises:
            ContextOverflow: the server says in mid-stream that the context is full.
            ProviderError: it says another error, or what it sends is no answer of the protocol.

        """
        if not self._began and len(self._head) < MAX_EVENT_BYTES:
            self._head += data
        try:
            arrived = self._framing.feed(data)
        except OversizedEvent as e:
            raise self._malformed("sends an event without end") from e
        except BrokenFrame as e:
            raise self._malformed("sends bytes that are no frames of it") from e
        for frame in arrived:
            yield from self._take(frame)

    def close(self) -> Iterator[StreamEvent]:
        """Yield the last events when the stream has ended, `Finished` among them if it was not given out before.

        Raises:
            StreamBroken: the stream ended before the answer did.
            ContextOverflow: what came was an error instead of a stream, and says that the input is too long.
            ProviderError: as `feed`.

        """
        for frame in self._framing.close():
            try:
                yield from self._take(frame)
            except MalformedReply as e:
                raise self.broken() from e
        if self._finished:
            return
        whole = bytes(self._head).strip()
        if whole and not self._framing.begins(whole):
            self._finished = True
            yield Finished(self._whole(whole))
        elif self._complete():
            yield self._finish()
        else:
            raise self.broken()

    def broken(self) -> StreamBroken:
        """Return the error for a stream that ended here; it holds the text that arrived."""
        return StreamBroken(
            f"The stream of {self._asked.provider} broke off in the answer, after {len(self.arrived)} characters; "
            "send the request again.",
            arrived=self.arrived,
            provider=self._asked.provider,
            model=self._asked.model,
            retryable=True,
        )

    @abstractmethod
    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        """Add one chunk of the answer and return its events; `kind` is the word of the frame around it."""

    @abstractmethod
    def _complete(self) -> bool:
        """Whether what came is a whole answer if no more comes."""

    @abstractmethod
    def _output(self) -> ModelOutput:
        """Return the answer that the chunks add up to."""

    @abstractmethod
    def _whole(self, body: bytes) -> ModelOutput:
        """Return the answer in a `body` that is no stream."""

    def _is_error(self, chunk: Mapping[str, Any]) -> bool:
        """Whether a chunk is an error instead of a piece of the answer."""
        return self._replies.is_error(chunk)

    def _end_marked(self) -> list[StreamEvent]:
        """Return the events of a ``[DONE]``, with which several protocols end their streams."""
        return []

    def _take(self, frame: Frame) -> list[StreamEvent]:
        self._began = True
        self._head.clear()
        if self._finished or not frame.data.strip():
            return []
        if frame.data.strip() == "[DONE]":
            return self._end_marked()
        try:
            chunk = json.loads(frame.data)
        except (ValueError, RecursionError) as e:
            refused = self._refused(frame, certain=frame.is_error)
            raise refused or self._malformed("sends an event that is not JSON") from e
        if frame.is_error or isinstance(chunk, list) or (isinstance(chunk, dict) and self._is_error(chunk)):
            raise self._refused(frame, certain=True) or self._malformed("sends an error that says nothing")
        if not isinstance(chunk, dict):
            raise self._malformed("sends an event that is no object")
        events = self._add(frame.kind, chunk)
        self._arrived += [event.text for event in events if isinstance(event, TextDelta)]
        return events

    def _finish(self) -> Finished:
        self._finished = True
        return Finished(self._output())

    def _malformed(self, reason: str) -> MalformedReply:
        return self._replies.malformed(reason, self._asked, what="stream")

    def _object(self, chunk: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return the object under `name`, without which the event is none."""
        value = chunk.get(name)
        if not isinstance(value, dict):
            raise self._malformed(f"sends an event without its {name}")
        return value

    def _refused(self, frame: Frame, *, certain: bool) -> ProviderError | None:
        """Return the error that `frame` stands for; unless it is `certain` to be one, it has to be an overflow."""
        evidence = lift(None, frame.data, in_stream=True)
        verdict = judge(evidence)
        if not evidence.message or not (certain or verdict.is_context_overflow):
            return None
        return refusal(evidence, self._asked, verdict=verdict)
