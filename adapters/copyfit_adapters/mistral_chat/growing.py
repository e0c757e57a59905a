"""Put the pieces of a streamed content together into the content that a whole answer would have held.

A piece is a text or a list of chunks. The pieces of one text, and of one run of reasoning, come as chunks of their
own; in a whole answer they are one chunk.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.codec.reading import without


def joined(pieces: Iterable[Any]) -> str | list[Any]:
    """Return the content that `pieces`, each a text or a chunk, add up to; a text if all of them are texts."""
    pieces = list(pieces)
    if all(isinstance(piece, str) for piece in pieces):
        return join_surrogates("".join(pieces))
    chunks = [{"type": "text", "text": piece} if isinstance(piece, str) else piece for piece in pieces]
    # An empty text stands between two pieces of one reasoning, and ends none of them.
    said = [chunk for chunk in chunks if chunk != {"type": "text", "text": ""}]
    runs = groupby(said, key=_is_thinking)
    return [chunk for thinks, run in runs for chunk in (_thoughts(run) if thinks else _texts(run))]


def _is_thinking(chunk: Any) -> bool:
    match chunk:
        case {"type": "thinking", "thinking": list()}:
            return True
    return False


def _is_text(chunk: Any) -> bool:
    match chunk:
        case {"type": "text", "text": str(), **rest}:
            return not rest
    return False


def _texts(chunks: Iterable[Any]) -> list[Any]:
    """Return `chunks` with texts that stand side by side joined."""
    found: list[Any] = []
    for is_text, run in groupby(chunks, key=_is_text):
        if is_text:
            found.append({"type": "text", "text": join_surrogates("".join(chunk["text"] for chunk in run))})
        else:
            found += run
    return found


def _thoughts(chunks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the chunks of reasoning that a run of pieces makes; a signature ends one."""
    found: list[dict[str, Any]] = []
    thinking: list[Any] = []
    for chunk in chunks:
        if not found or isinstance(found[-1].get("signature"), str):
            thinking = []
            found.append({"type": "thinking", "thinking": thinking})
        thinking += chunk["thinking"]
        found[-1] |= without(chunk, "type", "thinking")
    return [{**thought, "thinking": _texts(thought["thinking"])} for thought in found]
