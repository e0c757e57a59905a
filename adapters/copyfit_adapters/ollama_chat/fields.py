"""Read the fields of a chat request that stand beside its messages: tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import read_all, read_function
from copyfit_adapters.codec.reading import Reader, integer, positive, real, texts
from copyfit_adapters.ollama_chat.dialect import PROTOCOL, SWITCHES

OUTSIDE_INPUT = frozenset({"model", "messages", "stream"})
"""Fields that are no settings: who answers, what is said, and how the answer travels."""

_READER = Reader(PROTOCOL)


def read_fields(body: Mapping[str, Any]) -> tuple[ModelSettings, tuple[ToolSpec, ...]]:
    """Return the settings and tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: the format ``json``,
    a `num_predict` of -1, a list with a tool that is no function. A null is an absent field. How large a window
    the server opens (`num_ctx`), and that it shall not cut what is too long, are no part of the input.
    """
    given = {
        name: value
        for name, value in body.items()
        if name not in OUTSIDE_INPUT
        and not (value is None and name in _MODELLED)
        and not (value is False and name in SWITCHES)
    }
    settings: dict[str, Any] = {}
    if isinstance(given.get("format"), dict):
        settings["response_schema"] = ResponseSchema(json_schema=given.pop("format"))
    tools = read_all(given.get("tools"), read_tool)
    if tools is not None:
        given.pop("tools", None)
    options: dict[str, Any] = {}
    if isinstance(given.get("options"), dict):
        modelled, options = _read_options(given.pop("options"))
        settings |= modelled
    return ModelSettings(**settings, extra=_READER.extra(given, options=options)), tools or ()


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name.

    A function without parameters takes none.
    """
    return read_function(tool, _READER, _TOOL_FIELDS)


def _read_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings in `options`, and the options that are left."""
    settings: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in options.items():
        field, read = _OPTIONS.get(name, (None, None))
        read_value = None if read is None else read(value)
        if field is not None and read_value is not None:
            settings[field] = read_value
        elif not (value is None and name in _OPTIONS) and not (name == "num_ctx" and positive(value)):
            rest[name] = value
    return settings, rest


_TOOL_FIELDS: Mapping[str, type] = {"name": str, "description": str, "parameters": dict}
_OPTIONS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "num_predict": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "top_p": ("top_p", real),
    "seed": ("seed", integer),
    "stop": ("stop", texts),
}
"""The options that the settings model; a reader returns None for what has no place there."""
_MODELLED = frozenset({"format", "tools", "options", *SWITCHES})
