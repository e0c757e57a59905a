"""Put the pieces of a streamed JSON object together into the object that a whole answer would have held."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from copyfit_adapters.codec.json_text import join_surrogates

_ONCE = frozenset({"id", "type", "role", "index", "format", "name"})
"""Fields of a piece that name something: a later piece repeats them instead of going on with them."""


class _Pieces(list[Any]):
    """The pieces of one text, joined when all have come, so that a long answer costs no more for each piece."""


def merge(held: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Go on with `held` where `piece` goes on: texts and lists grow, objects merge, anything else is replaced.

    List entries that carry an index merge with the entry of that index, unless the two name different things.
    """
    for name, value in piece.items():
        old = held.get(name)
        if isinstance(value, str) and name not in _ONCE:
            pieces = old if isinstance(old, _Pieces) else _Pieces(old if isinstance(old, list) else [old or ""])
            pieces.append(value)
            held[name] = pieces
        elif isinstance(value, dict):
            held[name] = old if isinstance(old, dict) else {}
            merge(held[name], value)
        elif isinstance(value, list):
            held[name] = old if isinstance(old, list) else []
            _grow(held[name], value)
        elif value is not None or old is None:
            held[name] = value


def _grow(held: list[Any], pieces: list[Any]) -> None:
    for piece in pieces:
        same = _entry(held, piece) if isinstance(piece, dict) and piece.get("index") is not None else None
        if same is not None:
            merge(same, piece)
        else:
            held.append(piece)


def _entry(held: list[Any], piece: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the entry that `piece` goes on with: the last of its index that has no other type or id.

    OpenRouter gives the text of Gemini's reasoning and the signature of each call one index (recorded).
    """
    for entry in reversed(held):
        if isinstance(entry, dict) and entry.get("index") == piece["index"]:
            named = ((entry.get(name), piece.get(name)) for name in ("type", "id"))
            if all(old is None or new is None or old == new for old, new in named):
                return entry
    return None


def settled(value: Any) -> Any:
    """Return `value` with its texts joined; a text that stands among other things becomes a text part."""
    if isinstance(value, dict):
        return {name: settled(entry) for name, entry in value.items()}
    if not isinstance(value, list):
        return value
    if not isinstance(value, _Pieces):
        return [settled(entry) for entry in value]
    if all(isinstance(piece, str) for piece in value):
        return join_surrogates("".join(value))
    runs = ((kind, list(run)) for kind, run in groupby(value, key=lambda piece: isinstance(piece, str)))
    parts = [[{"type": "text", "text": "".join(run)}] if texts else run for texts, run in runs]
    return [part for run in parts for part in run if part != {"type": "text", "text": ""}]
