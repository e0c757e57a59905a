"""Lines of JSON out of bytes that arrive in any pieces.

The framing of `application/x-ndjson`, as Ollama streams it: one JSON value a line. Only the lines are found here;
what stands in them is the protocol's to read. A last line without an end is given out by `close`, because the
framing does not ask for one there.
"""

from copyfit_adapters.errors import OversizedEvent

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Bytes; the same limit, for the same reason, as that of a server-sent event."""


class LineParser:
    """Turns the bytes of a stream into its lines that are not blank; feed it pieces cut anywhere, then close it.

    A line ends with LF or CRLF. Bytes are decoded a whole line at a time, so a character split between two pieces
    stays whole; bytes that are not UTF-8 become U+FFFD.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = max_line_bytes
        self._line = bytearray()

    def feed(self, data: bytes) -> list[str]:
        """Take the next bytes and return the lines that they complete, in order, without their ends.

        Raises:
            OversizedEvent: a line, its end not counted, is longer than the limit.

        """
        lines: list[str] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._grow(piece)
            lines += self._end_line()
        self._grow(rest)
        return lines

    def close(self) -> list[str]:
        """Return the last line if the stream ended without ending it; it may be incomplete."""
        return self._end_line()

    def _grow(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) - self._line.endswith(b"\r") > self._limit:
            raise OversizedEvent(self._limit)

    def _end_line(self) -> list[str]:
        raw = bytes(self._line.removesuffix(b"\r"))
        self._line.clear()
        return [raw.decode("utf-8", "replace")] if raw.strip() else []
