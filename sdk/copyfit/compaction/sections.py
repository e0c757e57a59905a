"""The eight sections of a checkpoint: read them out of an answer, say what is odd, write them in order."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

HEADINGS = (
    "Primary request and intent",
    "Completed work and verified findings",
    "Evidence, artifacts, and references",
    "Decisions and constraints",
    "Failed or abandoned leads",
    "Pending requirements",
    "Optional leads",
    "Next step",
)
"""The headings in their order (behaviour.md section 11.5)."""

CHECKPOINT_CHARS = 6_000
"""Code points that the sections of a checkpoint may have together (behaviour.md section 1.3)."""

EMPTY = "(none)"

_LOOSE_HOME = "Completed work and verified findings"
_HEADING = re.compile(r"##[ \t]+(\S.*?)[ \t]*")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+[.)])\s", re.MULTILINE)
_REF = re.compile(r"tool-output-[0-9a-f]+")
_SUBSTANCE = re.compile(r"\w")
_CUT = "\n...\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The bodies of the eight sections in order, an empty text where there is none, and what was odd.

    `shaped` says whether any of the headings was there with something to say under it.
    """

    bodies: tuple[str, ...]
    shaped: bool
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The sections as a checkpoint holds them."""
        return write_sections(self.bodies)


def read_sections(answer: str, *, known_refs: Set[str]) -> Sections:
    """Return the sections that `answer` holds, with a warning for each thing that is not as asked for.

    Text under no section or an unknown heading goes to the completed work. Refs of stored outputs that are not
    among `known_refs` are reported, and kept.
    """
    found, loose, unknown = _split(answer)
    bodies = {name: _merge(found.get(name, [])) for name in HEADINGS}
    shaped = any(_SUBSTANCE.search(body) for body in bodies.values())
    next_step = bodies["Next step"]
    bodies[_LOOSE_HOME] = _merge([bodies[_LOOSE_HOME], loose])
    ordered = tuple(bodies[name] for name in HEADINGS)
    text = write_sections(ordered)
    warnings = [
        *([f"Unknown headings: {', '.join(unknown)}."] if unknown else []),
        *([f"Text under no heading was moved to {_LOOSE_HOME!r}."] if loose else []),
        *([] if found else ["None of the headings was recognised."]),
        *_heading_warnings(found),
        *(["The next step has more than one list item."] if len(_ITEM.findall(next_step)) > 1 else []),
        *(
            f"Unverified stored-output ref {ref}."
            for ref in dict.fromkeys(_REF.findall(text))
            if ref not in known_refs
        ),
        *([f"The checkpoint has {len(text)} characters, over {CHECKPOINT_CHARS}."] if _is_long(text) else []),
    ]
    return Sections(bodies=ordered, shaped=shaped, warnings=tuple(warnings))


def write_sections(bodies: Sequence[str]) -> str:
    """Return all eight sections with `bodies` under their headings."""
    return "\n\n".join(f"## {name}\n{body or EMPTY}" for name, body in zip(HEADINGS, bodies, strict=True))


def bound_sections(bodies: Sequence[str]) -> tuple[str, ...]:
    """Return `bodies` cut so that the sections have at most `CHECKPOINT_CHARS` code points together.

    Short sections stay whole; the long ones share what is left evenly, each keeping its beginning and its end.
    """
    if not _is_long(write_sections(bodies)):
        return tuple(bodies)
    frame = len(write_sections(bodies)) - sum(map(len, bodies))
    level = _level(bodies, CHECKPOINT_CHARS - frame)
    return tuple(_cut(body, level) for body in bodies)


def refs_in(texts: Iterable[str]) -> frozenset[str]:
    """Return every ref of a stored output that is named in `texts`."""
    return frozenset(ref for text in texts for ref in _REF.findall(text))


def _split(answer: str) -> tuple[dict[str, list[str]], str, list[str]]:
    """Return the bodies under each known heading, the text under none, and the unknown headings."""
    texts: dict[str, list[list[str]]] = {}
    loose: list[str] = []
    unknown: list[str] = []
    lines: list[str] | None = None
    for line in answer.strip().split("\n"):
        heading = _HEADING.fullmatch(line.rstrip("\r"))
        if heading is None:
            (loose if lines is None else lines).append(line)
        elif heading[1] in HEADINGS:
            lines = []
            texts.setdefault(heading[1], []).append(lines)
        else:
            unknown.append(heading[1])
            lines = None
    found = {name: ["\n".join(part) for part in parts] for name, parts in texts.items()}
    return found, "\n".join(line for line in loose if line.strip()), unknown


def _merge(bodies: Iterable[str]) -> str:
    trimmed = (body.strip() for body in bodies)
    return "\n".join(body for body in trimmed if body and body != EMPTY)


def _heading_warnings(found: dict[str, list[str]]) -> Iterable[str]:
    for name in HEADINGS:
        times = len(found.get(name, []))
        if times == 0:
            yield f"The section {name!r} is missing."
        elif times > 1:
            yield f"The section {name!r} came {times} times and was merged."


def _is_long(text: str) -> bool:
    return len(text) > CHECKPOINT_CHARS


def _level(bodies: Sequence[str], room: int) -> int:
    """Return the length that every longer body is cut to, so that all fill `room`."""
    lengths = sorted(map(len, bodies))
    level = 0
    for place, length in enumerate(lengths):
        level = room // (len(lengths) - place)
        if length > level:
            break
        room -= length
    return level


def _cut(body: str, level: int) -> str:
    if len(body) <= level:
        return body
    head = (level - len(_CUT)) * 2 // 3
    tail = level - len(_CUT) - head
    return body[:head] + _CUT + body[len(body) - tail :]
