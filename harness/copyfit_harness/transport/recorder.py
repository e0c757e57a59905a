"""Record what a client and a provider said to each other, and play it back to the byte and the chunk.

with Recorder(Path("cassettes/turn.yaml"), mode=RecordMode.ONCE) as recorder:
    client = httpx.Client(transport=recorder.transport())
"""

import warnings
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from enum import StrEnum
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from copyfit_harness.cassettes.format import Cassette
from copyfit_harness.cassettes.lock import WriterLock
from copyfit_harness.cassettes.matching import Loosening, RequestIndex
from copyfit_harness.cassettes.mismatch import mismatch
from copyfit_harness.cassettes.store import load_cassette, save_cassette
from copyfit_harness.errors import (
    CassetteEmpty,
    CassetteError,
    CassetteMissing,
    CassetteUnplayed,
    HarnessError,
    RecorderClosed,
    RecordingStopsHere,
)
from copyfit_harness.transport.family import break_of, family_of, stream_of, wire_request
from copyfit_harness.transport.inner import InnerTransport
from copyfit_harness.transport.streams import KeepingStream, PlayingStream, Take
from copyfit_harness.wire.exchange import EndingKind, Exchange, WireRequest, WireResponse
from copyfit_harness.wire.redact import refuse_secrets, storable_exchange
from copyfit_harness.wire.secrets import DEFAULT_REDACTION, Redaction

_INTERRUPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit, CancelledError)


class RecordMode(StrEnum):
    """When a recorder sends a request on, and when it answers from its cassette."""

    NONE = "none"
    """Answer from the cassette; anything else is a mismatch."""
    ONCE = "once"
    """Record if there is no cassette yet, else as NONE."""
    NEW = "new"
    """Answer what the cassette knows, and record the rest behind it."""
    ALL = "all"
    """Record everything and replace the cassette."""


