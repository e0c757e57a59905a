"""The framings in which a streamed answer comes, each as a source of frames."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from copyfit_adapters.aws_event_stream import AwsEvent, EventStreamParser
from copyfit_adapters.codec.writing import given
from copyfit_adapters.json_lines import LineParser
from copyfit_adapters.sse import SseParser

_SSE_BEGINS = (b"data", b"event", b"id", b"retry", b":", b"\xef\xbb\xbf")
_STATUSES: Mapping[str, int] = MappingProxyType(
    {
        "validationException": 400,
        "modelTimeoutException": 408,
        "modelStreamErrorException": 424,
        "throttlingException": 429,
        "internalServerException": 500,
        "serviceUnavailableException": 503,
    }
)
"""The HTTP status that each exception in a stream of Bedrock stands for, from botocore 1.44's model of it."""
_UNNAMED = 500
"""The status of an error that the service's model does not name: the service itself failed."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One piece of a stream: the text of its `data`, the `kind` that its frame names, whether it `is_error`."""

    data: str
    kind: str = ""
    is_error: bool = False


class Framing(Protocol):
    """Cuts bytes that arrive in any pieces into frames."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames that they complete.

        Raises:
            OversizedEvent: a frame has no end.
            BrokenFrame: the bytes are no frames of this framing.

        """
        ...

    def close(self) -> list[Frame]:
        """Return the frame that the end of the stream cut off, if there is one; it may be incomplete."""
        ...

    def begins(self, head: bytes) -> bool:
        """Whether `head`, which may be less than a word, can be the beginning of such a stream."""
        ...


class SseFraming:
    """Server-sent events."""

    def __init__(self) -> None:
        self._parser = SseParser()

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the events that they complete."""
        return [Frame(event.data, event.type, event.type == "error") for event in self._parser.feed(data)]

    def close(self) -> list[Frame]:
        """Return the event that the end of the stream cut off, if there is one."""
        return [Frame(event.data, event.type, event.type == "error") for event in self._parser.close()]

    def begins(self, head: bytes) -> bool:
        """Whether `head` can be the beginning of an event stream."""
        return any(head.startswith(word) or word.startswith(head) for word in _SSE_BEGINS)


class LineFraming:
    """One JSON value a line."""

    def __init__(self) -> None:
        self._parser = LineParser()

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the lines that they complete."""
        return [Frame(line) for line in self._parser.feed(data)]

    def close(self) -> list[Frame]:
        """Return the last line if the stream ended without ending it."""
        return [Frame(line) for line in self._parser.close()]

    def begins(self, head: bytes) -> bool:
        """Whether `head` can be the beginning of lines; a whole answer is one line of them."""
        return True


class AwsFraming:
    """The binary event stream of AWS, as Bedrock sends it.

    An exception in it is a frame that is an error. Its data is a JSON object with the exception's type as the
    `code`, the HTTP `status` that it stands for, what it says, and the model's own words as `details`.
    """

    def __init__(self) -> None:
        self._parser = EventStreamParser()
        self._foreign: bool | None = None

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the events that they complete, none if they begin as no stream."""
        if data and self._foreign is None:
            self._foreign = not self.begins(data)
        return [] if self._foreign else [_aws_frame(event) for event in self._parser.feed(data)]

    def close(self) -> list[Frame]:
        """Return nothing: what is cut off of a frame cannot be checked."""
        return []

    def begins(self, head: bytes) -> bool:
        """Whether `head` can be the beginning of a stream, whose first byte is of a length below 32 MiB."""
        return head[0] < 2


def _aws_frame(event: AwsEvent) -> Frame:
    data = event.payload.decode("utf-8", "replace")
    if event.message_type == "event":
        return Frame(data, event.event_type)
    word = event.exception_type or event.error_code
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = {"message": event.error_message or data}
    fields = said if isinstance(said, dict) else {"message": data}
    status = _STATUSES.get(word, _UNNAMED if event.message_type == "error" else None)
    facts = given(code=word or None, status=status, details=fields.get("originalMessage"))
    return Frame(json.dumps(facts | fields), word, is_error=True)
