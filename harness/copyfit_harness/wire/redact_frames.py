"""Replace the secrets in an AWS event stream frame by frame, so that its lengths and checksums stay right."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from copyfit_adapters.aws_event_stream import AwsEvent, EventStreamParser, encode_event
from copyfit_adapters.errors import BrokenFrame
from copyfit_harness.wire.redact_body import Span, redacted_chunks, replaced
from copyfit_harness.wire.secrets import Redaction

_WRAPPED = re.compile(rb'"bytes"\s*:\s*"([A-Za-z0-9+/]*)')


@dataclass(frozen=True, slots=True)
class _Frame:
    """The frame from `start` up to `end`; `wrapper` are the fields around a payload that is in base64."""

    start: int
    end: int
    event: AwsEvent
    text: bytes
    wrapper: dict[str, Any] | None

    def saying(self, text: bytes) -> bytes:
        """Return the frame with another text."""
        if self.wrapper is None:
            return encode_event(self.event.headers, text)
        fields = self.wrapper | {"bytes": b64encode(text).decode()}
        return encode_event(self.event.headers, json.dumps(fields, separators=(",", ":")).encode())


def redacted_frames(
    chunks: tuple[bytes, ...], rules: Redaction, *, known: tuple[bytes, ...] = ()
) -> tuple[bytes, ...]:
    """Return the `chunks` of an event stream with every secret in its payloads replaced, in the same number.

    A frame without a secret keeps every byte. The payloads are searched together, for a stream spells a secret out
    over several events; of one that wraps another in base64, as Bedrock's streams of the models' own protocols do,
    the inner one is. What was cut off of a frame, or comes after a damaged one, cannot be mended: if it holds a
    secret, it is left out.
    """
    body = b"".join(chunks)
    frames = list(_frames(body))
    end = frames[-1].end if frames else 0
    texts = (*(frame.text for frame in frames), _readable(body[end:]))
    cleaned = redacted_chunks(texts, rules, media="text/event-stream", known=known)
    spans: list[Span] = [
        (frame.start, frame.end, frame.saying(text))
        for frame, text in zip(frames, cleaned, strict=False)
        if text != frame.text
    ]
    if cleaned[-1] != texts[-1]:
        spans.append((end, len(body), b""))
    return replaced(chunks, body, spans) if spans else chunks


def _frames(body: bytes) -> Iterator[_Frame]:
    """Yield the whole and undamaged frames that `body` begins with."""
    parser = EventStreamParser()
    start = 0
    while True:
        end = start + int.from_bytes(body[start : start + 4])
        try:
            events = parser.feed(body[start:end])
        except BrokenFrame:
            return
        if not events:
            return
        yield _frame(start, end, events[0])
        start = end


def _frame(start: int, end: int, event: AwsEvent) -> _Frame:
    try:
        fields = json.loads(event.payload)
        inner = b64decode(fields["bytes"], validate=True)
        inner.decode()
    except (ValueError, TypeError, LookupError, RecursionError):
        return _Frame(start, end, event, _text_of(event.payload), None)
    return _Frame(start, end, event, inner, fields)


def _text_of(payload: bytes) -> bytes:
    """Return `payload` if it is text; other bytes cannot be searched by what stands where."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return b""
    return payload


def _readable(rest: bytes) -> bytes:
    """Return what can be read of `rest`, which is no whole frame, and of what is in base64 in it."""
    inner = [b64decode(text[: len(text) // 4 * 4]) for text in _WRAPPED.findall(rest)]
    return b"\n".join([rest, *inner]).decode("utf-8", "replace").encode()
