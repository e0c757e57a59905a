"""Turn an exchange as it was sent into one that may be written: decoded, cleaned of secrets, and checked.

Requests are cleaned the same way before they are matched, so that a cassette answers the request whose secrets it
does not hold.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from copyfit_harness.errors import SecretFound
from copyfit_harness.wire.coding import decoded_pieces
from copyfit_harness.wire.exchange import (
    EndingKind,
    Exchange,
    Headers,
    WireRequest,
    WireResponse,
    header_value,
    media_type,
)
from copyfit_harness.wire.redact_body import redacted_chunks, spellings
from copyfit_harness.wire.secrets import MARKER, Redaction, find_secrets

AWS_STREAM = "application/vnd.amazon.eventstream"
"""The media type of AWS's binary event stream."""
_USER_WITHOUT_PASSWORD = re.compile(r"^(?P<scheme>[\w+.-]+://)[^/?#@:]+(?=:?@)")
"""A user alone in a URL is a token: ``https://token@host`` or ``https://token:@host``."""
_PARAMETER = re.compile(r"^\w+=(?=[^=])")
"""The name of the last part of a credential that has several, such as ``Signature=`` of AWS's."""
_LONGER_THAN_A_WORD = 20
_SHORTEST_KNOWN_SECRET = 8


def storable_request(request: WireRequest, rules: Redaction) -> WireRequest:
    """Return `request` as it is compared and written: body decoded, secrets replaced by ``REDACTED``.

    Raises:
        BodyUnreadable: the body is compressed and cannot be decoded.

    """
    headers, pieces = _decoded(request.headers, (request.body,))
    (body,) = redacted_chunks(pieces, rules, media=media_type(headers))
    headers = _with_length(_clean_request_headers(headers, rules), len(request.body), len(body))
    return WireRequest(request.method, _clean_url(request.url, rules), headers, body)


def storable_exchange(exchange: Exchange, rules: Redaction, where: str) -> Exchange:
    """Return `exchange` as it may be written; `where` names it in errors.

    The response's chunks keep their number and their edges; an edge inside a replaced secret moves into the mark.

    Raises:
        BodyUnreadable: a body is compressed and cannot be decoded, so it cannot be searched.
        SecretFound: something that looks like a secret is left where replacing it would break the message.

    """
    known = tuple(_known_secrets(exchange.request, rules))
    request = storable_request(exchange.request, rules)
    cleaned = Exchange(request, _storable_response(exchange.response, rules, known))
    for place, text in _everything_written(cleaned):
        for secret in find_secrets(text, rules, known):
            raise SecretFound(f"{place} of {where}", secret.kind)
    return cleaned


def refuse_secrets(text: str, rules: Redaction, where: str) -> None:
    """Check a text of our own making that is about to be written beside the exchanges.

    Raises:
        SecretFound: it holds something that looks like a secret.

    """
    for secret in find_secrets(_as_bytes(text), rules):
        raise SecretFound(where, secret.kind)


def _storable_response(response: WireResponse, rules: Redaction, known: tuple[bytes, ...]) -> WireResponse:
    headers, pieces = _decoded(response.headers, response.chunks)
    chunks = _clean_chunks(pieces, rules, media_type(headers), known)
    kept = [
        (name, _clean_url(value, rules, known) if name.lower() == "location" else _clean_text(value, rules, known))
        for name, value in headers
        if _listed(name, rules.kept_response_headers)
    ]
    if response.ending.kind is not EndingKind.COMPLETE:
        # The stated length of a body that stopped early speaks of bytes that were never seen.
        kept = [(name, value) for name, value in kept if name.lower() != "content-length"]
    lengths = (sum(map(len, pieces)) for pieces in (response.chunks, chunks))
    ending = replace(response.ending, message=_clean_text(response.ending.message, rules, known))
    return replace(response, headers=_with_length(kept, *lengths), chunks=chunks, ending=ending)


