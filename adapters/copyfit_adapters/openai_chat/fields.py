"""Read the fields of a chat completions request that stand beside its messages: tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import named_function, pop_all, read_function, schema_format
from copyfit_adapters.codec.reading import (
    Reader,
    boolean,
    given_fields,
    integer,
    positive,
    real,
    take,
    text_or_texts,
)
from copyfit_adapters.openai_chat.dialect import PROTOCOL

OUTSIDE_INPUT = frozenset({"model", "messages", "stream"})
"""Fields that are no settings: who answers, what is said, and how the answer travels."""

_CAPS = ("max_completion_tokens", "max_tokens")
_READER = Reader(PROTOCOL)


def read_fields(body: Mapping[str, Any]) -> tuple[ModelSettings, tuple[ToolSpec, ...]]:
    """Return the settings and tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: a tool choice of
    another kind, a list with a tool that is no function, two different caps on the answer. A null is an absent
    field.
    """
    rest = given_fields(body, OUTSIDE_INPUT, {"tools", "stream_options", *_CAPS, *_READERS})
    if _only_usage(rest.get("stream_options")):
        del rest["stream_options"]
    tools = pop_all(rest, "tools", read_tool)
    settings = take(rest, _READERS)
    caps = [name for name in _CAPS if name in rest]
    if len(caps) == 1:
        settings |= take(rest, {caps[0]: ("max_output_tokens", positive)})
    return ModelSettings(**settings, extra=_READER.extra(rest)), tools


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name.

    A function without parameters takes none, as the API defines it.
    """
    return read_function(tool, _READER)


def _only_usage(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"include_usage"} and isinstance(value["include_usage"], bool)


def _choice(value: Any) -> str | None:
    return str(value) if value in ("auto", "none", "required") else named_function(value)


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "temperature": ("temperature", real),
    "top_p": ("top_p", real),
    "seed": ("seed", integer),
    "stop": ("stop", text_or_texts),
    "tool_choice": ("tool_choice", _choice),
    "parallel_tool_calls": ("parallel_tool_calls", boolean),
    "response_format": ("response_schema", schema_format),
}
"""Each field's name in the settings and its reader, which returns None for what has no place there."""
