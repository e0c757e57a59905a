"""Read the fields of a Converse request that stand beside its messages: system, tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.bedrock_converse.blocks import READER, is_mark
from copyfit_adapters.codec.json_text import loads
from copyfit_adapters.codec.reading import positive, real, texts, without

OUTSIDE_INPUT = frozenset({"modelId", "messages"})
"""Fields that are no settings: who answers, and what is said."""

NESTED = ("inferenceConfig", "toolConfig", "outputConfig")
"""The objects of a request whose fields are in part modelled; the rest of each rides under its name."""

Fields = tuple[str, ModelSettings, tuple[ToolSpec, ...]]


def read_fields(body: Mapping[str, Any]) -> Fields:
    """Return the system text, the settings and the tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: a system of several
    blocks, a list with a tool that runs at the provider, a tool choice of another kind. Where a prefix is cached
    is not part of it; a null is an absent field.
    """
    given = {
        name: value
        for name, value in body.items()
        if name not in OUTSIDE_INPUT and not (value is None and name in _MODELLED)
    }
    system = _read_system(given.get("system"))
    if system is not None:
        given.pop("system", None)
    inner: dict[str, dict[str, Any]] = {
        name: dict(given.pop(name)) for name in NESTED if isinstance(given.get(name), dict)
    }
    settings: dict[str, Any] = {}
    numbers = inner.get("inferenceConfig", {})
    for wire, (name, read) in _READERS.items():
        value = read(numbers[wire]) if wire in numbers else None
        if value is not None:
            settings[name] = value
        if value is not None or numbers.get(wire, _ABSENT) is None:
            del numbers[wire]
    tools = _take_tools(inner.get("toolConfig", {}), settings)
    schema = _read_format(inner.get("outputConfig", {}).get("textFormat"))
    if schema is not None:
        settings["response_schema"] = schema
        del inner["outputConfig"]["textFormat"]
    return system or "", ModelSettings(**settings, extra=READER.extra(given, **inner)), tools


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of the tools, or None when it is none that the caller runs."""
    fields = _only(tool, "toolSpec")
    if not isinstance(fields, dict):
        return None
    schema = _only(fields.get("inputSchema"), "json")
    name, description, strict = fields.get("name"), fields.get("description"), fields.get("strict")
    if not (isinstance(name, str) and isinstance(schema, dict) and isinstance(description, str | None)):
        return None
    if not isinstance(strict, bool | None):
        return None
    extra = READER.extra(without(fields, "name", "description", "inputSchema", "strict"))
    return ToolSpec(name=name, description=description or "", parameters=schema, strict=strict, extra=extra)


_ABSENT = object()


def _read_system(value: Any) -> str | None:
    """Return the text of a system that is one text."""
    if not isinstance(value, list):
        return None
    blocks = [block for block in value if not is_mark(block)]
    text = _only(blocks[0], "text") if len(blocks) == 1 else None
    return text if isinstance(text, str) else None if blocks else ""


def _take_tools(config: dict[str, Any], settings: dict[str, Any]) -> tuple[ToolSpec, ...]:
    """Return the tools in a tool configuration and take them out of it, and its choice over into `settings`."""
    listed = config.get("tools")
    entries = [tool for tool in listed if not is_mark(tool)] if isinstance(listed, list) else []
    tools = tuple(tool for tool in map(read_tool, entries) if tool is not None)
    whole = len(tools) == len(entries) and isinstance(listed, list | None)
    if whole:
        config.pop("tools", None)
    choice = _read_choice(config.get("toolChoice"))
    if choice is not None:
        settings["tool_choice"] = choice
        del config["toolChoice"]
    return tools if whole else ()


def _read_choice(value: Any) -> str | None:
    if value == {"auto": {}}:
        return "auto"
    if value == {"any": {}}:
        return "required"
    name = _only(_only(value, "tool"), "name")
    return f"tool:{name}" if isinstance(name, str) else None


def _read_format(value: Any) -> ResponseSchema | None:
    """Return the schema in a format of the answer's text, where it travels as a text of its own."""
    if not isinstance(value, dict) or value.keys() != {"type", "structure"} or value["type"] != "json_schema":
        return None
    facts = _only(value["structure"], "jsonSchema")
    if not isinstance(facts, dict) or facts.keys() - {"schema", "name", "description"}:
        return None
    text, name, description = facts.get("schema"), facts.get("name", "answer"), facts.get("description")
    if not (isinstance(text, str) and isinstance(name, str) and isinstance(description, str | None)):
        return None
    try:
        schema = loads(text)
    except (ValueError, RecursionError):
        return None
    return (
        ResponseSchema(json_schema=schema, name=name, description=description)
        if isinstance(schema, dict)
        else None
    )


def _only(value: Any, name: str) -> Any:
    """Return what is under `name` in an object that has nothing else, or None."""
    return value[name] if isinstance(value, dict) and value.keys() == {name} else None


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "maxTokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "topP": ("top_p", real),
    "stopSequences": ("stop", texts),
}
"""Each number's name in the settings and its reader, which returns None for what has no place there."""
_MODELLED = frozenset({"system", *NESTED})
