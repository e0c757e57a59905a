"""Keep a fact about a growing sequence by looking only at the items that are new."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from copyfit.shapes.growing import Growing, Item

Fact = TypeVar("Fact")

_LINES: Final = 4
"""Sequences followed at once: the canonical history, what a window left visible of it, and a candidate's two."""


class RunningFact(Generic[Item, Fact]):
    """A reduction over a growing sequence that remembers how far it came.

    A turn costs what it adds and not what stands. After a compaction the history is another sequence, and the fact
    is made anew. The tail of a sequence may still change (the last step may take in results); its share is
    therefore never remembered.
    """

    def __init__(self, start: Fact, add: Callable[[Fact, int, Item], Fact]) -> None:
        """Begin with the immutable `start`; `add` returns the fact with the item at an index taken in."""
        self._start = start
        self._add = add
        self._lines: tuple[tuple[Growing[Item], Fact], ...] = ()

    def of(self, items: Growing[Item]) -> Fact:
        """Return the fact about all of `items`."""
        seen, fact = 0, self._start
        others = []
        for line in self._lines:
            shared = line[0].shared_with(items)
            if not shared:
                others.append(line)
            elif shared == line[0].shared:
                seen, fact = shared, line[1]
        for index in range(seen, items.shared):
            fact = self._add(fact, index, items[index])
        self._lines = ((items, fact), *others[: _LINES - 1])
        for index in range(items.shared, len(items)):
            fact = self._add(fact, index, items[index])
        return fact
