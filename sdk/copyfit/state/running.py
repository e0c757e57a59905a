"""Keep a fact about a growing history by looking only at the steps that are new."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from copyfit.shapes.steps import Step

Fact = TypeVar("Fact")

_LINES: Final = 2
"""Histories followed at once: the canonical one, and the part of it that a window left visible."""


class RunningFact(Generic[Fact]):
    """A reduction over the steps of a history that remembers how far it came.

    A grown transcript shares the steps of the one before, so a turn costs what it adds and not what stands. After
    a compaction the history begins differently, and the fact is made anew. The last step may still take in
    results; its share is therefore never remembered.
    """

    def __init__(self, start: Fact, add: Callable[[Fact, int, Step], Fact]) -> None:
        """Begin with the immutable `start`; `add` returns the fact with the step at an index taken in."""
        self._start = start
        self._add = add
        self._lines: tuple[tuple[tuple[Step, ...], Fact], ...] = ()

    def of(self, steps: tuple[Step, ...]) -> Fact:
        """Return the fact about all of `steps`."""
        if not steps:
            return self._start
        settled = steps[:-1]
        # Shared steps are the same objects, so these comparisons stay in C and look into no message.
        known = [line for line in self._lines if settled[: len(line[0])] == line[0]]
        seen, fact = max(known, key=lambda line: len(line[0]), default=((), self._start))
        for index in range(len(seen), len(settled)):
            fact = self._add(fact, index, settled[index])
        others = tuple(line for line in self._lines if line[0] is not seen)
        self._lines = ((settled, fact), *others)[:_LINES]
        return self._add(fact, len(settled), steps[-1])
