"""What the clients of all wire protocols do in the same way: complete, stream, close, and keep their secrets."""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypedDict, Unpack
from urllib.parse import urlsplit

from pydantic import SecretStr

from copyfit.errors import MalformedReply
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent
from copyfit_adapters.auth import Auth, Home, home_key
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.connection import Connection, StreamDecoder, check_address
from copyfit_adapters.http import DEFAULT_TIMEOUTS, AsyncHttpClient, Timeouts
from copyfit_adapters.model_lists import read_limits
from copyfit_adapters.overflow.refusal import Asked, silent_cut


class ClientOptions(TypedDict, total=False):
    """What every client can be told.

    `base_url` is everything before the protocol's path. Without `api_key`, the key of the protocol's own address
    comes from the usual variable; it is never sent to another address, which needs an `api_key` of its own, or
    ``""`` when the server takes none. `auth` replaces the key by another proof of who sends. `http` is an open
    httpx or httpx2 client and stays open. `limits` are the model's. `max_retries` bounds how often a request is
    sent again (2). `timeouts` say how many seconds to wait; with None, an `http` client keeps its own. `provider`
    names the server in errors and traces.
    """

    base_url: str | None
    api_key: str | SecretStr | None
    auth: Auth
    http: AsyncHttpClient | None
    limits: ModelLimits | None
    max_retries: int
    timeouts: Timeouts | None
    provider: str


class ProtocolClient(ABC):
    """Sends model inputs to one model of one server; a protocol says how they are written and answers read.

    `path` is what the protocol adds to the address, for the check of `base_url`. A subclass has `_encode`,
    `_decode` and `_decoder`, and where they differ `_models_path`, `_window` and `_headers`. For these it finds
    `_asked`, who is asked, for errors, and `_fragments`, the JSON of each message that was sent, kept for as long
    as the message lives.

    Raises:
        AuthFailed: there is no key, or one that no header can carry.
        SettingsError: `base_url` is no http address, or one to which no path can be added; or `max_retries` is
            below 0.
        TypeError: there is no such option.

    """

    def __init__(self, model: str, home: Home, path: str, **options: Unpack[ClientOptions]) -> None:
        for name in sorted(options.keys() - ClientOptions.__annotations__.keys()):
            raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}")
        given = options.get("base_url")
        base_url = home.url if given is None else given
        check_address(base_url, path)
        asked = Asked(provider=options.get("provider", home.provider), model=model)
        auth = options.get("auth") or home_key(home, base_url, options.get("api_key"), asked)
        self._asked = Asked(provider=asked.provider, model=model, secrets=_SecretsOf(auth))
        self._at_home = home.owns(base_url)
        self._host = urlsplit(base_url).hostname
        self._limits = options.get("limits")
        self._cuts = home.cuts
        self._fragments: IdentityMemo[bytes] = IdentityMemo()
        self._connection = Connection(
            base_url,
            auth=auth,
            asked=self._asked,
            http=options.get("http"),
            max_retries=options.get("max_retries", 2),
            timeouts=options.get("timeouts", DEFAULT_TIMEOUTS),
        )
        self._model = model

    @property
    def provider(self) -> str:
        """Who answers, for errors and traces."""
        return self._asked.provider

    @property
    def model(self) -> str:
        """Which model answers."""
        return self._model

    @property
    def limits(self) -> ModelLimits | None:
        """The model's window, or None when it is not known."""
        return self._limits

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Send `model_input` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long; also where the server cut it and the answer's figures show it.
            UnencodableInput: the protocol has no form for something in it; nothing was sent.
            MissingExtra: `auth` needs a library that is not installed; nothing was sent.
            ProviderError: any other failure.

        """
        request = self._encode(model_input, stream=False)
        reply = await self._connection.post(request, self._headers(stream=False))
        return self._uncut(self._decode(reply.status, reply.body))

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Send `model_input` and yield the answer as it comes, `Finished` last.

        Leaving the iteration early closes the response.

        Raises:
            ContextOverflow: as `complete`; also in mid-stream.
            StreamBroken: the stream ended before the answer did; it holds the text that arrived.
            UnencodableInput: the protocol has no form for something in the input; nothing was sent.
            MissingExtra: `auth` needs a library that is not installed; nothing was sent.
            ProviderError: any other failure.

        """
        request = self._encode(model_input, stream=True)
        answer = self._connection.events(request, self._headers(stream=True), self._decoder())
        async with aclosing(answer) as events:
            async for event in events:
                if isinstance(event, Finished):
                    self._uncut(event.output)
                yield event

    async def fetch_limits(self) -> ModelLimits | None:
        """Ask the provider's models endpoint what the model takes; None where it does not say.

        Raises:
            ProviderError: the provider refuses, cannot be reached, or answers with no JSON.

        """
        path = self._models_path()
        if path is None:
            return None
        reply = await self._connection.get(path, self._headers(stream=False))
        try:
            said = json.loads(reply.body)
        except (ValueError, RecursionError) as e:
            raise MalformedReply(
                f"The models endpoint of {self.provider} answers with no JSON; check the base URL.",
                provider=self.provider,
                model=self.model,
            ) from e
        return read_limits(said, self.model)

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
        return f"{type(self).__name__}({self.model!r}, provider={self.provider!r}, host={self._host!r})"

    @abstractmethod
    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        """Return the request that puts `model_input` to the model."""

    @abstractmethod
    def _decode(self, status: int, body: bytes) -> ModelOutput:
        """Return the answer in `body`."""

    @abstractmethod
    def _decoder(self) -> StreamDecoder:
        """Return what reads a streamed answer."""

    def _models_path(self) -> str | None:
        """Return where the provider tells about the model, below the base URL; None where it does not."""
        return "/models"

    def _window(self) -> int | None:
        """Return the window, in tokens, to which the server may cut an input and not say so; None if it tells."""
        return self._limits.context_tokens if self._cuts and self._limits is not None else None

    def _uncut(self, output: ModelOutput) -> ModelOutput:
        """Return `output`, unless its own figures tell that the server cut the input.

        Raises:
            ContextOverflow: they do.

        """
        window = self._window()
        cut = None if window is None else silent_cut(output, self._asked, window_tokens=window)
        if cut is not None:
            raise cut
        return output

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        """Return the protocol's own headers, beside the kinds of content and what proves who sends."""
        return {}


@dataclass(frozen=True, slots=True)
class _SecretsOf:
    """The secrets that `auth` knows at the moment; some come with the first request, and change."""

    auth: Auth = field(repr=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.auth.secrets)
