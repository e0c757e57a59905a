"""The two spellings of a field: the API answers in camelCase, and takes snake_case as well."""

import re
from collections.abc import Mapping
from typing import Any


def spelled(fields: Mapping[str, Any], *known: str, only_named: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return `fields` with those that are `known`, by their camelCase names, under just these names.

    A known field that is null is an absent one; those that are `only_named` may be null. Fields that are neither
    keep their spelling, and so does one that stands there under both names.
    """
    names = {_SNAKE.sub(lambda found: "_" + found[0].lower(), name): name for name in (*known, *only_named)}
    found: dict[str, Any] = {}
    for name, value in fields.items():
        camel = names.get(name, name)
        own = name if camel != name and camel in fields else camel
        if value is not None or own not in known:
            found[own] = value
    return found


_SNAKE = re.compile("[A-Z]")
