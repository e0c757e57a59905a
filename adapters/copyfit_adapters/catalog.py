"""Open an adapter by its name: ``open_adapter("anthropic-messages:claude-opus-5-5")``.

What stands before the colon is a wire protocol, a server that speaks chat completions (`servers`), ``litellm``, or
an adapter of another package: an entry point in the group ``copyfit.adapters`` whose object takes the model's name
and the options of `ClientOptions`, and returns an `Adapter`. A name of ours is never another package's.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from types import TracebackType
from typing import Any, Protocol, Self

from copyfit.errors import SettingsError
from copyfit.ports.provider import ProviderModelClient
from copyfit_adapters.errors import AdapterNotLoaded, UnknownAdapter
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_adapters.servers import SERVERS, Server
from copyfit_adapters.windows import limits_of

_GROUP = "copyfit.adapters"
"""The entry-point group of adapters that other packages bring."""
_METHODS = ("complete", "stream", "aclose")
"""What tells a client from other objects."""


class Adapter(ProviderModelClient, Protocol):
    """A client that can be closed, by itself or at the end of an ``async with``."""

    async def aclose(self) -> None:
        """Close the connections that it opened itself."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class _Row:
    """What opens a client, and what stands before its models' names in litellm's table (None: no table knows)."""

    opens: Callable[..., Adapter]
    table_prefix: str | None = ""


def open_adapter(name: str, **options: Any) -> Adapter:
    """Return a client for the model that `name` says: ``ADAPTER:MODEL``.

    The options are those of the adapter's client (`ClientOptions` and its own). Without `limits`, those that a
    table knows are taken. Nothing is sent.

    Raises:
        SettingsError: `name` is not of that form, or an option has a value that is not allowed.
        TypeError: the adapter's client has no such option, or needs one that is not given.
        UnknownAdapter: nothing is known under what stands before the colon.
        AdapterNotLoaded: another package brings it, and it cannot be imported or makes no client.
        AuthFailed: there is no key.

    """
    adapter, colon, model = name.partition(":")
    if not (adapter and colon and model):
        raise SettingsError("the name of the adapter", name, "ADAPTER:MODEL, such as 'openai-chat:gpt-5.1'")
    found = _adapters().get(adapter) or _plugged_in(adapter)
    if "limits" not in options and found.table_prefix is not None:
        limits = limits_of(found.table_prefix + model)
        options |= {} if limits is None else {"limits": limits}
    return found.opens(model, **options)


def known_adapters() -> tuple[str, ...]:
    """Return every name that can stand before the colon, ours first, then those of other packages."""
    ours = tuple(_adapters())
    others = sorted({entry.name for entry in entry_points(group=_GROUP)} - set(ours))
    return (*ours, *others)


def _adapters() -> Mapping[str, _Row]:
    # Here and not above, so that whoever needs one room of the adapters does not load them all.
    from copyfit_adapters.anthropic_messages.client import AnthropicMessagesClient
    from copyfit_adapters.anthropic_messages.clouds import BedrockAnthropicClient, VertexAnthropicClient
    from copyfit_adapters.bedrock_converse.client import BedrockConverseClient
    from copyfit_adapters.cohere_v2.client import CohereChatClient
    from copyfit_adapters.gemini.client import GeminiClient, VertexGeminiClient
    from copyfit_adapters.litellm.client import LiteLLMClient
    from copyfit_adapters.mistral_chat.client import MistralChatClient
    from copyfit_adapters.ollama_chat.client import OllamaChatClient
    from copyfit_adapters.openai_responses.client import OpenAIResponsesClient

    protocols = {
        "openai-chat": _Row(OpenAIChatClient),
        "openai-responses": _Row(OpenAIResponsesClient),
        "anthropic-messages": _Row(AnthropicMessagesClient),
        "anthropic-bedrock": _Row(BedrockAnthropicClient),
        "anthropic-vertex": _Row(VertexAnthropicClient, "vertex_ai/"),
        "gemini": _Row(GeminiClient, "gemini/"),
        "gemini-vertex": _Row(VertexGeminiClient, "gemini/"),
        "bedrock-converse": _Row(BedrockConverseClient),
        "mistral-chat": _Row(MistralChatClient, "mistral/"),
        "cohere-v2": _Row(CohereChatClient),
        "ollama-chat": _Row(OllamaChatClient),
        "litellm": _Row(LiteLLMClient),
    }
    servers = {name: _Row(partial(_open_server, server), server.table_prefix) for name, server in SERVERS.items()}
    return protocols | servers


def _open_server(server: Server, model: str, **options: Any) -> OpenAIChatClient:
    home = server.home
    if server.address_variable is not None and options.get("base_url") is None:
        address = os.environ.get(server.address_variable)
        if not address or "://" not in address:
            allowed = f"the address of your {home.name} resource, with https://; or pass base_url"
            raise SettingsError(server.address_variable, address, allowed)
        home = replace(home, url=_with_path(address, home.url))
    return OpenAIChatClient(model, home=home, **{"dialect": server.dialect} | options)


def _with_path(address: str, form: str) -> str:
    """Return `address` with the path that `form` ends in, unless it has one."""
    scheme, _, rest = address.rstrip("/").partition("://")
    return address if "/" in rest else f"{scheme}://{rest}/" + form.partition("://")[2].partition("/")[2]


def _plugged_in(adapter: str) -> _Row:
    for entry in entry_points(group=_GROUP, name=adapter):
        return _Row(partial(_open_plug_in, entry))
    raise UnknownAdapter(adapter, known_adapters())


def _open_plug_in(entry: EntryPoint, model: str, **options: Any) -> Adapter:
    package = entry.dist.name if entry.dist else entry.value
    try:
        opens = entry.load()
    except (ImportError, AttributeError) as e:
        raise AdapterNotLoaded(entry.name, package) from e
    client: Adapter = opens(model, **options) if callable(opens) else opens
    if not all(hasattr(client, name) for name in _METHODS):
        made = f"its entry point gives {type(client).__name__!r} instead of a client; report it to its author"
        raise AdapterNotLoaded(entry.name, package, made)
    return client
