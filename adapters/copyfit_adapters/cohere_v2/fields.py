"""Read the fields of a request that stand beside its messages: tools and settings."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import TOOL_FIELDS, pop_all, read_function
from copyfit_adapters.codec.reading import boolean, given_fields, integer, positive, real, take, texts, without
from copyfit_adapters.cohere_v2.parts import READER

OUTSIDE_INPUT = frozenset({"model", "messages", "stream"})
"""Fields that are no settings: who answers, what is said, and how the answer travels."""

CHOICES: Mapping[str, str] = {"required": "REQUIRED", "none": "NONE"}
"""The wire's words for a choice among tools; the model chooses freely where there is none."""

SCHEMA_FIELDS = ("json_schema", "schema")
"""Where a response format holds its schema: in requests of API v2, and in those that were written for v1."""


def read_fields(body: Mapping[str, Any]) -> tuple[ModelSettings, tuple[ToolSpec, ...]]:
    """Return the settings and tools of a request `body`.

    A field with a value that the shapes have no place for stays whole in ``settings.extra``: documents, a
    response format without a schema, a list with a tool that is no function. A null is an absent field.
    """
    rest = given_fields(body, OUTSIDE_INPUT, {"tools", "strict_tools", *_READERS})
    tools = pop_all(rest, "tools", read_tool)
    strict = boolean(rest.get("strict_tools"))
    if tools and strict is not None:
        tools = tuple(tool.model_copy(update={"strict": strict}) for tool in tools)
        del rest["strict_tools"]
    return ModelSettings(**take(rest, _READERS), extra=READER.extra(rest)), tools


def read_tool(tool: Any) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name."""
    return read_function(tool, READER, _TOOL_FIELDS)


def strict_for_all(wishes: list[bool | None]) -> bool | None:
    """Return the one answer to what each tool wishes: held to its schema where any is, or what none objects to."""
    return next((answer for answer in (True, False) if answer in wishes), None)


_TOOL_FIELDS: Mapping[str, type] = without(TOOL_FIELDS, "strict")


def _response_schema(value: Any) -> ResponseSchema | None:
    if not isinstance(value, dict) or value.get("type") != "json_object" or len(value) != 2:
        return None
    schema = next((value[name] for name in SCHEMA_FIELDS if name in value), None)
    return ResponseSchema(json_schema=schema) if isinstance(schema, dict) else None


def _choice(value: Any) -> str | None:
    return next((name for name, word in CHOICES.items() if value == word), None)


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "max_tokens": ("max_output_tokens", positive),
    "temperature": ("temperature", real),
    "p": ("top_p", real),
    "seed": ("seed", integer),
    "stop_sequences": ("stop", texts),
    "tool_choice": ("tool_choice", _choice),
    "response_format": ("response_schema", _response_schema),
}
"""Each field's name in the settings and its reader, which returns None for what has no place there."""
