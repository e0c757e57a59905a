"""Evidence: what an error says, lifted out of whatever envelope it came in.

Servers and proxies wrap errors in one another: OpenAI's nested object, a flat object, a bare string, an array of
one, JSON as text inside a message, an SSE frame as the body, the Python representation of an SDK's exception.
Lifting walks all of it once and keeps the messages apart from the machine words, so that judging never has to
guess which is which.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any

MAX_DEPTH = 8
"""Envelopes within envelopes; deeper ones are not opened."""
MAX_ENTRIES = 8
"""Errors in one list, objects in one text, and fields of an object of no known form that are looked at."""
MAX_CHARS = 20_000
"""Code points of one text that are looked at; error messages are far shorter, pages of HTML are not."""

_MESSAGE_KEYS = (
    "message",
    "msg",
    "detail",
    "error_message",
    "error_msg",
    "status_msg",
    "details",
    "raw",
    "reason",
    "cause",
    "title",
)
_WORD_KEYS = (
    "code",
    "type",
    "__type",
    "status",
    "status_code",
    "error_code",
    "error_type",
    "reason",
    "stop_reason",
    "stopreason",
)
_OUTER_KEYS = ("error", "response", "data", "value", "errors", "metadata", "previous_errors", "body", "base_resp")
_QUOTED_WORD = re.compile(r"""\\?['"](code|type|status|error_type)\\?['"]\s*:\s*\\?['"]?([\w.-]+)""")
_QUOTED_PARAM = re.compile(r"""\\?['"]param\\?['"]\s*:\s*\\?['"]([^'"\\]+)""")
_STATUS_IN_TEXT = re.compile(
    r"(?:\A|\b(?:http|status|status code|error|error code))[\s:=]{0,3}([45]\d\d)\b(?! (?:tokens|>))", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of one error.

    `code`, `type` and `param` are the innermost that were found; `words` holds every machine word, in lower
    case; `message` every human sentence, innermost first, one a line; `counts` the numbers of an error object
    under their own names; `retry_after` seconds; `data` the parsed body, or None for a plain text; `provider` who
    said it, as far as the caller told.
    """

    status: int | None
    message: str = ""
    code: str | None = None
    type: str | None = None
    param: str | None = None
    words: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict)
    retry_after: float | None = None
    data: Any = None
    in_stream: bool = False
    provider: str | None = None


def lift(
    status: int | None,
    body: bytes | str | Mapping[str, Any] | list[Any],
    *,
    headers: Mapping[str, str] | None = None,
    in_stream: bool = False,
    is_error: bool = False,
    provider: str | None = None,
    now: datetime | None = None,
) -> Evidence:
    """Return the evidence in an error's `body`, its HTTP `status` and its `headers` (names in lower case).

    An error that came with a status below 400, or in a stream, takes the status that its body names. `is_error`
    says that the body is one, where neither a status from 400 up nor `in_stream` does. What an error says under no
    known name is looked for under every name: a protocol that nobody has heard of has names of its own. `now`
    stands in for the clock when `retry-after` is a date.
    """
    found = _Found()
    data: Any
    if isinstance(body, Mapping | list):
        data = body if isinstance(body, list) else dict(body)
        found.walk(data, 0)
    else:
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        data = _parsed(text)
        if data is None:
            found.text(text, 0)
        else:
            found.walk(data, 0)
    if not found.messages and (is_error or in_stream or (status is not None and status >= 400)):
        found.anything(data, 0)
    if (status is None or status < 400) and found.status is not None:
        status = found.status
    return Evidence(
        status=status,
        message="\n".join(found.messages),
        code=found.named.get("code"),
        type=found.named.get("type"),
        param=found.named.get("param"),
        words=frozenset(found.words),
        counts=found.counts,
        retry_after=retry_after(headers or {}, now=now),
        data=data,
        in_stream=in_stream,
        provider=provider,
    )


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds that `retry-after-ms` or `retry-after` asks for, or None when they say nothing usable."""
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


class _Found:
    """What the walk through the envelopes has met so far."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.words: set[str] = set()
        self.named: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.status: int | None = None

    def walk(self, value: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        if isinstance(value, str):
            self.text(value, depth)
        elif isinstance(value, list):
            for entry in value[:MAX_ENTRIES]:
                self.walk(entry, depth + 1)
        elif isinstance(value, Mapping):
            self._object(value, depth)

    def text(self, text: str, depth: int) -> None:
        text = text[:MAX_CHARS].strip()
        for inner in _embedded(text) if depth < MAX_DEPTH else ():
            self.walk(inner, depth + 1)
        for key, word in _QUOTED_WORD.findall(text):
            self._word(key, word)
        for param in _QUOTED_PARAM.findall(text):
            self.named["param"] = param
        in_text = _STATUS_IN_TEXT.search(text[:200])
        if in_text and self.status is None:
            self.status = int(in_text[1])
        if text and text not in self.messages:
            self.messages.append(text)

    def anything(self, value: Any, depth: int) -> None:
        """Take every text in `value` for what it looks like, whatever its name: a sentence, or a machine word."""
        if isinstance(value, str):
            if " " in value.strip():
                self.text(value, depth)
            elif value:
                self._word("", value)
        elif depth < MAX_DEPTH and isinstance(value, Mapping | list):
            entries = value.values() if isinstance(value, Mapping) else value
            for entry in islice(entries, MAX_ENTRIES):
                self.anything(entry, depth + 1)

    def _object(self, value: Mapping[str, Any], depth: int) -> None:
        value = {str(key).lower(): entry for key, entry in value.items()}
        for key, entry in value.items():
            if isinstance(entry, bool) or entry is None:
                continue
            if key in _WORD_KEYS and isinstance(entry, str | int):
                self._word(key, str(entry))
            elif key == "param" and isinstance(entry, str):
                self.named["param"] = entry
                if " " in entry:
                    self.text(entry, depth + 1)
            elif isinstance(entry, int):
                self.counts[key] = entry
        for key in (*_MESSAGE_KEYS, *_OUTER_KEYS):
            if key in value:
                self.walk(value[key], depth + 1)

    def _word(self, key: str, word: str) -> None:
        if " " in word:
            return
        self.words.add(word.lower())
        name = "type" if key in ("type", "error_type") else "code"
        if key in ("code", "type", "error_code", "error_type"):
            self.named[name] = word
        if word.isdecimal() and 400 <= int(word[:4]) <= 599 and len(word) == 3:
            self.status = int(word)


def _parsed(text: str) -> Any:
    """Return `text` as a JSON object or array, or None; numbers and strings alone are not error bodies."""
    text = text.strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _embedded(text: str) -> Iterator[Any]:
    """Yield the JSON objects that stand inside `text`, such as an upstream error inside a proxy's message."""
    decoder = json.JSONDecoder()
    start, opened = text.find("{"), 0
    while start >= 0 and opened < MAX_ENTRIES:
        opened += 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if value:
                yield value
        start = text.find("{", end)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
