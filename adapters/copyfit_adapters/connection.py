"""One model at one address: the address and the key checked, requests sent, streams read to their end.

What every protocol's client needs and no protocol decides.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from copyfit.errors import AuthFailed, ProviderError, SettingsError, StreamBroken, Unavailable
from copyfit.shapes.model_output import Finished, StreamEvent
from copyfit_adapters.codec import WireRequest
from copyfit_adapters.http import AsyncHttpClient, HttpReply, HttpSender, Timeouts
from copyfit_adapters.overflow.refusal import Asked

_DRAIN_SECONDS = 2.0
"""How long the end of a finished stream is waited for, so that its connection can be used again."""


@dataclass(frozen=True, slots=True)
class Home:
    """The company whose protocol it is: its name, its own address, and the variable that holds a key for it."""

    name: str
    url: str
    key_variable: str


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
    """Sends the requests of one protocol for one model to `base_url`.

    Without `api_key`, the key for the home's own address comes from the home's variable; it is never sent to
    another address, which needs a key of its own, or ``""`` when the server takes none. `path` is what requests
    add to the address.

    Raises:
        AuthFailed: there is no key, or one that no header can carry.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self,
        model: str,
        home: Home,
        *,
        path: str,
        base_url: str,
        api_key: str | SecretStr | None,
        http: AsyncHttpClient | None,
        max_retries: int,
        timeouts: Timeouts | None,
        provider: str,
    ) -> None:
        if not _is_address(base_url, path):
            shown = "[masked]" if "@" in base_url or "?" in base_url else base_url
            raise SettingsError("base_url", shown, f"an http or https address, without {path} and without a query")
        self.host = urlsplit(base_url).hostname
        self.at_home = self.host == urlsplit(home.url).hostname
        self.key = _key(api_key, home, at_home=self.at_home, provider=provider, model=model)
        self.model = model
        self.asked = Asked(provider=provider, model=model, secrets=(self.key.get_secret_value(),))
        self._url = base_url.rstrip("/")
        self._sender = HttpSender(self.asked, http=http, max_retries=max_retries, timeouts=timeouts)

    async def post(self, request: WireRequest, headers: Mapping[str, str]) -> HttpReply:
        """Send `request` with the protocol's `headers` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long.
            ProviderError: any other failure.

        """
        return await self._sender.post(
            self._url + request.path, _accepting("application/json", headers), request.body
        )

    async def events(
        self, request: WireRequest, headers: Mapping[str, str], decoder: StreamDecoder
    ) -> AsyncGenerator[StreamEvent, None]:
        """Send `request` and yield what `decoder` reads in the answer, `Finished` last.

        Leaving the iteration early closes the response.

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
        accepting = _accepting("text/event-stream", headers)
        async with aclosing(self._sender.stream(self._url + request.path, accepting, request.body)) as answer:
            try:
                async for piece in answer:
                    began = True
                    yield piece
            except Unavailable as e:
                if began:
                    raise decoder.broken() from e
                raise


def _accepting(kind: str, headers: Mapping[str, str]) -> dict[str, str]:
    return {"content-type": "application/json", "accept": kind, **headers}


def _is_address(base_url: str, path: str) -> bool:
    """Whether `base_url` is an http address to which `path` can be added."""
    try:
        address = urlsplit(base_url)
        port = address.port
    except ValueError:
        # An IPv6 address without its end, or a port that is no number or too large.
        return False
    whole = address.scheme in ("http", "https") and bool(address.hostname) and port != 0
    return whole and not (address.query or address.fragment or address.path.rstrip("/").endswith(path))


def _key(given: str | SecretStr | None, home: Home, *, at_home: bool, provider: str, model: str) -> SecretStr:
    if given is None and at_home:
        given = os.environ.get(home.key_variable)
    if given is None:
        variable = home.key_variable
        way = f"set {variable}" if at_home else f"{variable} is sent to {home.name}'s own address alone"
        raise AuthFailed(
            f"There is no API key for {provider}: {way}; pass api_key, or '' for a server that takes none.",
            provider=provider,
            model=model,
        )
    key = (given.get_secret_value() if isinstance(given, SecretStr) else given).strip()
    if not (key.isascii() and key.isprintable()):
        raise AuthFailed(
            f"The API key of {provider} holds characters that no HTTP header can carry; copy it again.",
            provider=provider,
            model=model,
        )
    return SecretStr(key)


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what follows the end of the answer: nothing, but a server closes its side only after it."""
    import anyio

    with suppress(ProviderError), anyio.move_on_after(_DRAIN_SECONDS):
        async for _ in pieces:
            pass
