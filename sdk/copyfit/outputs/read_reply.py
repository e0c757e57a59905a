"""The answer of read_tool_output: its pages in words, and what a reader is told who reads too much."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from copyfit.outputs.read_request import ReadRequest
from copyfit.outputs.reading import CharPage, LinePage, Page, QueryPage
from copyfit.shapes.budgets import OutputBounds
from copyfit.shapes.messages import OutputRef


@dataclass(frozen=True, slots=True, kw_only=True)
class RefReads:
    """How often and how much of one output was read, in bytes, and which requests were made."""

    reads: int = 0
    cumulative_bytes: int = 0
    requests: frozenset[ReadRequest] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadLog:
    """What a run has read so far, by ref; it advises and never forbids."""

    by_ref: Mapping[str, RefReads] = field(default_factory=lambda: MappingProxyType({}))

    def after(
        self, ref: str, request: ReadRequest, *, page_bytes: int, bounds: OutputBounds
    ) -> tuple["ReadLog", str | None]:
        """Return the log with one more read of `page_bytes`, and the advice for the reader, if there is any."""
        before = self.by_ref.get(ref, RefReads())
        repeated = request in before.requests
        now = replace(
            before,
            reads=before.reads + 1,
            cumulative_bytes=before.cumulative_bytes + page_bytes,
            requests=before.requests | {request},
        )
        advice = _advice(now, repeated=repeated, bounds=bounds)
        return ReadLog(MappingProxyType({**self.by_ref, ref: now})), advice


def render_reply(page: Page, *, stored: OutputRef, advice: str | None = None) -> str:
    """Return the text of the tool result: what is shown, how to go on, any `advice`, then the page itself."""
    parts = [f"[stored tool output] {stored.tool_name}, ref {stored.ref}, {_range(page)}", _continuation(page)]
    if advice:
        parts.append(advice)
    return "\n".join(part for part in parts if part) + "\n\n" + _body(page)


def _range(page: Page) -> str:
    match page:
        case QueryPage():
            return f"{len(page.matches)} of {page.total_matches} matches"
        case LinePage():
            return f"lines {page.start_line}-{page.end_line} of {page.total_lines}"
        case CharPage():
            return f"characters {page.start_char}-{page.end_char} of {page.total_chars}"


def _continuation(page: Page) -> str:
    match page:
        case QueryPage(truncated=True):
            return "More matches were left out; ask for a longer query, fewer contextChars or more maxMatches."
        case QueryPage():
            return ""
        case LinePage(partial_line=True, next_offset=following):
            note = "This line is wider than a page and was cut; read on with charOffset, or search with query."
            return note if following is None else f"{note} The next line is at offset={following}."
        case LinePage(next_offset=None):
            return "[end of output]"
        case LinePage(next_offset=following):
            return f"Continue with offset={following}."
        case CharPage(next_offset=None):
            return "[end of output]"
        case CharPage(next_offset=following):
            return f"Continue with charOffset={following}."


def _body(page: Page) -> str:
    if isinstance(page, QueryPage):
        return "\n\n".join(
            f"[match {number} at characters {match.start}-{match.end}]\n{match.excerpt}"
            for number, match in enumerate(page.matches, start=1)
        )
    return page.text


def _advice(reads: RefReads, *, repeated: bool, bounds: OutputBounds) -> str | None:
    if reads.cumulative_bytes >= bounds.read_strong_advisory_bytes:
        words = "Much of this output has been read; work with what is known, or search for one exact text"
    elif reads.cumulative_bytes >= bounds.read_advisory_bytes:
        words = "A large part of this output has been read; prefer a query for the missing fact"
    elif repeated:
        words = "This very page was read before"
    else:
        return None
    facts = f"reads={reads.reads} cumulative_bytes={reads.cumulative_bytes} duplicate_read={str(repeated).lower()}"
    return f"[read advisory] {words}. {facts}"
