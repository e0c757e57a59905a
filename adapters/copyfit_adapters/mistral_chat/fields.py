"""Read the fields of a request that stand beside its messages: tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import named_function, pop_all, read_function, schema_format
from copyfit_adapters.codec.reading import (
    boolean,
    given_fields,
    integer,
    positive,
    real,
    take,
    text_or_texts,
)
from copyfit_adapters.mistral_chat.chunks import READER

OUTSIDE_INPUT = frozenset({"model", "messages", "stream"})
"""Fields that are no settings: who answers, what is said, and how the answer travels."""


def read_fields(body: Mapping[str, Any]) -> tuple[ModelSettings, tuple[ToolSpec, ...]]:
    """Return the settings and tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: a response format of
    another kind, a list with a tool that is no function. A null is an absent field.
    """
    rest = given_fields(body, OUTSIDE_INPUT, {"tools", *_READERS})
    tools = pop_all(rest, "tools", read_tool)
    return ModelSettings(**take(rest, _READERS), extra=READER.extra(rest)), tools


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name."""
    return read_function(tool, READER)


def _choice(value: Any) -> str | None:
    """Read the choice among the tools; ``any`` and ``required`` are two words for one."""
    match value:
        case "auto" | "none" | "required":
            return str(value)
        case "any":
            return "required"
        case {"function": _}:
            return named_function({"type": "function"} | value)
    return None


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "top_p": ("top_p", real),
    "random_seed": ("seed", integer),
    "stop": ("stop", text_or_texts),
    "tool_choice": ("tool_choice", _choice),
    "parallel_tool_calls": ("parallel_tool_calls", boolean),
    "response_format": ("response_schema", schema_format),
}
"""The settings by their names on the wire: what the shapes call them, and their readers, which return None for
what has no place there."""
