"""Keeping what passes, and playing what was kept."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from copyfit_harness.transport.streams import KeepingStream, PlayingStream, Take
from copyfit_harness.wire.exchange import Ending, EndingKind, WireRequest, WireResponse

REQUEST = WireRequest("GET", "http://h/")


class Live:
    """A live stream of two chunks that may break after them, and that knows whether it was closed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        yield b"a"
        yield b"b"
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self) -> None:
        self.closed += 1

    async def aclose(self) -> None:
        self.closed += 1


def take() -> Take:
    """Return a take whose response has begun."""
    started = Take(REQUEST)
    started.answered(200, "OK", ())
    return started


def result(kept: Take, **options: Any) -> WireResponse:
    exchange = kept.exchange(**options)
    assert exchange is not None
    return exchange.response


def test_a_request_without_an_answer_makes_no_exchange() -> None:
    assert Take(REQUEST).exchange() is None


def test_a_body_that_nobody_has_finished_reading_counts_as_stopped() -> None:
    kept = take()
    stream = iter(KeepingStream(Live(), kept))
    assert next(stream) == b"a"
    assert result(kept).chunks == (b"a",)
    assert result(kept).ending.kind is EndingKind.CLIENT_STOPPED
    assert list(stream) == [b"b"]
    assert result(kept).ending.kind is EndingKind.COMPLETE


def test_closing_after_the_end_leaves_the_body_complete_and_closes_the_live_stream() -> None:
    kept, live = take(), Live()
    stream = KeepingStream(live, kept)
    assert list(stream) == [b"a", b"b"]
    stream.close()
    assert result(kept).ending.kind is EndingKind.COMPLETE
    assert live.closed == 1


@pytest.mark.anyio
async def test_the_async_side_does_the_same() -> None:
    kept, live = take(), Live()
    stream = KeepingStream(live, kept)
    assert [chunk async for chunk in stream] == [b"a", b"b"]
    await stream.aclose()
    assert result(kept).ending.kind is EndingKind.COMPLETE
    assert live.closed == 1


@pytest.mark.parametrize("error", [ValueError("odd"), ConnectionResetError("reset")])
def test_any_exception_of_the_live_stream_is_a_break(error: Exception) -> None:
    kept = take()
    with pytest.raises(type(error)):
        list(KeepingStream(Live(error), kept))
    assert result(kept).chunks == (b"a", b"b")
    assert result(kept).ending == Ending(EndingKind.BROKE_OFF, type(error).__name__, str(error))


@pytest.mark.anyio
async def test_an_exception_of_the_live_async_stream_is_a_break() -> None:
    kept = take()
    with pytest.raises(ValueError, match="odd"):
        _ = [chunk async for chunk in KeepingStream(Live(ValueError("odd")), kept)]
    assert result(kept).ending == Ending(EndingKind.BROKE_OFF, "ValueError", "odd")


def test_an_interruption_is_not_the_servers_break() -> None:
    kept = take()
    with pytest.raises(KeyboardInterrupt):
        list(KeepingStream(Live(KeyboardInterrupt()), kept))
    assert result(kept).ending.kind is EndingKind.CLIENT_STOPPED


def test_delays_are_given_only_when_asked_for_and_one_for_each_chunk() -> None:
    kept = take()
    list(KeepingStream(Live(), kept))
    assert result(kept).delays is None
    delays = result(kept, timed=True).delays
    assert delays is not None
    assert len(delays) == 2


@pytest.mark.anyio
async def test_what_was_recorded_plays_from_the_start_on_both_sides_with_its_ending() -> None:
    stopped = WireResponse(200, chunks=(b"a", b"b"), ending=Ending(EndingKind.CLIENT_STOPPED))
    stream = PlayingStream(stopped, lambda: LookupError("over"), timed=False)
    chunks = iter(stream)
    assert [next(chunks), next(chunks)] == [b"a", b"b"]
    with pytest.raises(LookupError, match="over"):
        next(chunks)
    complete = WireResponse(200, chunks=(b"a", b"b"))
    assert [chunk async for chunk in PlayingStream(complete, LookupError, timed=False)] == [b"a", b"b"]
