"""Read the fields of a Responses request that stand beside its input: instructions, tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.reading import boolean, positive, real, string, without
from copyfit_adapters.openai_responses.content import READER

OUTSIDE_INPUT = frozenset({"model", "input", "stream"})
"""Fields that are no settings: who answers, what is said, and how the answer travels."""


def read_fields(body: Mapping[str, Any]) -> tuple[str, ModelSettings, tuple[ToolSpec, ...]]:
    """Return the instructions, the settings and the tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: a list with a tool
    that runs at the provider, a tool choice of another kind, what the provider shall keep. A null is an absent
    field.
    """
    given = {
        name: value
        for name, value in body.items()
        if name not in OUTSIDE_INPUT and not (value is None and name in _MODELLED)
    }
    system = string(given.get("instructions"))
    if system is not None:
        del given["instructions"]
    tools = _read_tools(given.get("tools"))
    if tools is not None:
        given.pop("tools", None)
    settings: dict[str, Any] = {}
    for wire, (name, read) in _READERS.items():
        value = read(given[wire]) if wire in given else None
        if value is not None:
            settings[name] = value
            del given[wire]
    schema = _read_format(given.get("text"))
    if schema is not None:
        settings["response_schema"] = schema
        rest = without(given.pop("text"), "format")
        given |= {"text": rest} if rest else {}
    return system or "", ModelSettings(**settings, extra=READER.extra(given)), tools or ()


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name.

    A function without parameters takes none.
    """
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return None
    known = {name: tool[name] for name in _TOOL_FIELDS if tool.get(name) is not None}
    if "name" not in known or any(not isinstance(value, _TOOL_FIELDS[name]) for name, value in known.items()):
        return None
    return ToolSpec(**known, extra=READER.extra(without(tool, "type", *_TOOL_FIELDS)))


_TOOL_FIELDS: Mapping[str, type] = {"name": str, "description": str, "parameters": dict, "strict": bool}


def _read_tools(value: Any) -> tuple[ToolSpec, ...] | None:
    if not isinstance(value, list):
        return () if value is None else None
    tools = tuple(tool for tool in map(read_tool, value) if tool is not None)
    return tools if len(tools) == len(value) else None


def _read_choice(value: Any) -> str | None:
    match value:
        case "auto" | "none" | "required":
            return str(value)
        case {"type": "function", "name": str(name), **rest} if not rest:
            return f"tool:{name}"
    return None


def _read_format(value: Any) -> ResponseSchema | None:
    match value:
        case {"format": {"type": "json_schema", "name": str(name), "schema": dict(schema), **facts}}:
            description, strict = facts.pop("description", None), facts.pop("strict", None)
            if not facts and isinstance(description, str | None) and isinstance(strict, bool | None):
                return ResponseSchema(name=name, json_schema=schema, description=description, strict=strict)
    return None


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "max_output_tokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "top_p": ("top_p", real),
    "tool_choice": ("tool_choice", _read_choice),
    "parallel_tool_calls": ("parallel_tool_calls", boolean),
}
"""Each field's name in the settings and its reader, which returns None for what has no place there."""
_MODELLED = frozenset({"instructions", "tools", "text", *_READERS})
