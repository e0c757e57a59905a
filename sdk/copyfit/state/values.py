"""Keep what tools and models said as JSON text of a bounded length."""

import json
from typing import Any

VALUE_CAP_CHARS = 3_000
"""Code points that one kept value may have (behaviour.md section 1.3)."""


def read_json(text: str) -> Any:
    """Return the JSON value that `text` spells.

    Raises:
        ValueError: `text` is not JSON, holds NaN or an infinity, or is nested too deeply to be read.

    """
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("the JSON text is nested too deeply to be read") from error


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object that `text` spells, or an empty one when it spells something else."""
    try:
        value = read_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def compact_json(value: Any) -> str:
    """Return `value` as JSON on one line: keys as they come, no blanks, non-ASCII text as itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def kept_result(text: str) -> str:
    """Return a tool's `text` as compact JSON, itself a string when it is not JSON, cut to `VALUE_CAP_CHARS`.

    A value that is too long becomes a string: the first `VALUE_CAP_CHARS` code points and a line that says so.
    """
    try:
        value = read_json(text)
        line = compact_json(value)
    except (ValueError, RecursionError):
        value, line = text, compact_json(text)
    shown = value if isinstance(value, str) else line
    return compact_json(_cut(shown)) if len(shown) > VALUE_CAP_CHARS else line


def kept_arguments(text: str) -> str:
    """Return a call's arguments as a compact JSON object, empty when `text` is no object.

    Arguments that are too long become ``{"truncatedValue": ...}`` with what `kept_result` would keep.
    """
    arguments = compact_json(read_object(text))
    if len(arguments) <= VALUE_CAP_CHARS:
        return arguments
    return compact_json({"truncatedValue": _cut(arguments)})


def reads_as_failure(text: str) -> bool:
    """Return whether a historical result says that its tool failed.

    It does when it is an object with ``ok`` false, or with an ``error`` object that has a text ``code``.
    """
    value = read_object(text)
    error = value.get("error")
    return value.get("ok") is False or (isinstance(error, dict) and isinstance(error.get("code"), str))


def _cut(text: str) -> str:
    return f"{text[:VALUE_CAP_CHARS]}\n[cut here: {len(text)} characters in all]"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
