"""Remember one value for each message, by the message's identity and for as long as it lives."""

import weakref
from typing import Generic, TypeVar

from copyfit.shapes.messages import Shape

Value = TypeVar("Value")


class IdentityMemo(Generic[Value]):
    """Values by the identity of a shape, which need not be hashable; an entry goes when its shape goes."""

    def __init__(self) -> None:
        entries: dict[int, tuple[_Ref, Value]] = {}

        def forget(ref: _Ref) -> None:
            # Another shape may live at the same address by now.
            entry = entries.get(ref.address)
            if entry is not None and entry[0] is ref:
                del entries[ref.address]

        self._entries = entries
        self._forget = forget

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, shape: Shape) -> Value | None:
        """Return what is remembered of `shape`, or None."""
        entry = self._entries.get(id(shape))
        return entry[1] if entry is not None and entry[0]() is shape else None

    def keep(self, shape: Shape, value: Value) -> None:
        """Remember `value` of `shape`."""
        ref = _Ref(shape, self._forget)
        ref.address = id(shape)
        self._entries[ref.address] = (ref, value)


class _Ref(weakref.ref[Shape]):
    """A weak reference that knows where its shape was."""

    __slots__ = ("address",)
    address: int
