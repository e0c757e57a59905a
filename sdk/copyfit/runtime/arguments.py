"""Read the arguments of a call, and hold them against the schema that the model was shown."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from copyfit.errors import ToolError
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.tools import ToolSpec
from copyfit.state.values import read_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_FAULTS_SHOWN: Final = 3
_FAULT_CHARS: Final = 250
"""Enough for a model to mend its call; a fault may quote a whole argument, and the sentence is cut to this."""

_VALIDATORS_KEPT: Final = 512
_DATA_KEYWORDS: Final = frozenset({"const", "default", "enum", "examples"})


def read_arguments(text: str) -> dict[str, Any]:
    """Return the JSON object that `text` spells; no text at all is an empty one.

    Raises:
        ValueError: it is not JSON, or not an object.

    """
    try:
        arguments = read_json(text or "{}")
    except ValueError as error:
        raise ValueError(f"The arguments are not JSON: {error}.") from error
    if not isinstance(arguments, dict):
        raise ValueError("The arguments are not a JSON object.")
    return arguments


class ArgumentSchema:
    """The JSON Schema of one tool's arguments; the library behind it is loaded here and not with the package.

    Raises:
        ToolError: the schema is not a JSON Schema, or refers to something outside itself.

    """

    def __init__(self, spec: ToolSpec) -> None:
        try:
            self._validator = _validator(canonical_json(spec.parameters))
        except (TypeError, ValueError) as error:
            raise ToolError(
                spec.name, f"The parameters of the tool {spec.name!r} are no JSON Schema: {error}; correct them."
            ) from error

    def fault(self, arguments: Mapping[str, Any]) -> str | None:
        """Return where and how `arguments` break the schema, or None when they keep it."""
        try:
            faults = list(islice(self._validator.iter_errors(arguments), _FAULTS_SHOWN))
        except re.error:
            # The regular expressions of a schema are ECMA's; one that Python cannot read is left to the tool.
            return None
        if not faults:
            return None
        said = "; ".join(f"{fault.json_path}: {fault.message[:_FAULT_CHARS]}" for fault in faults)
        return f"The arguments break the tool's schema at {said}."


@lru_cache(maxsize=_VALIDATORS_KEPT)
def _validator(schema_json: bytes) -> "Validator":
    """Return what validates by the schema; checking one takes milliseconds, and run after run has the same tools.

    Raises:
        ValueError: it is no schema, or refers to something outside itself.

    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry, Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    schema = json.loads(schema_json)
    dialect = validator_for(schema, default=Draft202012Validator)
    # Not `check_schema`: it would hold ECMA's regular expressions against Python's.
    fault = best_match(dialect(dialect.META_SCHEMA).iter_errors(schema))
    if fault is not None:
        raise ValueError(f"{fault.json_path}: {fault.message}")
    # An empty registry, so that a reference to the outside is an error here and never a look at the network.
    registry: Registry[Any] = Registry()
    resolver = registry.resolver_with_root(Resource.from_contents(schema, default_specification=DRAFT202012))
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable as error:
            raise ValueError(f"the reference {reference!r} leads nowhere inside it") from error
    return dialect(schema, registry=registry)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword == "$ref" and isinstance(value, str):
                yield value
            elif keyword not in _DATA_KEYWORDS:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
