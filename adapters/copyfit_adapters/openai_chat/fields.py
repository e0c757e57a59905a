"""Read the fields of a chat completions request that stand beside its messages: tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.reading import Reader, boolean, integer, positive, real, texts
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
    given = {
        name: value
        for name, value in body.items()
        if name not in OUTSIDE_INPUT and not (value is None and name in _MODELLED)
    }
    settings: dict[str, Any] = {}
    schema = _response_schema(given.get("response_format"))
    if schema is not None:
        settings["response_schema"] = schema
        del given["response_format"]
    tools = _read_tools(given.get("tools"))
    if tools is not None:
        given.pop("tools", None)
    if _only_usage(given.get("stream_options")):
        del given["stream_options"]
    caps = [name for name in _CAPS if name in given]
    if len(caps) == 1 and (cap := positive(given[caps[0]])) is not None:
        settings["max_output_tokens"] = cap
        del given[caps[0]]
    for name, read in _READERS.items():
        value = read(given[name]) if name in given else None
        if value is not None:
            settings[name] = value
            del given[name]
    return ModelSettings(**settings, extra=_READER.extra(given)), tools or ()


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name.

    A function without parameters takes none, as the API defines it.
    """
    if not isinstance(tool, dict) or tool.get("type", "function") != "function":
        return None
    function = tool.get("function")
    if not isinstance(function, dict):
        return None
    known = {name: function[name] for name in _TOOL_FIELDS if function.get(name) is not None}
    if "name" not in known or any(not isinstance(value, _TOOL_FIELDS[name]) for name, value in known.items()):
        return None
    rest = {name: value for name, value in tool.items() if name not in ("type", "function")}
    inner = {name: value for name, value in function.items() if name not in _TOOL_FIELDS}
    return ToolSpec(**known, extra=_READER.extra(rest, function=inner))


_TOOL_FIELDS: Mapping[str, type] = {"name": str, "description": str, "parameters": dict, "strict": bool}


def _read_tools(value: Any) -> tuple[ToolSpec, ...] | None:
    if not isinstance(value, list):
        return () if value is None else None
    tools = tuple(tool for tool in map(read_tool, value) if tool is not None)
    return tools if len(tools) == len(value) else None


def _only_usage(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"include_usage"} and isinstance(value["include_usage"], bool)


def _stops(value: Any) -> tuple[str, ...] | None:
    return (value,) if isinstance(value, str) else texts(value)


def _choice(value: Any) -> str | None:
    if value in ("auto", "none", "required"):
        return str(value)
    if isinstance(value, dict) and set(value) == {"type", "function"} and value["type"] == "function":
        function = value["function"]
        if isinstance(function, dict) and set(function) == {"name"} and isinstance(function["name"], str):
            return f"tool:{function['name']}"
    return None


def _response_schema(value: Any) -> ResponseSchema | None:
    match value:
        case {"type": "json_schema", "json_schema": {"name": str(name), "schema": dict(schema), **rest}}:
            description, strict = rest.pop("description", None), rest.pop("strict", None)
            modelled = isinstance(description, str | None) and isinstance(strict, bool | None)
            if len(value) == 2 and not rest and modelled:
                return ResponseSchema(name=name, json_schema=schema, description=description, strict=strict)
    return None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "temperature": real,
    "top_p": real,
    "seed": integer,
    "stop": _stops,
    "tool_choice": _choice,
    "parallel_tool_calls": boolean,
}
"""The settings that have the same name in the shapes; a reader returns None for what has no place there."""
_MODELLED = frozenset({"tools", "stream_options", "response_format", *_CAPS, *_READERS})
