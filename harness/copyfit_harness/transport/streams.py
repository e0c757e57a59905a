"""Response streams: one that keeps what passes through it, and one that plays what was kept.

Each has a synchronous and an asynchronous side and gets its family's base classes from `family.stream_of`.
"""

import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from copyfit_harness.wire.exchange import Ending, EndingKind, Exchange, Headers, WireRequest, WireResponse


class Take:
    """One exchange in the making: what was sent, and what has come back so far.

    A take without a status was sent and never answered.
    """

    def __init__(self, request: WireRequest) -> None:
        self.request = request
        self._head: tuple[int, str, Headers] | None = None
        self._chunks: list[bytes] = []
        self._delays: list[float] = []
        self._ending: Ending | None = None
        self._last = time.monotonic()

    def answered(self, status: int, reason: str, headers: Headers) -> None:
        """Note that the head of the response has come."""
        self._head = status, reason, headers
        self._last = time.monotonic()

    def keep(self, chunk: bytes) -> None:
        """Add the next chunk and the seconds since the one before."""
        now = time.monotonic()
        self._chunks.append(chunk)
        self._delays.append(now - self._last)
        self._last = now

    def end(self, ending: Ending) -> None:
        """Note how the body ended; only the first ending counts."""
        self._ending = self._ending or ending

    def exchange(self, *, timed: bool = False) -> Exchange | None:
        """Return the exchange as far as it went, or None when no response came at all.

        A body that nobody has read to its end so far counts as stopped by the client.
        """
        if self._head is None:
            return None
        status, reason, headers = self._head
        # A stream may still be running in another thread: take as many delays as there are chunks.
        chunks = tuple(self._chunks)
        delays = tuple(round(delay, 3) for delay in self._delays[: len(chunks)]) if timed else None
        ending = self._ending or Ending(EndingKind.CLIENT_STOPPED)
        return Exchange(self.request, WireResponse(status, reason, headers, chunks, delays, ending))


class KeepingStream:
    """Hand on each chunk of a live response as it comes, and keep a copy in `take`."""

    def __init__(self, live: Any, take: Take) -> None:
        self._live = live
        self._take = take

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._live:
                self._take.keep(bytes(chunk))
                yield chunk
            self._take.end(Ending())
        finally:
            self._note_a_break()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._live)
        try:
            async for chunk in chunks:
                self._take.keep(bytes(chunk))
                yield chunk
            self._take.end(Ending())
        finally:
            self._note_a_break()
            if hasattr(chunks, "aclose"):
                await chunks.aclose()

    def close(self) -> None:
        """Close the live stream; a body that was not read to its end was stopped by the client."""
        self._take.end(Ending(EndingKind.CLIENT_STOPPED))
        self._live.close()

    async def aclose(self) -> None:
        """Close the live stream; a body that was not read to its end was stopped by the client."""
        self._take.end(Ending(EndingKind.CLIENT_STOPPED))
        await self._live.aclose()

    def _note_a_break(self) -> None:
        # What leaves a generator other than an exception of the stream is a client that stopped: the generator was
        # closed or the task cancelled, and neither is an `Exception`.
        error = sys.exception()
        if isinstance(error, Exception):
            self._take.end(Ending(EndingKind.BROKE_OFF, type(error).__name__, str(error)))


class PlayingStream:
    """Play a recorded body: the same chunks, and then the same ending.

    `after_the_end` makes the exception for a reader that comes to the end of a body that did not end by itself.
    """

    def __init__(self, response: WireResponse, after_the_end: Callable[[], Exception], *, timed: bool) -> None:
        self._response = response
        self._after_the_end = after_the_end
        self._delays = response.delays if timed else None

    def __iter__(self) -> Iterator[bytes]:
        for position, chunk in enumerate(self._response.chunks):
            if self._delays:
                time.sleep(self._delays[position])
            yield chunk
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for position, chunk in enumerate(self._response.chunks):
            if self._delays:
                # Both families run on anyio, so it is there, and it knows which event loop is running.
                import anyio

                await anyio.sleep(self._delays[position])
            yield chunk
        self._end()

    def close(self) -> None:
        """Do nothing: there is no connection behind a recording."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection behind a recording."""

    def _end(self) -> None:
        if self._response.ending.kind is not EndingKind.COMPLETE:
            raise self._after_the_end()