class Recorder:
    """One cassette in use, for any number of clients, threads and tasks.

    `description` says what server answers, for the readers of the cassette. `loosenings` are the accepted ways in
    which a request may differ from its recording. `timed` keeps the seconds before each chunk while recording, and
    waits them out while playing.

    Close it, or leave its ``with`` block, to save and to check: see `close`. All state is in this object, so two
    recorders never mix.

    Raises:
        CassetteMissing: mode NONE, and there is no cassette at `path`.
        CassetteUnreadable: there is one that cannot be read, and the mode would play it.
        CassetteBusy: the mode records, and another recorder is writing the same cassette.
        CassetteUnwritable: the mode records, and the folder cannot be written.

    """

    def __init__(
        self,
        path: Path,
        *,
        mode: RecordMode = RecordMode.NONE,
        description: str = "",
        loosenings: Sequence[Loosening] = (),
        redaction: Redaction = DEFAULT_REDACTION,
        timed: bool = False,
    ) -> None:
        self.path = Path(path)
        self.timed = timed
        self._description = description
        self._redaction = redaction
        self._loosenings = tuple(loosenings)
        self._guard = Lock()
        self._passed: list[Take | Exchange] = []
        self._failure: CassetteError | None = None
        self._closed = True
        self._writer: WriterLock | None = None
        self._replaces = False
        with ExitStack() as undo:
            undo.callback(self._release)
            self._cassette = self._open(RecordMode(mode))
            recorded = [exchange.request for exchange in self._cassette.exchanges]
            self._index = RequestIndex(recorded, redaction=redaction, loosenings=loosenings)
            undo.pop_all()
        self._closed = False

    @property
    def records(self) -> bool:
        """Whether a request that the cassette does not answer is sent on and recorded."""
        return self._writer is not None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Every answered exchange of this run so far, in the order of sending, played or recorded.

        The requests are as they were sent, secrets included: they are for comparing, not for writing down.
        """
        return tuple(exchange for exchange in self._all_passed() if exchange is not None)

    def transport(self, inner: Any = None) -> Any:
        """Return a `RecorderTransport` for one client, httpx's or httpx2's, sync or async.

        `inner` sends what has to be recorded: any transport of the client's family. Without one, the family's own
        default is opened when the first request needs it; it knows nothing of the environment's proxies, so give
        an `inner` with its proxy to record through one. The result is declared as Any because it fits four
        parameters whose types have no base in common.
        """
        return RecorderTransport(self, inner)

    def answer(self, sent: WireRequest) -> WireResponse | Take:
        """Return the recorded response to `sent`, or the take into which its live response is to be recorded.

        Raises:
            CassetteMismatch: no recorded exchange is left for it, and this recorder only plays.
            RecorderClosed: the recorder was closed before.

        """
        if self._closed:
            raise RecorderClosed(self.path, sent.summary())
        position = self._index.take(sent)
        if position is not None:
            response = self._cassette.exchanges[position].response
            self._note(Exchange(sent, response))
            return response
        if self.records:
            take = Take(sent)
            self._note(take)
            return take
        error = mismatch(
            self.path,
            self._index.compared(sent),
            [self._index.compared(exchange.request) for exchange in self._cassette.exchanges],
            same=self._index.recorded(sent),
            unplayed=self._index.unplayed(),
            loosenings=self._loosenings,
        )
        raise self.remembered(error)

    def remembered(self, error: CassetteError) -> CassetteError:
        """Return `error` after noting it, so that `close` raises it even if the client swallows it now."""
        with self._guard:
            self._failure = self._failure or error
        return error

    def close(self) -> None:
        """Save what was recorded, then check the run; a second call does nothing.

        A run that failed is saved too, because its calls were paid for; it is not checked for what it left out.
        Only an interrupted run never replaces a cassette (mode ALL): it would take the place of a whole one.

        Raises:
            SecretFound: something like a key was left in what was recorded; nothing is written.
            BodyUnreadable: a compressed body cannot be decoded and searched; nothing is written.
            CassetteUnwritable: the disk refuses; the cassette is as it was.
            CassetteMismatch: the first one of this run, in case the client swallowed it.
            RecordingStopsHere: likewise.
            CassetteUnplayed: recorded exchanges were never asked for.
            CassetteEmpty: this was a recording, and nothing was answered.

        """
        self._finish(None)

    def __del__(self) -> None:
        if getattr(self, "_closed", True):
            return
        lost = "nothing was saved" if self.records else "what was left unplayed was not told"
        told = f"The recorder of {self.path} was never closed: {lost}."
        self._release()
        warnings.warn(told, ResourceWarning, stacklevel=2, source=self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish(error)

    def _open(self, mode: RecordMode) -> Cassette:
        if mode is RecordMode.NONE:
            return load_cassette(self.path)
        if mode is RecordMode.ONCE:
            with suppress(CassetteMissing):
                return load_cassette(self.path)
        self._writer = WriterLock(self.path)
        if mode is RecordMode.ALL:
            self._replaces = self.path.exists()
            return Cassette(())
        try:
            # Under the lock, because another recorder may have finished the file a moment ago.
            cassette = load_cassette(self.path)
        except CassetteMissing:
            return Cassette(())
        if mode is RecordMode.ONCE:
            self._release()
        return cassette

    def _release(self) -> None:
        if self._writer is not None:
            self._writer.release()
            self._writer = None

    def _note(self, passed: Take | Exchange) -> None:
        with self._guard:
            self._passed.append(passed)

    def _all_passed(self) -> Iterator[Exchange | None]:
        with self._guard:
            passed = tuple(self._passed)
        for each in passed:
            yield each.exchange(timed=self.timed) if isinstance(each, Take) else each

    def _recorded(self) -> list[Exchange | None]:
        takes = [take for take in self._passed if isinstance(take, Take)]
        return [take.exchange(timed=self.timed) for take in takes]

    def _finish(self, leaving: BaseException | None) -> None:
        """Save and check; `leaving` is the exception on its way out of the block.

        Only a failure to answer a request, which explains it, takes its place; what merely follows does not.
        """
        with self._guard:
            if self._closed:
                return
            self._closed = True
        recorded = self._recorded()
        answered = [exchange for exchange in recorded if exchange is not None]
        recording = self.records
        try:
            if self._replaces and isinstance(leaving, _INTERRUPTIONS):
                leaving.add_note(
                    f"{self.path} was left as it was, because the run that records it was interrupted."
                )
            elif answered:
                self._save(answered)
        except HarnessError as error:
            if leaving is None:
                raise
            leaving.add_note(str(error))
        finally:
            self._release()
        self._raise_failure(leaving)
        if leaving is not None:
            return
        unplayed = self._index.unplayed()
        if unplayed:
            requests = [self._cassette.exchanges[position].request for position in unplayed]
            raise CassetteUnplayed(self.path, unplayed, [request.summary() for request in requests])
        if recording and not self._cassette.exchanges and not answered:
            raise CassetteEmpty(self.path, len(recorded))

    def _save(self, recorded: Sequence[Exchange]) -> None:
        description = self._description or self._cassette.description
        refuse_secrets(description, self._redaction, "the description")
        exchanges = [
            storable_exchange(exchange, self._redaction, f"exchange {position}")
            for position, exchange in enumerate([*self._cassette.exchanges, *recorded], 1)
        ]
        save_cassette(self.path, Cassette(tuple(exchanges), description))

    def _raise_failure(self, leaving: BaseException | None) -> None:
        failure = self._failure
        if failure is None or failure is leaving:
            return
        if leaving is None:
            raise failure
        # A client wraps the failure in an error of its own ("Connection error."): the report is what helps.
        if not isinstance(leaving, _INTERRUPTIONS):
            raise failure from (None if _follows_from(leaving, failure) else leaving)


class RecorderTransport:
    """A transport of httpx or httpx2, sync or async, that answers through a `Recorder`.

    It has no base class, and builds each answer from the classes of the library that the request came from.
    """

    def __init__(self, recorder: Recorder, inner: Any = None) -> None:
        self._recorder = recorder
        self._inner = InnerTransport(inner)

    def handle_request(self, request: Any) -> Any:
        """Return the recorded response to a sync client's `request`, or the live one while it is recorded.

        Raises:
            CassetteMismatch: no recorded exchange is left for it, and the recorder only plays.

        """
        family = family_of(request)
        sent = wire_request(request, request.read())
        answer = self._recorder.answer(sent)
        if isinstance(answer, WireResponse):
            return self._played(family, sent, answer)
        live = self._inner.for_sync(family).handle_request(request)
        return _kept(family, live, answer)

    async def handle_async_request(self, request: Any) -> Any:
        """Return the recorded response to an async client's `request`, or the live one while it is recorded.

        Raises:
            CassetteMismatch: no recorded exchange is left for it, and the recorder only plays.

        """
        family = family_of(request)
        sent = wire_request(request, await request.aread())
        answer = self._recorder.answer(sent)
        if isinstance(answer, WireResponse):
            return self._played(family, sent, answer)
        live = await self._inner.for_async(family).handle_async_request(request)
        return _kept(family, live, answer)

    def close(self) -> None:
        """Close the inner transports of sync clients; one that is needed again is opened again."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close the inner transports of async clients; one that is needed again is opened again."""
        await self._inner.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *leaving: object) -> None:
        await self.aclose()

    def _played(self, family: Any, sent: WireRequest, recorded: WireResponse) -> Any:
        def after_the_end() -> Exception:
            if recorded.ending.kind is EndingKind.BROKE_OFF:
                return break_of(family, recorded.ending)
            recorder = self._recorder
            return recorder.remembered(RecordingStopsHere(recorder.path, sent.summary(), len(recorded.chunks)))

        stream = stream_of(family, PlayingStream)(recorded, after_the_end, timed=self._recorder.timed)
        extensions = {"http_version": b"HTTP/1.1"}
        if recorded.reason:
            extensions["reason_phrase"] = recorded.reason.encode("latin-1", "replace")
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers]
        return family.Response(recorded.status, headers=headers, stream=stream, extensions=extensions)


def _kept(family: Any, live: Any, take: Take) -> Any:
    """Return a response that is `live` in all but its stream, which keeps what it hands on in `take`."""
    reason = live.extensions.get("reason_phrase", b"").decode("latin-1")
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in live.headers.raw)
    take.answered(live.status_code, reason, headers)
    stream = stream_of(family, KeepingStream)(live.stream, take)
    return family.Response(live.status_code, headers=live.headers, stream=stream, extensions=live.extensions)


def _follows_from(error: BaseException, origin: BaseException) -> bool:
    seen: set[int] = set()
    following: list[BaseException | None] = [error]
    while following:
        each = following.pop()
        if each is origin:
            return True
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            following += [each.__cause__, each.__context__]
    return False
