"""The client of every provider that litellm knows."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from pydantic import SecretStr

from copyfit.errors import SettingsError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent, Usage
from copyfit_adapters.auth import Home, home_key
from copyfit_adapters.codec.json_text import dumps
from copyfit_adapters.connection import check_address
from copyfit_adapters.errors import UnencodableInput
from copyfit_adapters.http import DEFAULT_TIMEOUTS, AsyncHttpClient, Timeouts
from copyfit_adapters.litellm.failures import cause_of, refusal_in, typed_error
from copyfit_adapters.litellm.loading import load, part
from copyfit_adapters.litellm.messages import PROTOCOL, incoming, maker_of, outgoing
from copyfit_adapters.litellm.routes import OWN_CLIENTS, client_for
from copyfit_adapters.litellm.table import model_limits
from copyfit_adapters.litellm.transport import Passage
from copyfit_adapters.openai_chat.decode import read_reply
from copyfit_adapters.openai_chat.dialect import COMPATIBLE
from copyfit_adapters.openai_chat.encode import PATH, encode
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_adapters.overflow.refusal import Asked

_OURS = frozenset(
    {
        "acompletion",
        "api_base",
        "api_key",
        "base_url",
        "cache",
        "caching",
        "client",
        "context_window_fallback_dict",
        "custom_llm_provider",
        "fallbacks",
        "max_retries",
        "messages",
        "mock_response",
        "model",
        "no-log",
        "num_retries",
        "retry_policy",
        "stream",
        "timeout",
        "tools",
    }
)
"""Arguments of litellm's call that say where and how it sends, or what copyfit itself says in them."""

_NO_KEY = "no-key-needed"
"""Stands for a key at a server that takes none: without one, litellm would send a key out of the environment."""

_SECRET_WORDS = ("key", "secret", "token", "password", "credential")


