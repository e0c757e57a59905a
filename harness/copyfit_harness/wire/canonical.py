"""Say when two requests are the same: one digest over method, URL and the meaning of the body.

Two bodies are the same when a server could not tell them apart by content: JSON whatever its key order and blanks,
a form whatever its field order and escapes, a multipart body whatever its boundary. Everything else is compared
byte by byte, and so is JSON that has no one reading (a repeated key, NaN, not UTF-8).
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from copyfit.shapes.canonical import canonical_json, digest
from copyfit_harness.wire.exchange import WireRequest, header_value, media_type
from copyfit_harness.wire.multipart import parts_of

_DEFAULT_PORTS = {"http": 80, "https": 443}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class BodyKind(StrEnum):
    """How a body is read for comparison."""

    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class CanonicalBody:
    """A body as it is compared: equal bodies have the same kind and the same bytes."""

    kind: BodyKind
    key: bytes


def request_digest(request: WireRequest) -> str:
    """Return the digest of method, normalised URL and canonical body: 64 hexadecimal digits."""
    body = canonical_body(request)
    # Neither a method nor a URL can hold a line break, so the lines cannot run into each other.
    return digest(f"{request.method.upper()}\n{normalised_url(request.url)}\n{body.kind}\n".encode() + body.key)


def canonical_body(request: WireRequest) -> CanonicalBody:
    """Return the body of `request` as it is compared, read by its content type, else byte by byte."""
    kind = _kind(media_type(request.headers))
    try:
        if kind is BodyKind.JSON:
            return CanonicalBody(kind, canonical_json(parse_json(request.body)))
        if kind is BodyKind.FORM:
            return CanonicalBody(kind, canonical_json(_form_fields(request.body, "latin-1")))
        if kind is BodyKind.MULTIPART:
            return CanonicalBody(kind, _multipart_key(request))
    except (ValueError, RecursionError):
        # Not what its content type says, or ambiguous: only the bytes themselves can be trusted.
        pass
    return CanonicalBody(BodyKind.RAW, request.body)


def body_value(request: WireRequest) -> Any:
    """Return the body of `request` as a JSON value to be shown and compared path by path.

    JSON is itself, a form an object with a list under each name, a multipart body the list of its parts; anything
    else is its text, or its bytes when it is not UTF-8.
    """
    kind = canonical_body(request).kind
    if kind is BodyKind.JSON:
        return parse_json(request.body)
    if kind is BodyKind.FORM:
        fields: dict[str, list[str]] = {}
        for name, field_value in _form_fields(request.body, "utf-8"):
            fields.setdefault(name, []).append(field_value)
        return fields
    if kind is BodyKind.MULTIPART:
        parts = parts_of(request.body, header_value(request.headers, "content-type") or "")
        return [{**dict(part.headers), "content": _text_or_bytes(part.content)} for part in parts]
    return _text_or_bytes(request.body)


def parse_json(text: bytes) -> Any:
    """Return the value of a JSON text that has exactly one reading.

    Raises:
        ValueError: `text` is not UTF-8, not JSON, or an object in it names a key twice.
        RecursionError: it is nested deeper than the interpreter allows.

    """
    return json.loads(text.decode(), object_pairs_hook=_object_with_distinct_keys)


def normalised_url(url: str) -> str:
    """Return `url` in the one spelling that is compared.

    Scheme and host in lower case, no default port, no fragment, escapes in upper case and only where they are
    needed, query pairs sorted by name with the order of equal names kept.
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port not in (None, _DEFAULT_PORTS.get(scheme)) else ""
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    pairs = _plain_escapes(parts.query).split("&") if parts.query else []
    query = "&".join(sorted(pairs, key=lambda pair: pair.partition("=")[0]))
    return f"{scheme}://{user}{host}{port}{_plain_escapes(parts.path) or '/'}{'?' if query else ''}{query}"


def _kind(media: str) -> BodyKind:
    if media == "application/json" or media.endswith("+json"):
        return BodyKind.JSON
    if media == "application/x-www-form-urlencoded":
        return BodyKind.FORM
    if media.startswith("multipart/"):
        return BodyKind.MULTIPART
    return BodyKind.RAW


def _object_with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("An object names the same key twice.")
    return value


def _form_fields(body: bytes, encoding: str) -> list[list[str]]:
    pairs = parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding=encoding)
    return [list(pair) for pair in sorted(pairs, key=lambda pair: pair[0])]


def _multipart_key(request: WireRequest) -> bytes:
    parts = parts_of(request.body, header_value(request.headers, "content-type") or "")
    return canonical_json([[list(part.headers), digest(part.content)] for part in parts])


def _plain_escapes(text: str) -> str:
    return _ESCAPE.sub(_plain_escape, text) if "%" in text else text


def _plain_escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _text_or_bytes(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
