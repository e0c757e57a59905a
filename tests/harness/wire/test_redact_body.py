"""Replacing secrets in chunked bodies."""

import json
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_harness.wire.redact_body import redacted_chunks
from copyfit_harness.wire.secrets import DEFAULT_REDACTION

KEY = b"sk-proj-abcdefgh0123456789"
JSON = "application/json"
STREAM = "text/event-stream"


def clean(body: bytes, media: str = JSON, *known: bytes) -> bytes:
    (result,) = redacted_chunks((body,), DEFAULT_REDACTION, media=media, known=known)
    return result


def cut(body: bytes, edges: list[int]) -> tuple[bytes, ...]:
    points = [0, *sorted(edge % (len(body) + 1) for edge in edges), len(body)]
    return tuple(body[low:high] for low, high in pairwise(points))


@given(
    st.lists(st.sampled_from([b"text ", KEY, b" \xc3\xa9 ", b'{"password":"p w"}', b"\n"]), max_size=8),
    st.lists(st.integers(0, 300), max_size=8),
)
def test_wherever_the_edges_are_the_joined_text_is_the_same_and_cleaning_twice_changes_nothing(
    parts: list[bytes], edges: list[int]
) -> None:
    body = b"".join(parts)
    chunks = cut(body, edges)
    cleaned = redacted_chunks(chunks, DEFAULT_REDACTION, media=STREAM)
    assert len(cleaned) == len(chunks)
    assert b"".join(cleaned) == clean(body, STREAM)
    assert redacted_chunks(cleaned, DEFAULT_REDACTION, media=STREAM) == cleaned
    assert KEY not in b"".join(cleaned)


@given(st.lists(st.integers(0, 200), max_size=6))
def test_an_edge_outside_of_every_secret_stays_between_the_same_bytes(edges: list[int]) -> None:
    before, after = b"before " * 5, b" after" * 5
    chunks = cut(before + KEY + after, edges)
    cleaned = redacted_chunks(chunks, DEFAULT_REDACTION, media=STREAM)
    shift = len(b"REDACTED") - len(KEY)
    for old, new in zip(accumulate(map(len, chunks)), accumulate(map(len, cleaned)), strict=True):
        if old <= len(before):
            assert new == old
        elif old >= len(before) + len(KEY):
            assert new == old + shift
        else:
            assert new == min(old, len(before) + len(b"REDACTED"))


@pytest.mark.parametrize("name", ["api_key", "apiKey", "API-KEY", "openai_api_key", "client_secret", "password"])
def test_the_value_of_a_secret_field_is_replaced_in_any_spelling(name: str) -> None:
    body = json.dumps({"a": 1, name: 'se"cr\\et\\', "z": {name: "two"}}).encode()
    assert json.loads(clean(body)) == {"a": 1, name: "REDACTED", "z": {name: "REDACTED"}}


def test_a_number_in_a_secret_field_is_replaced_and_the_json_stays_whole() -> None:
    assert json.loads(clean(b'{"password": -12.5e3, "pin": 1}')) == {"password": "REDACTED", "pin": 1}


def test_json_quoted_inside_a_text_is_cleaned_at_every_level() -> None:
    inner = json.dumps({"password": 'hun"ter2', "city": "Rome"})
    body = json.dumps({"arguments": inner, "deeper": json.dumps({"arguments": inner})}).encode()
    cleaned = json.loads(clean(body))
    wanted = {"password": "REDACTED", "city": "Rome"}
    assert json.loads(cleaned["arguments"]) == wanted
    assert json.loads(json.loads(cleaned["deeper"])["arguments"]) == wanted


@pytest.mark.parametrize(
    "body",
    [
        b'{"max_tokens":5,"total_tokens":7}',
        b'{"properties":{"password":{"type":"string"}},"required":["password"]}',
        b'{"keyboard":"x","passwords_seen":"y"}',
        b'{"password":null,"api_key":true}',
    ],
)
def test_what_only_resembles_a_secret_field_is_left_alone(body: bytes) -> None:
    assert clean(body) == body


def test_a_secret_form_field_is_replaced() -> None:
    form = "application/x-www-form-urlencoded"
    body = b"grant_type=refresh_token&refresh_token=abc%2F1&client_secret=s&x=1"
    assert clean(body, form) == b"grant_type=refresh_token&refresh_token=REDACTED&client_secret=REDACTED&x=1"


def test_a_secret_part_of_an_upload_is_replaced() -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="api_key"\r\nContent-Type: text/plain\r\n\r\nmine\r\n--b\r\n'
        b'Content-Disposition: form-data; name="file"\r\n\r\nmine\r\n--b--\r\n'
    )
    assert clean(body, "multipart/form-data") == body.replace(b"mine", b"REDACTED", 1)


def test_a_secret_part_beside_a_binary_file_is_replaced_and_the_file_stays() -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n--b\r\n'
        b'Content-Disposition: form-data; name="file"\r\n\r\n\xff\xfehunter2\r\n--b--\r\n'
    )
    assert clean(body, "multipart/form-data") == body.replace(b"hunter2", b"REDACTED", 1)


def test_a_secret_that_a_stream_spells_out_over_events_is_replaced_in_all_of_them() -> None:
    pieces = [b"my key: sk-proj", b"-abcdef", b"gh012345", b"6789.", b" Done"]
    events = tuple(b'data: {"i":%d,"delta":{"content":"%b"}}\n\n' % pair for pair in enumerate(pieces))
    cleaned = redacted_chunks(events, DEFAULT_REDACTION, media=STREAM)
    texts = [json.loads(event.removeprefix(b"data: "))["delta"]["content"] for event in cleaned]
    assert texts == ["my key: REDACTED", "", "", ".", " Done"]


@pytest.mark.parametrize(
    "pieces",
    [
        [r"{\"pass", r"word\":\"hun", r"ter2", r"\",\"x\":1}"],
        [r"{\"password\":\"hun", r"ter2", r"\",\"x\":1}"],
        [r"{\"password\":\"hun", r"ter2"],
    ],
    ids=["name and value cut", "value cut", "broken off"],
)
def test_a_secret_field_spelled_out_over_events_is_replaced_and_each_event_stays_whole(pieces: list[str]) -> None:
    events = tuple(b'data: {"delta":{"arguments":"%b"}}\n\n' % piece.encode() for piece in pieces)
    cleaned = redacted_chunks(events, DEFAULT_REDACTION, media=STREAM)
    texts = [json.loads(event.removeprefix(b"data: "))["delta"]["arguments"] for event in cleaned]
    assert "".join(texts) == "".join(json.loads(f'"{piece}"') for piece in pieces).replace("hunter2", "REDACTED")


def test_a_known_secret_is_replaced_though_it_has_no_shape() -> None:
    assert clean(b'{"error":"key corp-key-1 is unknown"}', JSON, b"corp-key-1") == (
        b'{"error":"key REDACTED is unknown"}'
    )


def test_a_body_cut_inside_a_character_is_still_text() -> None:
    assert clean(KEY + b" caf\xc3", STREAM) == b"REDACTED caf\xc3"


def test_a_binary_body_is_left_as_it_is() -> None:
    assert clean(b"\xff\x00" + KEY, "application/octet-stream") == b"\xff\x00" + KEY