class LiteLLMClient:
    """Sends model inputs to one model of any provider that litellm knows, by calling litellm; needs asyncio.

    `model` is litellm's name for it (``groq/llama-3.3-70b-versatile``), `base_url` what litellm calls
    ``api_base``. Without an `api_key` litellm looks for one where it always does, but not for a `base_url`, which
    needs a key of its own, or ``""`` when the server takes none. `options` go along in each call:
    ``api_version``, ``aws_region_name``, ``drop_params`` and the like. `provider` names the server in errors, and
    is the maker of its reasoning; it defaults to the part of `model` before the slash. The `limits` default to
    litellm's table. `http` and `timeouts` are those of every client.

    Every request is sent once: retries, caches and loggers of litellm are off for it. (What a program sets for all
    its calls by litellm's own globals stays: ``model_fallbacks``, and hooks that run before a call.) It passes
    through `http`, or through a client opened here; only for the providers in `routes.OWN_CLIENTS` does litellm
    open clients of its own. litellm is imported by the first request, in a thread, as `loading.load` tells.

    Tokens that the provider did not report are not reported, but for those that litellm's code for a provider
    makes up in a whole answer (Ollama's).

    What litellm makes of the input for its provider is litellm's doing: the codec of that provider's protocol can
    read it back.

    Raises:
        AuthFailed: there is a `base_url` without a key, or a key that no header can carry.
        SettingsError: `base_url` is no http address, `options` holds what the client says itself, or litellm
            takes no client for this provider and `http` is one.

    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | SecretStr | None = None,
        base_url: str | None = None,
        http: AsyncHttpClient | None = None,
        limits: ModelLimits | None = None,
        timeouts: Timeouts | None = DEFAULT_TIMEOUTS,
        provider: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        prefix = model.partition("/")[0] if "/" in model else PROTOCOL
        self._options = {name: _hidden(name, value) for name, value in (options or {}).items()}
        for name in sorted(_OURS & self._options.keys()):
            raise SettingsError(f"options[{name!r}]", "given", "left out: the client says it itself")
        if base_url is not None:
            check_address(base_url, PATH)
        if http is not None and prefix in OWN_CLIENTS:
            raise _takes_no_client(prefix)
        self._model = model
        self._provider = provider or prefix
        self._base_url = base_url
        self._key = _key(self._provider, model, base_url, api_key)
        held = (self._key, *self._options.values())
        secrets = tuple(value.get_secret_value() for value in held if isinstance(value, SecretStr))
        self._asked = Asked(provider=self._provider, model=model, secrets=secrets)
        self._maker = maker_of(self._provider)
        self._given = http
        self._opened: AsyncHttpClient | None = None
        self._limits = limits
        self._timeouts = timeouts
        self._fragments: IdentityMemo[bytes] = IdentityMemo()
        self._outgoing: IdentityMemo[Message] = IdentityMemo()

    @property
    def provider(self) -> str:
        """Who answers, for errors and traces."""
        return self._provider

    @property
    def model(self) -> str:
        """Which model answers, in litellm's words."""
        return self._model

    @property
    def limits(self) -> ModelLimits | None:
        """The model's window, or None when neither the caller nor litellm's table tells it."""
        return self._limits or model_limits(self._model)

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Send `model_input` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long.
            MissingExtra: litellm is not installed.
            SettingsError: litellm did not send through the `http` that was given.
            UnencodableInput: litellm has no form for something in it; nothing was sent.
            ProviderError: any other failure.

        """
        async with AsyncExitStack() as opened:
            reply, _ = await self._call(model_input, opened, stream=False)
            output = read_reply(reply.model_dump(), self._asked)
        # litellm fills in zeros where the provider reported nothing.
        return self._as_said(output, reported=bool(output.usage.input_tokens))

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Send `model_input` and yield the answer as it comes, `Finished` last.

        Leaving the iteration early closes the response.

        Raises:
            ContextOverflow: the input is too long; also in mid-stream.
            MissingExtra: litellm is not installed.
            SettingsError: litellm did not send through the `http` that was given.
            StreamBroken: the stream ended before the answer did; it holds the text that arrived.
            UnencodableInput: litellm has no form for something in it; nothing was sent.
            ProviderError: any other failure.

        """
        decoder = ChatStream(self._asked)
        async with AsyncExitStack() as opened:
            chunks, passage = await self._call(model_input, opened, stream=True)
            opened.push_async_callback(chunks.aclose)
            try:
                async for chunk in chunks:
                    for event in decoder.feed(b"data: " + dumps(chunk.model_dump()) + b"\n\n"):
                        yield event
            except part("openai").OpenAIError as e:
                raise typed_error(e, self._asked, arrived=decoder.arrived) from cause_of(e, self._asked)
        if chunks.received_finish_reason is None:
            # litellm ends a stream without anything in it as if the model had said nothing.
            raise refusal_in(bytes(passage.head), self._asked) or decoder.broken()
        for event in decoder.close():
            if isinstance(event, Finished):
                # litellm counts by itself what no chunk reported.
                reported = any(getattr(chunk, "usage", None) for chunk in chunks.chunks)
                yield Finished(self._as_said(event.output, reported=reported))

    async def aclose(self) -> None:
        """Close the connections that this client opened itself."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"LiteLLMClient({self._model!r}, provider={self._provider!r})"

    async def _call(self, model_input: ModelInput, opened: AsyncExitStack, *, stream: bool) -> tuple[Any, Passage]:
        """Return litellm's answer, whole or as its stream, and what it came through; `opened` keeps it open."""
        arguments = self._arguments(model_input, stream=stream)
        litellm = await _loaded()
        passage = Passage(self._client(), self._timeouts)
        key = arguments["api_key"]
        way = client_for(litellm, self._model, passage=passage, key=key, base_url=self._base_url)
        try:
            client = await opened.enter_async_context(way)
            reply = await litellm.acompletion(**arguments, client=client)
        except part("openai").OpenAIError as e:
            raise typed_error(e, self._asked, status=passage.status) from cause_of(e, self._asked)
        if self._given is not None and not passage.used:
            raise _takes_no_client(self._provider)
        return reply, passage

    def _as_said(self, output: ModelOutput, *, reported: bool) -> ModelOutput:
        message = incoming(output.message, self._maker)
        return replace(output, message=message, usage=output.usage if reported else Usage())

    def _arguments(self, model_input: ModelInput, *, stream: bool) -> dict[str, Any]:
        sent = outgoing(model_input, self._maker, self._outgoing)
        request = encode(sent, self._model, stream=stream, dialect=COMPATIBLE, known=self._fragments)
        # litellm changes messages in place, so each call gets objects of its own.
        fields = json.loads(request.body)
        own = {name: fields.pop(name) for name in ("model", "messages", "stream", "tools") if name in fields}
        for name in sorted(_OURS & fields.keys()):
            raise UnencodableInput(PROTOCOL, f"settings.extra[{PROTOCOL!r}]", f"the client says {name!r} itself")
        quiet = {"num_retries": 0, "caching": False, "no-log": True}
        where: dict[str, Any] = {"api_key": _shown(self._key), "api_base": self._base_url}
        if self._timeouts is not None:
            where["timeout"] = self._timeouts.read
        options = {name: _shown(value) for name, value in self._options.items()}
        return {**options, **fields, **own, **quiet, **where}

    def _client(self) -> AsyncHttpClient:
        if self._given is not None:
            return self._given
        if self._opened is None:
            import httpx

            self._opened = httpx.AsyncClient()
        return self._opened


async def _loaded() -> Any:
    import anyio.to_thread

    # Whoever gives up waits no seconds for the rest of the import, which is there for the next request.
    return await anyio.to_thread.run_sync(load, abandon_on_cancel=True)


def _key(provider: str, model: str, base_url: str | None, given: str | SecretStr | None) -> SecretStr | None:
    """Return the key to give to litellm, or None when it shall look for one itself."""
    if given is None and base_url is None:
        return None
    nowhere = Home(name=provider, provider=provider, url="")
    key = home_key(nowhere, base_url or "", given, Asked(provider=provider, model=model))
    return key.key if key.secrets else SecretStr(_NO_KEY)


def _hidden(name: str, value: Any) -> Any:
    is_secret = isinstance(value, str) and any(word in name.lower() for word in _SECRET_WORDS)
    return SecretStr(value) if is_secret else value


def _shown(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _takes_no_client(provider: str) -> SettingsError:
    why = f"left out for {provider}, to which litellm sends through clients of its own alone"
    return SettingsError("http", "an open client", why)
