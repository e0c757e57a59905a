"""What read_tool_output may be asked for: one of three modes, each with its bounds (behaviour.md section 16.5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from copyfit.errors import ToolOutputError
from copyfit.shapes.tools import ToolSpec

PAGE_BYTES = 40_960
"""The most bytes of stored text that one answer carries, unless the reader is given fewer."""

_QUERY = frozenset({"query", "caseSensitive", "contextChars", "maxMatches"})
_LINES = frozenset({"offset", "limit"})
_CHARS = frozenset({"charOffset", "charLimit"})
_MAX_QUERY_CHARS = 4_096
_BOUNDS: Mapping[str, tuple[int, int | None]] = MappingProxyType(
    {
        "contextChars": (0, 4_000),
        "maxMatches": (1, 20),
        "offset": (1, None),
        "limit": (1, 10_000),
        "charOffset": (0, None),
        "charLimit": (1, 100_000),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRead:
    """Search for a literal text; `context_chars` are the code points shown on either side of a match."""

    query: str
    case_sensitive: bool = False
    context_chars: int = 500
    max_matches: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRead:
    """Read `limit` lines from line `offset` on, counted from 1."""

    offset: int = 1
    limit: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CharRead:
    """Read `limit` code points from code point `offset` on, counted from 0; for lines too wide for a page."""

    offset: int = 0
    limit: int = 40_960


ReadRequest = QueryRead | LineRead | CharRead


def parse_read(arguments: Mapping[str, Any]) -> tuple[str, ReadRequest]:
    """Return the ref and the request that the arguments of a read_tool_output call spell.

    Raises:
        ToolOutputError: the ref is missing, modes are mixed, or an argument is unknown or out of its bounds.

    """
    given = {name: value for name, value in arguments.items() if value is not None}
    ref = given.pop("ref", "")
    if not isinstance(ref, str) or not ref:
        raise ToolOutputError("", "read_tool_output needs a ref, as it stands in the tool result.")
    unknown = given.keys() - _QUERY - _LINES - _CHARS
    if unknown:
        raise ToolOutputError(ref, f"read_tool_output has no argument {', '.join(sorted(unknown))}; remove it.")
    if sum(bool(given.keys() & mode) for mode in (_QUERY, _LINES, _CHARS)) > 1:
        raise ToolOutputError(
            ref, "Use exactly one mode: a query, or offset and limit for lines, or charOffset and charLimit."
        )
    if given.keys() & _CHARS:
        return ref, CharRead(
            offset=_whole(ref, given, "charOffset", 0), limit=_whole(ref, given, "charLimit", 40_960)
        )
    if given.keys() & _QUERY:
        return ref, _query(ref, given)
    return ref, LineRead(offset=_whole(ref, given, "offset", 1), limit=_whole(ref, given, "limit", 2_000))


def read_tool_spec() -> ToolSpec:
    """Return what the model is told about read_tool_output."""
    whole = {
        name: {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})
        for name, (low, high) in _BOUNDS.items()
    }
    return ToolSpec(
        name="read_tool_output",
        description=(
            "Look up one missing fact in a stored tool output. Prefer a literal query; otherwise read lines by "
            "offset and limit, or, where a single line is too wide, code points by charOffset and charLimit."
        ),
        parameters={
            "type": "object",
            "properties": {
                "ref": {"type": "string", "description": "The ref as it stands in the tool result."},
                "query": {"type": "string", "minLength": 1, "maxLength": _MAX_QUERY_CHARS},
                "caseSensitive": {"type": "boolean"},
                **whole,
            },
            "required": ["ref"],
            "additionalProperties": False,
        },
    )


def _query(ref: str, given: Mapping[str, Any]) -> QueryRead:
    if "query" not in given:
        raise ToolOutputError(ref, "The search options require query; name the text to look for.")
    query = given["query"]
    if not isinstance(query, str) or not query.strip() or len(query) > _MAX_QUERY_CHARS:
        raise ToolOutputError(ref, f"The query must be a text of 1 to {_MAX_QUERY_CHARS} characters, not blank.")
    case_sensitive = given.get("caseSensitive", False)
    if not isinstance(case_sensitive, bool):
        raise ToolOutputError(ref, "caseSensitive must be true or false.")
    return QueryRead(
        query=query.strip(),
        case_sensitive=case_sensitive,
        context_chars=_whole(ref, given, "contextChars", 500),
        max_matches=_whole(ref, given, "maxMatches", 5),
    )


def _whole(ref: str, given: Mapping[str, Any], name: str, default: int) -> int:
    value = given.get(name, default)
    low, high = _BOUNDS[name]
    # JSON has one kind of number, so 3.0 is as good a 3 as any.
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    if not whole or value < low or (high is not None and value > high):
        allowed = f"a whole number of {low} or more" if high is None else f"a whole number from {low} to {high}"
        raise ToolOutputError(ref, f"{name} must be {allowed}.")
    return int(value)
