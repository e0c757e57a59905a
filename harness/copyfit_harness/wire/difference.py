"""Find the smallest difference between two JSON values, path by path, and say it in a few lines.

`json_differences` compares strictly: ``1``, ``1.0`` and ``true`` are three values. Lists are aligned first, so
that one inserted message is one difference and not a change of everything behind it.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

_PLAIN_KEY = re.compile(r"[^\W\d]\w*")
_LARGEST_ALIGNED_BLOCK = 256
"""Pairs of items up to which a differing stretch of two lists is aligned by cost; longer ones pair in order."""


class DifferenceKind(StrEnum):
    """What happened to the value at a path."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One differing value.

    `path` reads like ``messages[3].content``; indexes count in the actual value, except for something removed,
    where they count in the expected one. The root is the empty path. `expected` is None for something added,
    `actual` for something removed.
    """

    kind: DifferenceKind
    path: str
    expected: Any = None
    actual: Any = None

    @property
    def weight(self) -> int:
        """How much differs, in code points of text; never 0."""
        if isinstance(self.expected, str) and isinstance(self.actual, str):
            start, end = _shared_ends(self.expected, self.actual)
            return max(1, len(self.expected) + len(self.actual) - 2 * (start + end))
        sides = {
            DifferenceKind.ADDED: [self.actual],
            DifferenceKind.REMOVED: [self.expected],
            DifferenceKind.CHANGED: [self.expected, self.actual],
        }
        return sum(len(_fingerprint(side)) for side in sides[self.kind])


def json_differences(expected: Any, actual: Any) -> tuple[Difference, ...]:
    """Return what has to be changed in `expected` to make it `actual`; empty when they are the same value.

    Bytes are accepted as leaves beside the JSON values.
    """
    return tuple(_walk(expected, actual, ""))


def describe(
    difference: Difference, *, expected_name: str = "expected", actual_name: str = "actual", context: int = 40
) -> str:
    """Return `difference` in one to three lines, with `context` code points shown to each side of a change."""
    path = difference.path or "(the whole value)"
    if difference.kind is DifferenceKind.ADDED:
        return f"+ {path}: only in {actual_name}: {_abbreviated(difference.actual, 2 * context)}"
    if difference.kind is DifferenceKind.REMOVED:
        return f"- {path}: only in {expected_name}: {_abbreviated(difference.expected, 2 * context)}"
    width = max(len(expected_name), len(actual_name)) + 1
    note, left, right = _both_sides(difference.expected, difference.actual, context)
    return f"~ {path}: {note}\n    {expected_name + ':':<{width}} {left}\n    {actual_name + ':':<{width}} {right}"


def _walk(expected: Any, actual: Any, path: str) -> Iterator[Difference]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        yield from _walk_objects(expected, actual, path)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _walk_lists(expected, actual, path)
    elif _fingerprint(expected) != _fingerprint(actual):
        yield Difference(DifferenceKind.CHANGED, path, expected, actual)


def _walk_objects(expected: dict[str, Any], actual: dict[str, Any], path: str) -> Iterator[Difference]:
    for key, value in expected.items():
        if key in actual:
            yield from _walk(value, actual[key], _member(path, key))
        else:
            yield Difference(DifferenceKind.REMOVED, _member(path, key), expected=value)
    for key, value in actual.items():
        if key not in expected:
            yield Difference(DifferenceKind.ADDED, _member(path, key), actual=value)


def _walk_lists(expected: list[Any], actual: list[Any], path: str) -> Iterator[Difference]:
    for left, right in _aligned(expected, actual):
        if left is None:
            yield Difference(DifferenceKind.ADDED, f"{path}[{right}]", actual=actual[right])
        elif right is None:
            yield Difference(DifferenceKind.REMOVED, f"{path}[{left}]", expected=expected[left])
        else:
            yield from _walk(expected[left], actual[right], f"{path}[{right}]")


def _aligned(expected: list[Any], actual: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Pair the indexes of items that differ; one side is None where an item was added or removed."""
    left = [_fingerprint(item) for item in expected]
    right = [_fingerprint(item) for item in actual]
    for tag, low, high, start, stop in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if 1 < (high - low) * (stop - start) <= _LARGEST_ALIGNED_BLOCK:
            pairs = _cheapest_pairs(expected[low:high], actual[start:stop])
        else:
            pairs = _pairs_in_order(high - low, stop - start)
        for one, other in pairs:
            yield None if one is None else low + one, None if other is None else start + other


