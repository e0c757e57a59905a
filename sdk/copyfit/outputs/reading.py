"""Read a stored tool output in bounded pages: by literal search, by lines, or by code points."""

import re
from dataclasses import dataclass

from copyfit.outputs.cutting import byte_length, count_lines, cut_head, split_lines
from copyfit.outputs.read_request import PAGE_BYTES, CharRead, LineRead, QueryRead, ReadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One match from code point `start` up to `end`, with the text around it."""

    start: int
    end: int
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPage:
    """The first matches of a search; `total_matches` counts all of them, none overlapping another."""

    matches: tuple[Match, ...]
    total_matches: int

    @property
    def truncated(self) -> bool:
        """Whether there are more matches than are shown."""
        return len(self.matches) < self.total_matches

    @property
    def text(self) -> str:
        """The excerpts, with nothing around them."""
        return "\n".join(match.excerpt for match in self.matches)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePage:
    """Lines `start_line` to `end_line` of `total_lines`; an empty page ends before it starts.

    With `partial_line` the page is the beginning of one line that is wider than a page. `next_offset` is the line
    to go on from, or None behind the last line.
    """

    text: str
    start_line: int
    end_line: int
    total_lines: int
    next_offset: int | None = None
    partial_line: bool = False

    @property
    def has_more(self) -> bool:
        """Whether there are lines behind the page."""
        return self.next_offset is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class CharPage:
    """The code points from `start_char` up to `end_char` of `total_chars`; `next_offset` as for lines."""

    text: str
    start_char: int
    end_char: int
    total_chars: int
    next_offset: int | None = None

    @property
    def has_more(self) -> bool:
        """Whether there are code points behind the page."""
        return self.next_offset is not None


Page = QueryPage | LinePage | CharPage


def read_page(text: str, request: ReadRequest, *, page_bytes: int = PAGE_BYTES) -> Page:
    """Return the page of `text` that `request` asks for, of at most `page_bytes` bytes of text."""
    match request:
        case QueryRead():
            return _search(text, request, page_bytes)
        case LineRead():
            return _lines(text, request, page_bytes)
        case CharRead():
            return _chars(text, request, page_bytes)


def _search(text: str, request: QueryRead, page_bytes: int) -> QueryPage:
    flags = re.NOFLAG if request.case_sensitive else re.IGNORECASE
    found: list[Match] = []
    total, room, full = 0, page_bytes, False
    for hit in re.finditer(re.escape(request.query), text, flags):
        total += 1
        if full or len(found) == request.max_matches:
            continue
        start, end = hit.span()
        around = text[max(0, start - request.context_chars) : end + request.context_chars]
        excerpt = cut_head(around, page_bytes)
        size = byte_length(excerpt)
        full = bool(found) and size > room
        if not full:
            found.append(Match(start=start, end=end, excerpt=excerpt))
            room -= size
    return QueryPage(matches=tuple(found), total_matches=total)


def _lines(text: str, request: LineRead, page_bytes: int) -> LinePage:
    first = request.offset - 1
    wanted = split_lines(text)[first : first + request.limit]
    total = count_lines(text)
    page: list[str] = []
    room = page_bytes
    for line in wanted:
        room -= byte_length(line)
        if room < 0:
            break
        page.append(line)
    partial = bool(wanted) and not page
    if partial:
        page.append(cut_head(wanted[0], page_bytes))
    end = first + len(page)
    return LinePage(
        text="".join(page),
        start_line=request.offset,
        end_line=end,
        total_lines=total,
        next_offset=end + 1 if end < total else None,
        partial_line=partial,
    )


def _chars(text: str, request: CharRead, page_bytes: int) -> CharPage:
    page = cut_head(text[request.offset : request.offset + request.limit], page_bytes)
    end = request.offset + len(page)
    return CharPage(
        text=page,
        start_char=request.offset,
        end_char=end,
        total_chars=len(text),
        next_offset=end if end < len(text) else None,
    )
