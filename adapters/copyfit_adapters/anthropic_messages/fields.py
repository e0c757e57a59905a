"""Read the fields of a messages request that stand beside its messages: system, tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.blocks import READER
from copyfit_adapters.codec.functions import pop_all
from copyfit_adapters.codec.reading import given_fields, positive, real, take, texts, without

OUTSIDE_INPUT = frozenset({"model", "anthropic_version", "messages", "stream"})
"""Fields that are no settings: who answers, by which version, what is said, and how the answer travels."""


def read_fields(body: Mapping[str, Any]) -> tuple[str, ModelSettings, tuple[ToolSpec, ...]]:
    """Return the system text, the settings and the tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: a system of several
    blocks, a list with a tool that runs at the provider, a tool choice of another kind. A null is an absent field.
    """
    rest = given_fields(body, OUTSIDE_INPUT, {"system", "tools", "tool_choice", *_READERS})
    system = _read_system(rest.get("system"))
    if system is not None:
        del rest["system"]
    tools = pop_all(rest, "tools", read_tool)
    settings = take(rest, _READERS)
    choice = _read_choice(rest.get("tool_choice"))
    if choice is not None:
        settings |= choice
        del rest["tool_choice"]
    schema, beside = _read_format(rest.get("output_config"))
    if schema is not None:
        settings["response_schema"] = schema
        rest = without(rest, "output_config") | ({"output_config": beside} if beside else {})
    return system or "", ModelSettings(**settings, extra=READER.extra(rest)), tools


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is none that the caller runs."""
    if not isinstance(tool, dict) or tool.get("type") not in (None, "custom"):
        return None
    fields = {name: value for name, value in tool.items() if name not in _TOOL_FIELDS or value is not None}
    name, schema = fields.get("name"), fields.get("input_schema")
    description, strict = fields.get("description", ""), fields.get("strict")
    if not (isinstance(name, str) and isinstance(schema, dict) and isinstance(description, str)):
        return None
    if not isinstance(strict, bool | None):
        return None
    extra = READER.extra(without(fields, *_TOOL_FIELDS))
    return ToolSpec(name=name, description=description, parameters=schema, strict=strict, extra=extra)


_TOOL_FIELDS = ("type", "name", "description", "input_schema", "strict")


def _read_system(value: Any) -> str | None:
    """Return the text of a system that is one text; where a prefix is cached is not part of it."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        block = without(value[0], "cache_control")
        value = block["text"] if set(block) == {"type", "text"} and block["type"] == "text" else None
    return value if isinstance(value, str) else None


def _read_format(value: Any) -> tuple[ResponseSchema | None, dict[str, Any]]:
    match value:
        case {"format": {"type": "json_schema", "schema": dict(schema), **facts}} if not facts:
            return ResponseSchema(json_schema=schema), without(value, "format")
    return None, {}


def _read_choice(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    single = value.get("disable_parallel_tool_use")
    if not isinstance(single, bool | None):
        return None
    parallel = {} if single is None else {"parallel_tool_calls": not single}
    match without(value, "disable_parallel_tool_use"):
        case {"type": "auto" | "none" as kind, **rest} if not rest:
            return {"tool_choice": kind} | parallel
        case {"type": "any", **rest} if not rest:
            return {"tool_choice": "required"} | parallel
        case {"type": "tool", "name": str(name), **rest} if not rest:
            return {"tool_choice": f"tool:{name}"} | parallel
    return None


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "top_p": ("top_p", real),
    "stop_sequences": ("stop", texts),
}
"""Each field's name in the settings and its reader, which returns None for what has no place there."""