def _pairs_in_order(count: int, other: int) -> list[tuple[int | None, int | None]]:
    return [(at if at < count else None, at if at < other else None) for at in range(max(count, other))]


def _cheapest_pairs(expected: list[Any], actual: list[Any]) -> list[tuple[int | None, int | None]]:
    """Pair two short lists so that the text that differs is least: an edit distance over whole items."""
    rows, columns = len(expected), len(actual)
    removal = [len(_fingerprint(item)) for item in expected]
    addition = [len(_fingerprint(item)) for item in actual]
    # best[i][j]: the cost of turning the first i expected items into the first j actual ones, and the last step.
    best: list[list[tuple[int, int, int]]] = [[(0, 0, 0)] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows + 1):
        for j in range(columns + 1):
            steps = []
            if i and j:
                change = sum(found.weight for found in _walk(expected[i - 1], actual[j - 1], ""))
                steps.append((best[i - 1][j - 1][0] + change, 1, 1))
            if i:
                steps.append((best[i - 1][j][0] + removal[i - 1], 1, 0))
            if j:
                steps.append((best[i][j - 1][0] + addition[j - 1], 0, 1))
            if steps:
                best[i][j] = min(steps, key=lambda step: step[0])
    pairs: list[tuple[int | None, int | None]] = []
    i, j = rows, columns
    while i or j:
        _, back, aside = best[i][j]
        i, j = i - back, j - aside
        pairs.append((i if back else None, j if aside else None))
    return pairs[::-1]


def _member(path: str, key: str) -> str:
    if _PLAIN_KEY.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _fingerprint(value: Any) -> str:
    """Return a text that two values share only if they are the same value: ``1`` and ``1.0`` do not."""
    if isinstance(value, str):
        return '"' + value
    return json.dumps(value, sort_keys=True, default=repr)


def _shared_ends(one: str, other: str) -> tuple[int, int]:
    """Return how many code points the two texts share at their start and, not counting these, at their end."""
    start = _shared_start(one, other)
    return start, _shared_start(one[start:][::-1], other[start:][::-1])


def _shared_start(one: Sequence[Any], other: Sequence[Any]) -> int:
    # By halving, because comparing slices runs at the speed of memcmp and a loop over code points does not.
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _both_sides(expected: Any, actual: Any, context: int) -> tuple[str, str, str]:
    if isinstance(expected, str) and isinstance(actual, str):
        at = _shared_start(expected, actual)
        left, right = _around(expected, at, context), _around(actual, at, context)
        if unicodedata.normalize("NFKC", left) == unicodedata.normalize("NFKC", right):
            # They look alike in most fonts: only the escapes tell them apart.
            left, right = (ascii(side)[1:-1] for side in (left, right))
        note = f"differs from code point {at} on ({len(expected)} against {len(actual)} code points)"
        return note, _visible(left), _visible(right)
    if isinstance(expected, bytes) and isinstance(actual, bytes):
        at = _shared_start(expected, actual)
        near = slice(max(0, at - context // 4), at + context // 4)
        note = f"differs from byte {at} on ({len(expected)} against {len(actual)} bytes)"
        return note, expected[near].hex(" "), actual[near].hex(" ")
    left, right = _type_name(expected), _type_name(actual)
    note = "differs" if left == right else f"is {right} where {left} was expected"
    return note, _abbreviated(expected, 2 * context), _abbreviated(actual, 2 * context)


def _around(text: str, at: int, context: int) -> str:
    low, high = max(0, at - context), min(len(text), at + context)
    return f"{'…' if low else ''}{text[low:high]}{'…' if high < len(text) else ''}"


def _abbreviated(value: Any, length: int) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes, {value[: length // 4].hex(' ')}{'…' if len(value) > length // 4 else ''}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if len(text) <= length:
        return _visible(text)
    return f"{_visible(text[:length])}… ({len(text) - length} more code points)"


def _visible(text: str) -> str:
    """Write line breaks, blanks other than the space, and everything else that prints nothing, as escapes."""
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "an integer"}
    names |= {float: "a number with a fraction", bytes: "binary", type(None): "null"}
    return names.get(type(value), type(value).__name__)
