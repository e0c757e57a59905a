"""What every wire protocol shares: the request it makes, and the losses it declares."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

InputData = Mapping[str, Any]
"""A model input as plain JSON data, as `ModelInput.as_data` returns it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request, ready to be sent: the `path` below the provider's base URL, the `body` bytes, extra headers."""

    path: str
    body: bytes = field(repr=False)
    headers: tuple[tuple[str, str], ...] = ()


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
    rewrite: Callable[[InputData], InputData] = field(repr=False, compare=False)


def without_losses(data: InputData, losses: Iterable[Loss]) -> InputData:
    """Return `data` as it stands after every one of `losses`, applied in order.

    Two inputs that agree after this differ in nothing that the wire format can carry: a request proves
    ``without_losses(readback(body).as_data(), losses) == without_losses(model_input.as_data(), losses)``.
    """
    for loss in losses:
        data = loss.rewrite(data)
    return data


def in_messages(rewrite: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[InputData], InputData]:
    """Return the rewriting of a whole input that does `rewrite` to each of its messages."""
    return lambda data: {**data, "messages": [rewrite(message) for message in data["messages"]]}


def foreign_extras_dropped(protocol: str) -> Loss:
    """Return the loss of every `extra` that is empty or belongs to another protocol than `protocol`."""

    def own(value: Any) -> Any:
        if isinstance(value, list):
            return [own(entry) for entry in value]
        if not isinstance(value, Mapping):
            return value
        kept = {key: entry if key in _OPEN else own(entry) for key, entry in value.items() if key != "extra"}
        mine = value.get("extra", {}).get(protocol)
        return {**kept, "extra": {protocol: mine}} if mine else kept

    return Loss(
        name="foreign-extra",
        where=f"every extra[!={protocol}]",
        effect=Effect.DROPPED,
        reason="fields of another protocol mean nothing to this one",
        rewrite=own,
    )


_OPEN = frozenset({"parameters", "opaque"})
"""Fields of the shapes that hold data of others, where an "extra" is just a key."""


def surrogates_joined() -> Loss:
    """Return the loss of the difference between the two halves of a surrogate pair and their character."""

    def joined(value: Any) -> Any:
        if isinstance(value, str):
            return join_surrogates(value)
        if isinstance(value, list):
            return [joined(entry) for entry in value]
        if isinstance(value, Mapping):
            return {joined(key): joined(entry) for key, entry in value.items()}
        return value

    return Loss(
        name="surrogate-pairs",
        where="every text",
        effect=Effect.MERGED,
        reason="JSON escapes have one form for a high and a low surrogate in a row: the character that they make",
        rewrite=joined,
    )


def join_surrogates(text: str) -> str:
    """Return `text` with each high and low surrogate in a row as the one character that they make."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
