"""What a wire format cannot carry, declared as data: the form of a declaration, and ways through a model input."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from copyfit_adapters.codec.reading import without

InputData = Mapping[str, Any]
"""A model input as plain JSON data, as `ModelInput.as_data` returns it."""
Object = Mapping[str, Any]
"""A message, a part of one, a tool or the settings, as it stands in such data."""
Rewrite = Callable[[InputData], InputData]


class Effect(StrEnum):
    """What becomes of a thing that a wire format cannot carry as it is."""

    DROPPED = "dropped"
    """It does not travel."""
    MERGED = "merged"
    """Several of it travel as one."""
    MOVED = "moved"
    """It travels in another place of the same message."""
    REWRITTEN = "rewritten"
    """It travels in another form that means the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One thing that a wire format cannot carry: what it is, where it applies, what happens, and why.

    `where` is a path into `ModelInput.as_data`. `rewrite` does to plain data what the wire does to the thing; it
    changes nothing else, gives its result as new data, and doing it twice is doing it once.
    """

    name: str
    where: str
    effect: Effect
    reason: str
    rewrite: Rewrite = field(repr=False, compare=False)


def without_losses(data: InputData, losses: Iterable[Loss]) -> InputData:
    """Return `data` as it stands after every one of `losses`, applied in order.

    Two inputs that agree after this differ in nothing that the wire format can carry: a request proves
    ``without_losses(readback(body).as_data(), losses) == without_losses(model_input.as_data(), losses)``.
    """
    for loss in losses:
        data = loss.rewrite(data)
    return data


def incurred(data: InputData, losses: Iterable[Loss]) -> tuple[Loss, ...]:
    """Return those of `losses` that change something in `data`, each applied after the ones before it."""
    found: list[Loss] = []
    for loss in losses:
        rewritten = loss.rewrite(data)
        if rewritten != data:
            found.append(loss)
        data = rewritten
    return tuple(found)


def own_extra(holder: Object, protocol: str) -> Object:
    """Return what the `extra` of a message, a part, a tool or the settings holds for `protocol`."""
    own: Object = holder.get("extra", {}).get(protocol, {})
    return own


def with_own_extra(holder: Object, protocol: str, own: Object) -> Object:
    """Return `holder` with `own` as what its extra holds for `protocol`; nothing empty is left."""
    extra = without(holder.get("extra", {}), protocol) | ({protocol: own} if own else {})
    return {**holder, "extra": extra} if extra else without(holder, "extra")


def in_messages(rewrite: Callable[[Object], Object]) -> Rewrite:
    """Return the rewriting of a whole input that does `rewrite` to each of its messages."""
    return lambda data: {**data, "messages": [rewrite(message) for message in data["messages"]]}


def in_contents(rewrite: Callable[[list[Object]], list[Object]], *roles: str) -> Rewrite:
    """Return the rewriting of a whole input that does `rewrite` to the parts of each message under `roles`.

    Without `roles` it is done to every message. A content that is plain text is left as it is.
    """

    def one(message: Object) -> Object:
        content = message["content"]
        if isinstance(content, str) or (roles and message["role"] not in roles):
            return message
        return {**message, "content": rewrite(content)}

    return in_messages(one)


def in_parts(rewrite: Callable[[Object], Object | None]) -> Rewrite:
    """Return the rewriting of a whole input that does `rewrite` to each part; None takes the part away."""

    def all_of(parts: list[Object]) -> list[Object]:
        return [part for part in map(rewrite, parts) if part is not None]

    return in_contents(all_of)


def in_settings(rewrite: Callable[[Object, InputData], Object]) -> Rewrite:
    """Return the rewriting of a whole input that does `rewrite` to its settings, seen beside the whole."""
    return lambda data: {**data, "settings": rewrite(data["settings"], data)}
