"""Cut text by lines and by UTF-8 bytes, always between code points."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["head", "tail"]


def byte_length(text: str) -> int:
    """Return the length of `text` in UTF-8 bytes; a lone surrogate counts three."""
    return len(text) if text.isascii() else len(_encode(text))


def cut_head(text: str, limit: int) -> str:
    """Return the longest beginning of `text` that has at most `limit` bytes."""
    data = _encode(text[:limit])
    end = min(limit, len(data))
    while 0 < end < len(data) and _is_inside(data[end]):
        end -= 1
    return _decode(data[:end])


def cut_tail(text: str, limit: int) -> str:
    """Return the longest end of `text` that has at most `limit` bytes."""
    if limit <= 0:
        return ""
    data = _encode(text[-limit:])
    start = max(0, len(data) - limit)
    while start < len(data) and _is_inside(data[start]):
        start += 1
    return _decode(data[start:])


def split_lines(text: str) -> list[str]:
    """Return the lines of `text` with their terminators; joined, they are `text` again.

    A line ends with a newline, before which a carriage return may stand; no other character ends a line.
    """
    *whole, rest = text.split("\n")
    lines = [line + "\n" for line in whole]
    if rest:
        lines.append(rest)
    return lines


def count_lines(text: str) -> int:
    """Return how many lines `text` has."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def format_size(size: int) -> str:
    """Return `size` bytes for people: ``512 B``, ``50.0 KB``, ``3.0 MB``."""
    if size < 1024:
        return f"{size} B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f} KB"
    return f"{size / (1024 * 1024):.1f} MB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One end of a text: what was kept, and how many lines of the whole were left out."""

    text: str
    lines: int
    omitted: int


def bound_lines(lines: list[str], *, max_lines: int, max_bytes: int, side: Side) -> Piece:
    """Return the lines of one end of `lines` that fit both bounds; if none fits, a part of the outermost line."""
    kept: list[str] = []
    room = max_bytes
    for line in lines[:max_lines] if side == "head" else reversed(lines[-max_lines:]):
        size = byte_length(line)
        if size > room:
            if not kept:
                kept.append(cut_head(line, room) if side == "head" else cut_tail(line, room))
            break
        kept.append(line)
        room -= size
    if side == "tail":
        kept.reverse()
    return Piece(text="".join(kept), lines=len(kept), omitted=len(lines) - len(kept))


def _is_inside(byte: int) -> bool:
    """Return whether `byte` continues a UTF-8 sequence."""
    return byte & 0xC0 == 0x80


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