def _clean_chunks(
    chunks: tuple[bytes, ...], rules: Redaction, media: str, known: tuple[bytes, ...]
) -> tuple[bytes, ...]:
    if media != AWS_STREAM:
        return redacted_chunks(chunks, rules, media=media, known=known)
    # Few cassettes hold such a stream, and what reads one comes with the whole of the adapters.
    from copyfit_harness.wire.redact_frames import redacted_frames

    return redacted_frames(chunks, rules, known=known)


def _everything_written(exchange: Exchange) -> Iterator[tuple[str, bytes]]:
    request, response = exchange.request, exchange.response
    yield "the request URL", _as_bytes(request.url)
    yield "the request body", request.body
    yield "the response body", response.body
    yield "the reason phrase", _as_bytes(response.reason)
    yield "the message of the broken response", _as_bytes(response.ending.message)
    for side, headers in (("request", request.headers), ("response", response.headers)):
        for name, value in headers:
            yield f"the {side} header {name}", _as_bytes(f"{name}: {value}")


def _known_secrets(request: WireRequest, rules: Redaction) -> Iterator[bytes]:
    """Yield the credentials that `request` carries in their place; they must not turn up anywhere else.

    A dummy such as ``lm-studio`` is a word that innocent text uses, so a short value counts only with a digit.
    """
    values = [value for name, value in request.headers if name.lower() in rules.credential_headers]
    found = _query_value(rules.query_keys | rules.body_fields).finditer(request.url)
    values += [match["value"] for match in found]
    for value in values:
        secret = _as_bytes(_PARAMETER.sub("", value.rpartition(" ")[2]))
        mixed = len(secret) >= _SHORTEST_KNOWN_SECRET and any(byte in b"0123456789" for byte in secret)
        if (mixed or len(secret) >= _LONGER_THAN_A_WORD) and secret != MARKER:
            yield secret


def _decoded(headers: Headers, chunks: tuple[bytes, ...]) -> tuple[Headers, tuple[bytes, ...]]:
    # The coding is undone for good: vcrpy and our own replay then hand out the very text that the client saw, a
    # person can read it, and no header claims a compression that is gone. Only the compressed bytes are lost.
    codings = header_value(headers, "content-encoding")
    if codings is None:
        return headers, chunks
    left = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
    return left, decoded_pieces(chunks, codings)


def _clean_request_headers(headers: Headers, rules: Redaction) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        kept = _listed(name, rules.kept_request_headers) and name.lower() not in rules.credential_headers
        yield name, _clean_text(value, rules) if kept else MARKER.decode()


def _listed(name: str, names: frozenset[str]) -> bool:
    lower = name.lower()
    return lower in names or any(lower.startswith(entry[:-1]) for entry in names if entry.endswith("*"))


def _with_length(headers: Iterable[tuple[str, str]], before: int, now: int) -> Headers:
    """State the length `now` where `before` was stated; any other number, as after HEAD, is not ours to mend."""
    return tuple(
        (name, str(now) if name.lower() == "content-length" and value == str(before) else value)
        for name, value in headers
    )


def _clean_text(text: str, rules: Redaction, known: tuple[bytes, ...] = ()) -> str:
    (cleaned,) = redacted_chunks((_as_bytes(text),), rules, media="text/plain", known=known)
    return cleaned.decode()


def _clean_url(url: str, rules: Redaction, known: tuple[bytes, ...] = ()) -> str:
    query_value = _query_value(rules.query_keys | rules.body_fields)
    url = _USER_WITHOUT_PASSWORD.sub(rf"\g<scheme>{MARKER.decode()}", url)
    return _clean_text(query_value.sub(rf"\g<name>{MARKER.decode()}", url), rules, known)


@lru_cache(maxsize=8)
def _query_value(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"(?P<name>[?&](?i:{spellings(names).decode()})=)(?P<value>[^&#]+)")


def _as_bytes(text: str) -> bytes:
    # A lone surrogate, which an exception's message may hold, cannot be written to any UTF-8 file.
    return text.encode("utf-8", "replace")
