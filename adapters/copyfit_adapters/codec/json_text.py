"""JSON as copyfit writes and reads it: compact, UTF-8, every number finite; and the arguments of a call."""

import json
import math
from typing import Any

MALFORMED = "malformed_arguments"
"""The one field of an arguments object that holds the text of arguments that are no JSON object."""


class ExactJson(str):
    """The text of a JSON value as a stream spelled it, where a whole answer holds the parsed value."""

    __slots__ = ()


def dumps(value: Any) -> bytes:
    """Return `value` as compact JSON; text with a lone surrogate, which UTF-8 cannot carry, has JSON escapes.

    Raises:
        ValueError: it holds a number that is not finite, or itself.
        TypeError: it holds something that JSON has no form for.
        RecursionError: it is nested too deeply.

    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def loads(text: str) -> Any:
    """Return the JSON value in `text`.

    Raises:
        ValueError: it is no JSON, or holds a number that no float can.
        RecursionError: it is nested too deeply.

    """
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def as_object(arguments: str) -> dict[str, Any]:
    """Return the object that the `arguments` of a call stand for.

    No text is no arguments. A text that is no JSON object, which a model can write and an answer cut by its cap
    can end in, becomes an object that holds the text, so that the history can still be sent.
    """
    if not arguments:
        return {}
    try:
        value = loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {MALFORMED: arguments}


def as_object_text(arguments: str) -> str:
    """Return `arguments` as they are if they are the text of a JSON object, and else that of `as_object`."""
    found = as_object(arguments)
    mended = not arguments or found == {MALFORMED: arguments}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) if mended else arguments


def as_arguments(value: Any) -> str | None:
    """Return the JSON text of an arguments object, or None when it is none."""
    if isinstance(value, ExactJson):
        return str(value) or "{}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict) else None


def join_surrogates(text: str) -> str:
    """Return `text` with each high and low surrogate in a row as the one character that they make."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no JSON number that a float can hold")
    return value
