"""Evidence is lifted out of every envelope that errors come in."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.overflow.evidence import lift, retry_after

INNER = {
    "message": "too long",
    "type": "invalid_request_error",
    "param": "messages",
    "code": "context_length_exceeded",
}


@pytest.mark.parametrize(
    "body",
    [
        {"error": INNER},
        INNER,
        [{"error": INNER}],
        {"type": "error", "error": INNER, "request_id": "r"},
        {"error": {"message": json.dumps({"error": INNER})}},
        {"error": {"message": f"Upstream said: {json.dumps({'error': INNER})} Try again."}},
        {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": INNER})}}},
        {"response": {"status": "failed", "error": INNER}},
        {"base_resp": INNER},
        f"Error code: 400 - {{'error': {INNER}}}",
        f"data: {json.dumps({'error': INNER})}",
    ],
    ids=[
        "nested",
        "flat",
        "array",
        "typed",
        "json text",
        "json in text",
        "raw",
        "response",
        "base_resp",
        "python text",
        "frame",
    ],
)
def test_the_same_facts_are_found_in_every_envelope(body: Any) -> None:
    evidence = lift(400, body if isinstance(body, str) else json.dumps(body))
    assert "too long" in evidence.message
    assert (evidence.code, evidence.type) == ("context_length_exceeded", "invalid_request_error")
    assert evidence.param == "messages"
    assert {"context_length_exceeded", "invalid_request_error"} <= evidence.words


def test_a_bare_string_is_the_message() -> None:
    assert lift(400, b'{"error": "Context size has been exceeded."}').message == "Context size has been exceeded."
    assert lift(502, b"Bad gateway").message == "Bad gateway"


def test_the_innermost_message_comes_first() -> None:
    body = json.dumps({"message": 'outer {"error":{"message":"inner"}}'})
    assert lift(400, body).message.split("\n") == ["inner", 'outer {"error":{"message":"inner"}}']


FOREIGN = {"fault": {"kind": "too_big", "about": "prompt is too long: 9 tokens > 8", "seen": [{"note": "at 503"}]}}


@pytest.mark.parametrize(
    "known",
    [{"status": 400}, {"status": None, "in_stream": True}, {"status": 200, "is_error": True}],
    ids=["by status", "in a stream", "by its caller"],
)
def test_an_error_under_names_that_nobody_has_heard_of_is_searched_whole(known: dict[str, Any]) -> None:
    evidence = lift(known.pop("status"), FOREIGN, **known)
    assert evidence.message == "prompt is too long: 9 tokens > 8\nat 503"
    assert evidence.words == {"too_big"}


def test_under_such_names_an_answer_is_not_searched_and_neither_is_an_error_that_says_something() -> None:
    assert lift(200, FOREIGN).message == ""
    assert lift(400, FOREIGN | {"message": "no good"}).message == "no good"


def test_such_an_error_too_deep_to_open_is_left_closed() -> None:
    deep: Any = "far too deep"
    for _ in range(9):
        deep = {"x": deep}
    assert lift(400, deep).message == ""
    assert lift(400, deep["x"]).message == "far too deep"


def test_numbers_of_the_error_keep_their_names() -> None:
    body = b'{"error":{"code":400,"message":"no","n_prompt_tokens":3003,"n_ctx":2048,"final":true}}'
    assert lift(400, body).counts == {"n_prompt_tokens": 3003, "n_ctx": 2048}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"error":{"code":500,"message":"x"}}', 500),
        (None, b'{"error":{"code":"429","message":"x"}}', 429),
        (None, b"Error code: 413 - too large", 413),
        (400, b'{"error":{"code":500,"message":"x"}}', 400),
        (None, b"500 tokens are too many", None),
        (None, b'{"message":"x"}', None),
    ],
    ids=str,
)
def test_an_error_without_a_status_of_its_own_takes_the_one_it_names(
    status: int | None, body: bytes, expected: int | None
) -> None:
    assert lift(status, body).status == expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
    ],
    ids=str,
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)) == seconds


def test_an_envelope_too_deep_to_open_is_left_closed() -> None:
    deep: Any = INNER
    for _ in range(30):
        deep = {"error": deep}
    assert lift(400, json.dumps(deep)).message == ""
    assert lift(400, b"[" * 100_000).status == 400


@given(st.binary(max_size=60) | st.text(max_size=60))
def test_any_body_gives_evidence(body: bytes | str) -> None:
    assert lift(500, body).status == 500
