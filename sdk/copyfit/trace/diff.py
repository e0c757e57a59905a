"""Tell how two model inputs differ: a candidate against what was sent, or one turn against another."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.model_input import ModelInput
from copyfit.trace.schema import candidate_input, sent_input

Json = Any
_SHOWN_CHARS = 160


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that the two inputs do not share.

    `where` is a path such as ``system:3``, ``messages[2].content`` or ``tools[0].description``; lines count from
    1 and all else from 0, in the input that has them, in the candidate where both do. `candidate` and `sent` are
    the two values, None on the side that has nothing there.
    """

    kind: Literal["only in candidate", "only in sent", "changed"]
    where: str
    candidate: Json = None
    sent: Json = None

    def __str__(self) -> str:
        if self.kind == "changed":
            return f"{self.where}: {_short(self.candidate)} was sent as {_short(self.sent)}"
        return f"{self.where} ({self.kind}): {_short(self.sent if self.candidate is None else self.candidate)}"


def compare_inputs(candidate: ModelInput, sent: ModelInput) -> tuple[Difference, ...]:
    """Return the differences of what a provider would see of `candidate` and of `sent`; empty when it is the same.

    Lines of the system prompt, messages and tools are aligned, so something added shows as itself and not as a
    change of all that follows.
    """
    ours, theirs = candidate.as_data(), sent.as_data()
    return (
        *_aligned("system:{}", ours["system"].split("\n"), theirs["system"].split("\n"), first=1),
        *_aligned("messages[{}]", ours["messages"], theirs["messages"], first=0),
        *_aligned("tools[{}]", ours["tools"], theirs["tools"], first=0),
        *_keyed("settings", ours["settings"], theirs["settings"]),
    )


def compare_document(document: Mapping[str, Any]) -> tuple[Difference, ...] | None:
    """Return how the candidate of a trace document differs from what was sent; None where it lacks one of them."""
    candidate, sent = candidate_input(document), sent_input(document)
    return None if candidate is None or sent is None else compare_inputs(candidate, sent)


def _aligned(where: str, ours: Sequence[Json], theirs: Sequence[Json], *, first: int) -> Iterator[Difference]:
    matcher = difflib.SequenceMatcher(None, _keys(ours), _keys(theirs), autojunk=False)
    for tag, start, end, their_start, their_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        paired = min(end - start, their_end - their_start)
        for offset in range(paired):
            yield from _changed(
                where.format(first + start + offset), ours[start + offset], theirs[their_start + offset]
            )
        for index in range(start + paired, end):
            yield Difference("only in candidate", where.format(first + index), candidate=ours[index])
        for index in range(their_start + paired, their_end):
            yield Difference("only in sent", where.format(first + index), sent=theirs[index])


def _changed(where: str, ours: Json, theirs: Json) -> Iterator[Difference]:
    """Yield the smallest differences of two values that are not equal."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        yield from _keyed(where, ours, theirs)
    elif isinstance(ours, list) and isinstance(theirs, list):
        yield from _aligned(where + "[{}]", ours, theirs, first=0)
    else:
        yield Difference("changed", where, ours, theirs)


def _keyed(where: str, ours: Mapping[str, Json], theirs: Mapping[str, Json]) -> Iterator[Difference]:
    for key in sorted(ours.keys() | theirs.keys()):
        path = f"{where}.{key}"
        if key not in theirs:
            yield Difference("only in candidate", path, candidate=ours[key])
        elif key not in ours:
            yield Difference("only in sent", path, sent=theirs[key])
        elif canonical_json(ours[key]) != canonical_json(theirs[key]):
            yield from _changed(path, ours[key], theirs[key])


def _keys(values: Sequence[Json]) -> list[bytes]:
    return [canonical_json(value) for value in values]


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else canonical_json(value).decode()
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…"
