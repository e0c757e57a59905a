"""Replacing secrets in the binary event stream of AWS."""

import json
from base64 import b64decode, b64encode
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.aws_event_stream import EventStreamParser, encode_event
from copyfit_harness.errors import SecretFound
from copyfit_harness.wire.exchange import Exchange, WireRequest, WireResponse
from copyfit_harness.wire.redact import AWS_STREAM, storable_exchange
from copyfit_harness.wire.redact_frames import redacted_frames
from copyfit_harness.wire.secrets import DEFAULT_REDACTION

KEY = "sk-proj-abcdefgh0123456789"
HEADERS = {":event-type": "chunk", ":message-type": "event"}


def plain(**fields: Any) -> bytes:
    return encode_event(HEADERS, json.dumps(fields).encode())


def wrapped(**fields: Any) -> bytes:
    """Return an event as Bedrock sends those of the models' own protocols."""
    inner = b64encode(json.dumps(fields).encode()).decode()
    return encode_event(HEADERS, json.dumps({"bytes": inner, "p": "abc"}).encode())


def said(body: bytes) -> list[Any]:
    """Return what the events of a stream say, whose lengths and checksums are right."""
    parser = EventStreamParser()
    events = [json.loads(event.payload) for event in parser.feed(body)]
    parser.close()
    return [json.loads(b64decode(fields["bytes"])) if "bytes" in fields else fields for fields in events]


def clean(*chunks: bytes, known: tuple[bytes, ...] = ()) -> bytes:
    return b"".join(redacted_frames(chunks, DEFAULT_REDACTION, known=known))


FORMS = pytest.mark.parametrize("frame", [plain, wrapped])


@FORMS
def test_a_secret_is_replaced_and_the_frame_is_whole_again(frame: Any) -> None:
    body = frame(text="hi") + frame(text=f"the key is {KEY}") + frame(done=True)
    assert said(clean(body)) == [{"text": "hi"}, {"text": "the key is REDACTED"}, {"done": True}]


@FORMS
def test_a_secret_field_is_replaced_and_one_quoted_in_a_text_too(frame: Any) -> None:
    body = frame(password="p w") + frame(input='{"api_key": "hunter 2"}')
    assert said(clean(body)) == [{"password": "REDACTED"}, {"input": '{"api_key": "REDACTED"}'}]


@FORMS
def test_a_secret_that_is_spelled_out_over_several_events_is_replaced(frame: Any) -> None:
    body = b"".join(frame(text=piece) for piece in ("the key ", KEY[:9], KEY[9:], " is secret"))
    assert "".join(event["text"] for event in said(clean(body))) == "the key REDACTED is secret"


@FORMS
def test_a_known_secret_is_replaced(frame: Any) -> None:
    body = clean(frame(message="The token 0ne-of-a-kind is expired."), known=(b"0ne-of-a-kind",))
    assert said(body) == [{"message": "The token REDACTED is expired."}]


@given(st.lists(st.integers(0, 400), max_size=6))
def test_a_stream_without_a_secret_keeps_every_byte_and_edge(edges: list[int]) -> None:
    body = plain(text="盐") + wrapped(text="hi") + encode_event({":event-type": "audio"}, b"\xff\xfe")
    points = [0, *sorted(edge % len(body) for edge in edges), len(body)]
    chunks = tuple(body[low:high] for low, high in pairwise(points))
    assert redacted_frames(chunks, DEFAULT_REDACTION) == chunks


@given(st.lists(st.integers(0, 400), max_size=6))
def test_the_chunks_stay_as_many_and_an_edge_between_frames_stays_there(edges: list[int]) -> None:
    first, secret, last = plain(text="hi"), wrapped(text=KEY), plain(done=True)
    body = first + secret + last
    points = [0, *sorted([len(first), *(edge % len(body) for edge in edges)]), len(body)]
    chunks = tuple(body[low:high] for low, high in pairwise(points))
    cleaned = redacted_frames(chunks, DEFAULT_REDACTION)
    assert len(cleaned) == len(chunks)
    assert b"".join(cleaned) == clean(body)
    assert len(first) in accumulate(map(len, cleaned))
    assert redacted_frames(cleaned, DEFAULT_REDACTION) == cleaned


@FORMS
@pytest.mark.parametrize("cut", [1, 20])
def test_what_was_cut_off_of_a_frame_stays_unless_it_holds_a_secret(frame: Any, cut: int) -> None:
    whole = frame(text="hi")
    harmless = whole + frame(text="a plain text, and some more of it")[:-cut]
    assert clean(harmless) == harmless
    assert clean(whole + frame(text=f"{KEY} and then some more of it")[:-cut]) == whole


@FORMS
def test_what_comes_after_a_damaged_frame_stays_unless_it_holds_a_secret(frame: Any) -> None:
    damaged = bytearray(frame(text="hi"))
    damaged[-1] ^= 1
    assert clean(bytes(damaged) + frame(text="ho")) == bytes(damaged) + frame(text="ho")
    assert clean(frame(text="hi"), bytes(damaged), frame(text=KEY)) == frame(text="hi")


@pytest.mark.parametrize("body", [b"", b"\0\0\0", b"\0" * 12, b"\xff" * 40, b'{"message":"no stream"}'])
def test_what_is_no_stream_stays(body: bytes) -> None:
    assert clean(body) == body


def test_the_media_type_says_that_a_body_is_a_stream_even_where_it_could_pass_for_text() -> None:
    """Checksums may happen to be ASCII: replacing in such a body as in a text would break its lengths."""
    found = (plain(password="p w", n=n) for n in range(1_000_000))
    body = next(frame for frame in found if frame.isascii())
    stored = storable_exchange(exchange(body), DEFAULT_REDACTION, "here").response.body
    ((event),) = said(stored)
    assert event["password"] == "REDACTED"


def test_a_secret_where_it_cannot_be_replaced_is_refused() -> None:
    body = encode_event({":event-type": f"Bearer {KEY}"}, b"{}")
    with pytest.raises(SecretFound, match="response body"):
        storable_exchange(exchange(body), DEFAULT_REDACTION, "here")


def exchange(body: bytes) -> Exchange:
    headers = (("content-type", AWS_STREAM), ("content-length", str(len(body))))
    return Exchange(WireRequest("POST", "https://h/x", (), b""), WireResponse(200, "", headers, (body,)))
