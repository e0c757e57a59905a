"""Replace the secrets in a body that is cut into chunks, without moving the edges between the other bytes."""

import codecs
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate

from copyfit_harness.wire.secrets import MARKER, Redaction, find_secrets

Span = tuple[int, int, bytes]
"""Where a replacement starts and ends in the joined body, and what is written there."""

_JSON_TEXT = rb'[^"\\]*(?:\\.[^"\\]*)*'
_TEXT_MEMBER = re.compile(rb'"(\w+)"\s*:\s*"(' + _JSON_TEXT + rb')"', re.DOTALL)


def redacted_chunks(
    chunks: tuple[bytes, ...], rules: Redaction, *, media: str, known: tuple[bytes, ...] = ()
) -> tuple[bytes, ...]:
    """Return `chunks` with every secret of their joined text replaced, in the same number.

    `media` is the body's media type in lower case, `known` are secrets to look for beside the shapes of `rules`.
    An edge inside a secret moves to the same distance from its start, or to the end of the mark if that is
    shorter. A binary body is returned as it is, because replacing would break its lengths and checksums; only the
    secret fields of an upload are replaced beside its binary files.
    """
    body = b"".join(chunks)
    try:
        # Not final: a body that broke off may end inside a character.
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        if not media.startswith("multipart/"):
            return chunks
        spans = _disjoint(_marked(_multipart_member(rules.body_fields), body))
    else:
        spans = _disjoint(_spans(body, rules, media, known))
    return replaced(chunks, body, spans) if spans else chunks


def _spans(body: bytes, rules: Redaction, media: str, known: tuple[bytes, ...]) -> Iterator[Span]:
    for secret in find_secrets(body, rules, known):
        yield secret.start, secret.end, MARKER
    if media == "application/x-www-form-urlencoded":
        yield from _marked(_form_member(rules.query_keys | rules.body_fields), body)
    elif media.startswith("multipart/"):
        yield from _marked(_multipart_member(rules.body_fields), body)
    else:
        yield from _json_member_spans(body, rules)
    if media in ("text/event-stream", "application/x-ndjson"):
        yield from _spans_across_events(body, rules, known)


def _json_member_spans(body: bytes, rules: Redaction) -> Iterator[Span]:
    """Yield the values of secret fields, in JSON at any depth and in JSON that is itself quoted inside a text."""
    for match in _json_member(rules.body_fields).finditer(body):
        if match["number"] is None:
            yield *match.span("text"), MARKER
        else:
            yield *match.span("number"), b'"' + MARKER + b'"'
    yield from _marked(_quoted_json_member(rules.body_fields), body)


def _spans_across_events(body: bytes, rules: Redaction, known: tuple[bytes, ...]) -> Iterator[Span]:
    """Yield the pieces of secrets that a stream spells out over several events, token by token.

    The texts of one member name (``content``, ``arguments``) are joined over all events; the first piece of a
    secret becomes the mark and the others become empty.
    """
    texts: dict[bytes, list[tuple[int, int]]] = {}
    for match in _TEXT_MEMBER.finditer(body):
        texts.setdefault(match[1], []).append(match.span(2))
    for spans in texts.values():
        joined = b"".join(body[start:end] for start, end in spans)
        offsets = list(accumulate((end - start for start, end in spans), initial=0))
        secrets = [(secret.start, secret.end) for secret in find_secrets(joined, rules, known)]
        secrets += [(low, high) for low, high, _ in _marked(_quoted_json_member(rules.body_fields), joined)]
        for first, last in secrets:
            mark = MARKER
            for (start, end), offset in zip(spans, offsets, strict=False):
                low, high = max(start, start + first - offset), min(end, start + last - offset)
                if low < high:
                    yield low, high, mark
                    mark = b""


def _marked(pattern: re.Pattern[bytes], body: bytes) -> Iterator[Span]:
    for match in pattern.finditer(body):
        yield *match.span("value"), MARKER


def _disjoint(spans: Iterable[Span]) -> list[Span]:
    """Sort `spans`, drop the empty ones, and melt those that overlap into the first of them."""
    result: list[Span] = []
    for start, end, mark in sorted(spans):
        if start == end:
            continue
        if result and start < result[-1][1]:
            first = result[-1]
            result[-1] = (first[0], max(first[1], end), first[2])
        else:
            result.append((start, end, mark))
    return result


def replaced(chunks: tuple[bytes, ...], body: bytes, spans: list[Span]) -> tuple[bytes, ...]:
    """Return `chunks`, which join to `body`, with the `spans` replaced, which are in order and apart.

    An edge inside a span moves to the same distance from its start, or to the end of what takes its place.
    """
    edges = list(accumulate(map(len, chunks)))
    pieces: list[bytes] = []
    moved: list[int] = []
    position = length = 0
    for start, end, mark in [*spans, (len(body), len(body), b"")]:
        while len(moved) < len(edges) and edges[len(moved)] <= start:
            moved.append(length + edges[len(moved)] - position)
        while len(moved) < len(edges) and edges[len(moved)] < end:
            moved.append(length + start - position + min(edges[len(moved)] - start, len(mark)))
        pieces += [body[position:start], mark]
        length += start - position + len(mark)
        position = end
    text = b"".join(pieces)
    return tuple(text[low:high] for low, high in zip([0, *moved], moved, strict=False))


def spellings(names: frozenset[str]) -> bytes:
    """Return a pattern for `names` in which ``_``, ``-`` or nothing may stand between words."""
    words = sorted(re.sub(r"[-_]", "[-_]?", re.escape(name).replace(r"\-", "-")) for name in names)
    return "|".join(words).encode()


@lru_cache(maxsize=8)
def _form_member(names: frozenset[str]) -> re.Pattern[bytes]:
    return re.compile(rb"(?:^|&)(?i:" + spellings(names) + rb")=(?P<value>[^&]+)")


@lru_cache(maxsize=8)
def _multipart_member(names: frozenset[str]) -> re.Pattern[bytes]:
    head = rb'(?i:name="[\w.-]{0,40}(?:' + spellings(names) + rb')")[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n'
    return re.compile(head + rb"(?P<value>.+?)(?=\r\n--)", re.DOTALL)


@lru_cache(maxsize=8)
def _json_member(names: frozenset[str]) -> re.Pattern[bytes]:
    name = rb'"[\w.-]{0,40}(?i:' + spellings(names) + rb')"'
    return re.compile(name + rb'\s*:\s*(?:"(?P<text>' + _JSON_TEXT + rb')"|(?P<number>-?\d[\d.eE+-]*))', re.DOTALL)


@lru_cache(maxsize=8)
def _quoted_json_member(names: frozenset[str]) -> re.Pattern[bytes]:
    # In JSON inside a JSON text each quotation mark has backslashes before it, at every level the same number.
    name = rb'(?P<mark>\\+")[\w.-]{0,40}(?i:' + spellings(names) + rb")(?P=mark)"
    # A bare quotation mark ends the text that holds it all, and a stream may break off before any.
    value = rb'(?P<value>(?:[^"\n]|(?<=\\)")*?)'
    return re.compile(name + rb"\s*:\s*(?P=mark)" + value + rb"(?:(?<!\\)(?P=mark)|\Z)")
