"""The client of every server that speaks the messages protocol."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from types import TracebackType
from typing import Self

from pydantic import SecretStr

from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput, StreamEvent
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import PATH, CacheTime, encode
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.connection import Connection, Home
from copyfit_adapters.http import DEFAULT_TIMEOUTS, AsyncHttpClient, Timeouts

HOME = Home("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY")
VERSION = "2023-06-01"
"""The version of the protocol that is spoken; Anthropic has published no later one."""


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
        base_url: str = HOME.url,
        api_key: str | SecretStr | None = None,
        http: AsyncHttpClient | None = None,
        limits: ModelLimits | None = None,
        max_retries: int = 2,
        timeouts: Timeouts | None = DEFAULT_TIMEOUTS,
        cache: CacheTime | None = None,
        betas: tuple[str, ...] = (),
        provider: str = "anthropic",
    ) -> None:
        self._connection = Connection(
            model,
            HOME,
            path=PATH,
            base_url=base_url,
            api_key=api_key,
            http=http,
            max_retries=max_retries,
            timeouts=timeouts,
            provider=provider,
        )
        self._limits = limits
        self._cache = cache
        self._betas = betas
        self._fragments: IdentityMemo[bytes] = IdentityMemo()

    @property
    def provider(self) -> str:
        """Who answers, for errors and traces."""
        return self._connection.asked.provider

    @property
    def model(self) -> str:
        """Which model answers."""
        return self._connection.model

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
        reply = await self._connection.post(request, self._headers())
        return decode(reply.status, reply.body, self._connection.asked)

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
        decoder = MessagesStream(self._connection.asked)
        async with aclosing(self._connection.events(request, self._headers(), decoder)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the connections that this client opened itself."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        host = self._connection.host
        return f"AnthropicMessagesClient({self.model!r}, provider={self.provider!r}, host={host!r})"

    def _headers(self) -> dict[str, str]:
        headers = {"anthropic-version": VERSION}
        if self._betas:
            headers["anthropic-beta"] = ",".join(self._betas)
        key = self._connection.key.get_secret_value()
        return headers | ({"x-api-key": key} if key else {})
