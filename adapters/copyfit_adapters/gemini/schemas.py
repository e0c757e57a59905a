"""Read the API's older schemas, a selection from OpenAPI 3.0, as the JSON Schemas that they stand for."""

from collections.abc import Mapping
from typing import Any

_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_ONE = ("items", "additionalProperties")
_NAMED = ("properties", "defs")
_LISTED = ("anyOf", "prefixItems")


def as_json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return `schema` with the types of JSON Schema: in lower case, with ``null`` where it is nullable."""
    found = dict(schema)
    kind = found.get("type")
    if isinstance(kind, str) and kind.upper() in _TYPES:
        found["type"] = kind.lower()
        if found.get("nullable") is True:
            del found["nullable"]
            found["type"] = [kind.lower(), "null"]
    for name in _ONE:
        if isinstance(found.get(name), Mapping):
            found[name] = as_json_schema(found[name])
    for name in _NAMED:
        if isinstance(found.get(name), Mapping):
            found[name] = {key: _each(entry) for key, entry in found[name].items()}
    for name in _LISTED:
        if isinstance(found.get(name), list):
            found[name] = [_each(entry) for entry in found[name]]
    return found


def _each(entry: Any) -> Any:
    return as_json_schema(entry) if isinstance(entry, Mapping) else entry
