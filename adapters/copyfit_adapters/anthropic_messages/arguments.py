"""The arguments of a call: exact JSON text in the shapes, an object on the wire."""

import json
import math
from typing import Any

from copyfit_adapters.anthropic_messages.dialect import MALFORMED


class ExactJson(str):
    """The text of an input as a stream spelled it, where a whole answer holds the parsed object."""

    __slots__ = ()


def as_input(arguments: str) -> dict[str, Any]:
    """Return the object that `arguments` stand for.

    No text is no arguments. A text that is no JSON object, which a model can write and an answer cut by its cap
    can end in, becomes an object that holds the text, so that the history can still be sent.
    """
    if not arguments:
        return {}
    try:
        value = json.loads(arguments, parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {MALFORMED: arguments}


def as_arguments(value: Any) -> str | None:
    """Return the JSON text of an input, or None when it is none."""
    if isinstance(value, ExactJson):
        return str(value) or "{}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict) else None


def finite(text: str) -> float:
    """Return the number in `text`.

    Raises:
        ValueError: JSON has no such number, or no float can hold it.

    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no JSON number that a float can hold")
    return value
