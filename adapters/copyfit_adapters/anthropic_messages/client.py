"""The client of every server that speaks the messages protocol."""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from pydantic import SecretStr

from copyfit.errors import AuthFailed, ProviderError, SettingsError, Unavailable
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import PATH, CacheTime, encode
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.codec import WireRequest
from copyfit_adapters.http import DEFAULT_TIMEOUTS, AsyncHttpClient, HttpSender, Timeouts
from copyfit_adapters.overflow.refusal import Asked

ANTHROPIC_URL = "https://api.anthropic.com/v1"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
"""The version of the protocol that is spoken; Anthropic has published no later one."""

_DRAIN_SECONDS = 2.0
"""How long the end of a finished stream is waited for, so that its connection can be used again."""


class AnthropicMessagesClient:
    """Sends model inputs to one model of a server that speaks the messages protocol.

    `base_url` is everything before ``/messages``. Without `api_key`, the key of Anthropic's own address comes from
    ``ANTHROPIC_API_KEY``; it is never sent to another address, which needs an `api_key` of its own, or ``""`` when
    the server takes none. `http` is an open httpx or httpx2 client and stays open. With `cache`, the stable prefix
    is marked for the provider's cache. `betas` are names for the ``anthropic-beta`` header. `provider` names the
    server in errors and traces. The client keeps the JSON of each message that it sent for as long as it lives.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = ANTHROPIC_URL,
        api_key: str | SecretStr | None = None,
        http: AsyncHttpClient | None = None,
        limits: ModelLimits | None = None,
        max_retries: int = 2,
        timeouts: Timeouts | None = DEFAULT_TIMEOUTS,
        cache: CacheTime | None = None,
        betas: tuple[str, ...] = (),
        provider: str = "anthropic",
    ) -> None:
        if not _is_address(base_url):
            shown = "[masked]" if "@" in base_url or "?" in base_url else base_url
            raise SettingsError("base_url", shown, f"an http or https address, without {PATH} and without a query")
        at_anthropic = urlsplit(base_url).hostname == urlsplit(ANTHROPIC_URL).hostname
        self._url = base_url.rstrip("/")
        self._key = _key(api_key, at_anthropic=at_anthropic, provider=provider, model=model)
        self._asked = Asked(provider=provider, model=model, secrets=(self._key.get_secret_value(),))
        self._limits = limits
        self._cache = cache
        self._betas = betas
        self._fragments: IdentityMemo[bytes] = IdentityMemo()
        self._sender = HttpSender(self._asked, http=http, max_retries=max_retries, timeouts=timeouts)

    @property
    def provider(self) -> str:
        """Who answers, for errors and traces."""
        return self._asked.provider

    @property
    def model(self) -> str:
        """Which model answers."""
        return self._asked.model or ""

    @property
    def limits(self) -> ModelLimits | None:
        """The model's window, or None when it is not known."""
        return self._limits

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Send `model_input` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long.
            UnencodableInput: the protocol has no form for something in it; nothing was sent.
            ProviderError: any other failure.

        """
        request = encode(model_input, self.model, cache=self._cache, fragments=self._fragments)
        reply = await self._sender.post(self._url + request.path, self._headers("application/json"), request.body)
        return decode(reply.status, reply.body, self._asked)

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Send `model_input` and yield the answer as it comes, `Finished` last.

        Leaving the iteration early closes the response.

        Raises:
            ContextOverflow: the input is too long; also in mid-stream.
            StreamBroken: the stream ended before the answer did; it holds the text that arrived.
            UnencodableInput: the protocol has no form for something in the input; nothing was sent.
            ProviderError: any other failure.

        """
        request = encode(model_input, self.model, stream=True, cache=self._cache, fragments=self._fragments)
        decoder = MessagesStream(self._asked)
        finished: Finished | None = None
        async with aclosing(self._pieces(request, decoder)) as pieces:
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
        """Close the connections that this client opened itself."""
        await self._sender.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        host = urlsplit(self._url).hostname
        return f"AnthropicMessagesClient({self.model!r}, provider={self.provider!r}, host={host!r})"

    async def _pieces(self, request: WireRequest, decoder: MessagesStream) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the answer; a connection that breaks after the first of them is a broken stream."""
        began = False
        url, headers = self._url + request.path, self._headers("text/event-stream")
        async with aclosing(self._sender.stream(url, headers, request.body)) as answer:
            try:
                async for piece in answer:
                    began = True
                    yield piece
            except Unavailable as e:
                if began:
                    raise decoder.broken() from e
                raise

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": accept, "anthropic-version": VERSION}
        if self._betas:
            headers["anthropic-beta"] = ",".join(self._betas)
        key = self._key.get_secret_value()
        return headers | ({"x-api-key": key} if key else {})


def _is_address(base_url: str) -> bool:
    """Whether `base_url` is an http address to which the path of a request can be added."""
    try:
        address = urlsplit(base_url)
        port = address.port
    except ValueError:
        # An IPv6 address without its end, or a port that is no number or too large.
        return False
    whole = address.scheme in ("http", "https") and bool(address.hostname) and port != 0
    return whole and not (address.query or address.fragment or address.path.rstrip("/").endswith(PATH))


def _key(given: str | SecretStr | None, *, at_anthropic: bool, provider: str, model: str) -> SecretStr:
    if given is None and at_anthropic:
        given = os.environ.get(KEY_VARIABLE)
    if given is None:
        way = f"set {KEY_VARIABLE}" if at_anthropic else f"{KEY_VARIABLE} is sent to Anthropic's own address alone"
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
