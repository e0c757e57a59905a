"""Server-sent events out of bytes that arrive in any pieces.

Follows the event stream grammar of the WHATWG HTML standard (section 9.2), with one tolerance: an event that the
server did not close with a blank line before the stream ended is given out by `close`, because several model
servers end that way.
"""

import re
from dataclasses import dataclass

from copyfit_adapters.errors import OversizedEvent

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes; far above any answer of a model (a whole answer of 128k tokens is about half a megabyte)."""

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its `data` lines joined by newlines, its `type`, and the last `id` that the stream named."""

    data: str
    type: str = "message"
    id: str = ""


class SseParser:
    """Turns the bytes of an event stream into events; feed it pieces cut anywhere, then close it.

    Bytes are decoded a whole line at a time, so a character split between two pieces stays whole; bytes that are
    not UTF-8 become U+FFFD, as the standard says.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._line = bytearray()
        self._after_cr = False
        self._first_line = True
        self._data: list[str] = []
        self._data_bytes = 0
        self._type = ""
        self._id = ""

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that they complete, in order.

        Raises:
            OversizedEvent: a line, or the data of one event, is longer than the limit.

        """
        events: list[SseEvent] = []
        if not data:
            return events
        start = 1 if self._after_cr and data.startswith(b"\n") else 0
        for end in _LINE_END.finditer(data, start):
            self._grow(data[start : end.start()])
            start = end.end()
            self._end_line(events)
        self._grow(data[start:])
        self._after_cr = data.endswith(b"\r")
        return events

    def close(self) -> list[SseEvent]:
        """Return the event that the end of the stream cut off, if there is one; it may be incomplete."""
        events: list[SseEvent] = []
        if self._line:
            self._end_line(events)
        self._dispatch(events)
        return events

    def _grow(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) + self._data_bytes > self._limit:
            raise OversizedEvent(self._limit)

    def _end_line(self, events: list[SseEvent]) -> None:
        raw = bytes(self._line)
        self._line.clear()
        if self._first_line:
            self._first_line = False
            raw = raw.removeprefix(_BOM)
        if not raw:
            self._dispatch(events)
            return
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._data_bytes += len(raw)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent("\n".join(self._data), self._type or "message", self._id))
        self._data = []
        self._data_bytes = 0
        self._type = ""
