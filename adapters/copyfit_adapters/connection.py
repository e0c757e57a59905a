"""One model at one address: the address checked, requests sent, streams read to their end.

What every protocol's client needs and no protocol decides.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Protocol
from urllib.parse import urlsplit

from copyfit.errors import ProviderError, SettingsError, StreamBroken, Unavailable
from copyfit.shapes.model_output import Finished, StreamEvent
from copyfit_adapters.auth import Auth
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.http import AsyncHttpClient, HttpReply, HttpSender, Timeouts
from copyfit_adapters.overflow.refusal import Asked

DRAIN_SECONDS = 2.0
"""How long the end of a finished stream is waited for, so that its connection can be used again."""


class StreamDecoder(Protocol):
    """Reads one streamed answer of one protocol."""

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes and yield the events that they complete."""
        ...

    def close(self) -> Iterator[StreamEvent]:
        """Yield the last events when the stream has ended."""
        ...

    def broken(self) -> StreamBroken:
        """Return the error for a stream that ended here."""
        ...


class Connection:
    """Sends requests to `base_url`, each with what `auth` gives it; `asked` says who answers, for errors.

    `http`, `max_retries` and `timeouts` are those of `HttpSender`. Beside the errors that each method names, those
    of `auth` come through.

    Raises:
        SettingsError: `max_retries` is below 0.

    """

    def __init__(
        self,
        base_url: str,
        *,
        auth: Auth,
        asked: Asked,
        http: AsyncHttpClient | None,
        max_retries: int,
        timeouts: Timeouts | None,
    ) -> None:
        self._url = base_url.rstrip("/")
        self._auth = auth
        self._sender = HttpSender(asked, http=http, max_retries=max_retries, timeouts=timeouts)

    async def post(self, request: WireRequest, headers: Mapping[str, str]) -> HttpReply:
        """Send `request` with the protocol's `headers` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long.
            ProviderError: any other failure.

        """
        url = self._url + request.path
        whole = await self._headers(url, request.body, "application/json", headers)
        return await self._sender.post(url, whole, request.body)

    async def get(self, path: str, headers: Mapping[str, str]) -> HttpReply:
        """Get what is at `path` below the address, with the protocol's `headers`.

        Raises:
            ProviderError: the server refuses, or cannot be reached.

        """
        url = self._url + path
        whole = await self._headers(url, b"", "application/json", headers)
        return await self._sender.get(url, whole)

    async def events(
        self, request: WireRequest, headers: Mapping[str, str], decoder: StreamDecoder
    ) -> AsyncGenerator[StreamEvent, None]:
        """Send `request` and yield what `decoder` reads in the answer, `Finished` last.

        An ``accept`` in `headers` asks for another kind of stream than server-sent events. Leaving the iteration
        early closes the response.

        Raises:
            ContextOverflow: the input is too long; also in mid-stream.
            StreamBroken: the stream ended before the answer did.
            ProviderError: any other failure.

        """
        finished: Finished | None = None
        async with aclosing(self._pieces(request, headers, decoder)) as pieces:
            async for piece in pieces:
                for event in decoder.feed(piece):
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        yield event
                if finished is not None:
                    await _drain(pieces)
                    break
        if finished is not None:
            yield finished
            return
        for event in decoder.close():
            yield event

    async def aclose(self) -> None:
        """Close what was opened here; a client that was given stays open."""
        await self._sender.aclose()

    async def _pieces(
        self, request: WireRequest, headers: Mapping[str, str], decoder: StreamDecoder
    ) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the answer; a connection that breaks after the first of them is a broken stream."""
        began = False
        url = self._url + request.path
        whole = await self._headers(url, request.body, "text/event-stream", headers)
        async with aclosing(self._sender.stream(url, whole, request.body)) as answer:
            try:
                async for piece in answer:
                    began = True
                    yield piece
            except Unavailable as e:
                if began:
                    raise decoder.broken() from e
                raise

    async def _headers(self, url: str, body: bytes, accept: str, headers: Mapping[str, str]) -> dict[str, str]:
        kinds = {"content-type": "application/json", "accept": accept, **headers}
        return kinds | dict(await self._auth.headers(url, body))


def check_address(base_url: str, path: str) -> None:
    """Check that `base_url` is an http address to which `path` can be added.

    Raises:
        SettingsError: it is none; the error shows it unless it may hold a secret.

    """
    if not _is_address(base_url, path):
        shown = "[masked]" if "@" in base_url or "?" in base_url else base_url
        raise SettingsError("base_url", shown, f"an http or https address, without {path} and without a query")


def _is_address(base_url: str, path: str) -> bool:
    try:
        address = urlsplit(base_url)
        port = address.port
    except ValueError:
        # An IPv6 address without its end, or a port that is no number or too large.
        return False
    whole = address.scheme in ("http", "https") and bool(address.hostname) and port != 0
    return whole and not (address.query or address.fragment or address.path.rstrip("/").endswith(path))


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the end of the answer: nothing, but a server closes its side only after it."""
    import anyio

    with suppress(ProviderError), anyio.move_on_after(DRAIN_SECONDS):
        async for _ in pieces:
            pass
