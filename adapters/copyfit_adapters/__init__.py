"""Clients for real providers: they send a model input exactly as it is, and say in one way when it is too long.

`open_adapter` opens any of them by name; each protocol's own client stands in its room.
"""

from copyfit_adapters.anthropic_messages.client import AnthropicMessagesClient
from copyfit_adapters.catalog import known_adapters, open_adapter
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_adapters.openai_chat.dialect import Dialect

__all__ = [
    "AnthropicMessagesClient",
    "Dialect",
    "OpenAIChatClient",
    "UnencodableInput",
    "UnreadableRequest",
    "known_adapters",
    "open_adapter",
]
