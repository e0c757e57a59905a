"""An immutable sequence that grows at its end without being copied."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from threading import Lock
from typing import Any, Generic, TypeVar, overload

Item = TypeVar("Item")


class Growing(Sequence[Item]):
    """The first items of a list that only ever gets longer, and then a tail of its own.

    A sequence and those that it grew into share one list, like the slices of one array. No item of that list is
    ever changed or removed, and only a sequence that reaches to the end of the list adds to it, under a lock; one
    that does not is copied first. So each sequence stays what it is for whoever holds it, in any thread. An
    item stays in memory for as long as any of them does. It compares and hashes like the tuple of its items.
    """

    __slots__ = ("_log", "_shared", "_tail")

    def __init__(self, items: Iterable[Item] = (), *, tail: Iterable[Item] = ()) -> None:
        self._log = _Log(list(items))
        self._shared = len(self._log.items)
        self._tail = tuple(tail)

    @property
    def shared(self) -> int:
        """How many items come before the tail."""
        return self._shared

    @property
    def tail(self) -> tuple[Item, ...]:
        """The last items, which this sequence shares with no other."""
        return self._tail

    def extended(self, items: Iterable[Item], *, tail: Iterable[Item] = ()) -> "Growing[Item]":
        """Return what comes before the tail, then `items`, then `tail` in the place of the old tail."""
        added = tuple(items)
        grown: Growing[Item] = Growing.__new__(Growing)
        grown._log = self._log.taking(added, at=self._shared)
        grown._shared = self._shared + len(added)
        grown._tail = tuple(tail)
        return grown

    def followed_by(self, items: Iterable[Item]) -> "Growing[Item]":
        """Return this sequence with `items` at the end of its tail."""
        return self.extended((), tail=(*self._tail, *items))

    def shared_with(self, other: "Growing[Any]") -> int:
        """Return how many items at the beginning of both are the same for certain; it takes no look at them."""
        return min(self._shared, other._shared) if self._log is other._log else 0

    def begins_with(self, other: "Growing[Item]") -> bool:
        """Return whether the first items equal those of `other`."""
        return other.shared_with(self) == len(other) or self[: len(other)] == other

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self))) if index.step is None else tuple(self)[index]
        place = index + len(self) if index < 0 else index
        if place < 0:
            raise IndexError(index)
        return self._log.items[place] if place < self._shared else self._tail[place - self._shared]

    def _slice(self, start: int, stop: int, _: int) -> tuple[Item, ...]:
        shared = self._shared
        tail = self._tail[max(start - shared, 0) : max(stop - shared, 0)]
        return (*self._log.items[start : min(stop, shared)], *tail)

    def __len__(self) -> int:
        return self._shared + len(self._tail)

    def __iter__(self) -> Iterator[Item]:
        return chain(islice(self._log.items, self._shared), self._tail)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Growing | tuple):
            return NotImplemented
        return len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Growing({len(self)} items)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self[: self._shared], self._tail)


class _Log(Generic[Item]):
    """The list that sequences share."""

    __slots__ = ("_lock", "items")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self._lock = Lock()

    def taking(self, added: Sequence[Item], *, at: int) -> "_Log[Item]":
        """Return the list whose first `at` items are these and whose next are `added`: this one, or a copy."""
        if not added:
            return self
        with self._lock:
            if len(self.items) == at:
                self.items.extend(added)
                return self
        return _Log([*islice(self.items, at), *added])


def _rebuilt(shared: tuple[Item, ...], tail: tuple[Item, ...]) -> Growing[Item]:
    return Growing(shared, tail=tail)
