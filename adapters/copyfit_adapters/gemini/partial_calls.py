"""Put a call together whose arguments are streamed, as Vertex AI does where a request sets the option for it.

Such a call begins with its name, goes on in parts that each bring values of some arguments, named by their JSON
paths (RFC 9535), and has ended with the first part that does not say ``willContinue``. A text comes in pieces.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from copyfit_adapters.codec.reading import without
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.parts import READER
from copyfit_adapters.gemini.spelling import spelled

CALL = "functionCall"
_PIECES, _GOES_ON = "partialArgs", "willContinue"
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_ESCAPE = re.compile(r"\\(.)")


class PartialCalls:
    """The call that is coming, if one is."""

    def __init__(self) -> None:
        self._part: dict[str, Any] | None = None
        self._arguments: dict[str, Any] = {}

    @property
    def unfinished(self) -> dict[str, Any] | None:
        """The part with what came of a call that has not ended; it says so itself, and is read as no call."""
        return None if self._part is None else self._part | {CALL: self._part[CALL] | {_GOES_ON: True}}

    def whole(self, part: dict[str, Any], where: str) -> dict[str, Any] | None:
        """Return `part` if it is whole, the call if it has ended with it, or None while more is to come.

        Raises:
            UnreadableRequest: the pieces are no list, or one belongs to an argument that has no place among those
                before it.

        """
        fields = spelled(part, CALL)
        if not isinstance(fields.get(CALL), dict):
            return part
        came = spelled(fields[CALL], "id", "name", "args", _PIECES, _GOES_ON)
        if self._part is None and not came.keys() & {_PIECES, _GOES_ON}:
            return part
        if isinstance(came.get("args"), dict):
            self._arguments |= came["args"]
        for piece in READER.list(came.get(_PIECES, []), where):
            self._put(piece, where)
        began = self._part or {}
        known = began.get(CALL, {}) | without(came, _PIECES, _GOES_ON) | {"args": self._arguments}
        grown = began | fields | {CALL: known}
        if came.get(_GOES_ON):
            self._part = grown
            return None
        self._part, self._arguments = None, {}
        return grown

    def _put(self, piece: Any, where: str) -> None:
        """Put the value of one piece in its place; a text goes on with the text that is there."""
        fields = (
            spelled(piece, "jsonPath", *_VALUES[:3], only_named=_VALUES[3:]) if isinstance(piece, Mapping) else {}
        )
        steps = _steps(fields.get("jsonPath"))
        if not steps:
            raise _unreadable(where)
        name = next((name for name in _VALUES if name in fields), None)
        if name is None:
            return
        holder: Any = self._arguments
        for step, following in pairwise(steps):
            holder = _entry(holder, step, [] if isinstance(following, int) else {}, where)
        value = None if name == "nullValue" else fields[name]
        before = _entry(holder, steps[-1], None, where)
        holder[steps[-1]] = before + value if isinstance(before, str) and isinstance(value, str) else value


def _steps(path: Any) -> list[str | int]:
    """Return the names and numbers that a path to one value leads through; none if it is no such path."""
    steps: list[str | int] = []
    if not isinstance(path, str) or not path.startswith("$"):
        return steps
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return []
        name, number, *quoted = found.groups()
        text = name if name is not None else next((text for text in quoted if text is not None), "")
        steps.append(int(number) if number is not None else _ESCAPE.sub(r"\1", text))
        at = found.end()
    return steps


def _entry(holder: Any, step: str | int, otherwise: Any, where: str) -> Any:
    """Return what stands in `holder` at `step`, where `otherwise` is put if nothing does."""
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, otherwise)
    if isinstance(holder, list) and isinstance(step, int) and step <= len(holder):
        if step == len(holder):
            holder.append(otherwise)
        return holder[step]
    raise _unreadable(where)


def _unreadable(where: str) -> UnreadableRequest:
    return UnreadableRequest(PROTOCOL, where, "brings an argument that has no place among those before it")
