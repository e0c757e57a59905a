"""Functions, calls and what belongs to them in the form of chat completions, which several protocols share.

A reader returns None for what has no place in the shapes; the field then stays whole in an `extra`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from copyfit.shapes.messages import ToolCall
from copyfit.shapes.model_input import ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import Reader, without
from copyfit_adapters.codec.writing import given

Shape = TypeVar("Shape")

TOOL_FIELDS: Mapping[str, type] = MappingProxyType(
    {"name": str, "description": str, "parameters": dict, "strict": bool}
)
"""The fields of a function and the types of their values."""


def read_function(tool: Any, reader: Reader, fields: Mapping[str, type] = TOOL_FIELDS) -> ToolSpec | None:
    """Return the shape of one entry of `tools`, or None when it is not a function with a name.

    Of the function's own, `fields` are modelled. One without parameters takes none.
    """
    function = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(function, dict) or tool.get("type") not in (None, "function"):
        return None
    known = {name: function[name] for name in fields if function.get(name) is not None}
    if "name" not in known or any(not isinstance(value, fields[name]) for name, value in known.items()):
        return None
    rest, inner = without(tool, "type", "function"), without(function, *fields)
    return ToolSpec(**known, extra=reader.extra(rest, function=inner))


def read_function_call(call: Any, reader: Reader, *, objects: bool = False) -> ToolCall | None:
    """Return the shape of one entry of `tool_calls`, or None when it is not a complete call of a function.

    Arguments are a text, which is kept as it is, and where the protocol has `objects` also an object.
    """
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or call.get("type") not in (None, "function"):
        return None
    call_id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    if objects and not isinstance(arguments, str):
        arguments = as_arguments(arguments)
    if not (isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)):
        return None
    rest = without(call, "id", "type", "function")
    inner = without(function, "name", "arguments")
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=reader.extra(rest, function=inner))


def read_all(value: Any, read: Callable[[Any], Shape | None]) -> tuple[Shape, ...] | None:
    """Return what `read` makes of every entry of a list, none without a list; or None when one has no shape."""
    if value is None:
        return ()
    shapes = tuple(map(read, value)) if isinstance(value, list) else (None,)
    return None if None in shapes else tuple(shape for shape in shapes if shape is not None)


def pop_all(rest: dict[str, Any], field: str, read: Callable[[Any], Shape | None]) -> tuple[Shape, ...]:
    """Take the list `field` out of `rest` and return its shapes; one that `read_all` cannot read stays there."""
    shapes = read_all(rest.get(field), read)
    if shapes is None:
        return ()
    rest.pop(field, None)
    return shapes


def named_function(value: Any) -> str | None:
    """Return the choice of the one function that `value` names."""
    match value:
        case {"type": "function", "function": {"name": str(name), **inner}, **rest} if not inner and not rest:
            return f"tool:{name}"
    return None


def schema_format(value: Any) -> ResponseSchema | None:
    """Return the schema in a response format of the type ``json_schema``."""
    match value:
        case {"type": "json_schema", "json_schema": {"name": str(name), "schema": dict(schema), **rest}}:
            description, strict = rest.pop("description", None), rest.pop("strict", None)
            modelled = isinstance(description, str | None) and isinstance(strict, bool | None)
            if len(value) == 2 and not rest and modelled:
                return ResponseSchema(name=name, json_schema=schema, description=description, strict=strict)
    return None


def response_format(schema: ResponseSchema) -> dict[str, Any]:
    """Return the response format of the type ``json_schema`` that asks for `schema`; `schema_format` reads it."""
    described = given(
        name=schema.name, description=schema.description, schema=schema.json_schema, strict=schema.strict
    )
    return {"type": "json_schema", "json_schema": described}
