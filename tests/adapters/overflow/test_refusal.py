"""A judged error becomes the typed error that fits, says what to do next, and repeats no key."""

import json

import pytest

from copyfit.errors import AuthFailed, BadRequest, ContextOverflow, ProviderError, RateLimited, Unavailable
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.refusal import QUOTE_CHARS, Asked, quote, refusal

ASKED = Asked(provider="acme", model="m1")


def refused(status: int | None, message: str, *, in_stream: bool = False) -> ProviderError:
    body = json.dumps({"error": {"message": message, "code": "c"}})
    return refusal(lift(status, body, in_stream=in_stream), ASKED)


@pytest.mark.parametrize(
    ("status", "message", "error", "retryable"),
    [
        (401, "wrong key", AuthFailed, False),
        (403, "not here", AuthFailed, False),
        (402, "Payment required", BadRequest, False),
        (404, "no such model", BadRequest, False),
        (408, "too slow", Unavailable, True),
        (413, "too much", BadRequest, False),
        (429, "slow down", RateLimited, True),
        (429, "You exceeded your current quota", RateLimited, False),
        (500, "oops", Unavailable, True),
        (501, "not made", Unavailable, False),
        (529, "Overloaded", Unavailable, True),
        (None, "Rate limit reached", RateLimited, True),
        (None, "Invalid API key", AuthFailed, False),
        (None, "Overloaded", Unavailable, True),
        (None, "who knows", BadRequest, False),
    ],
)
def test_the_type_follows_from_status_and_kind(
    status: int | None, message: str, error: type[ProviderError], retryable: bool
) -> None:
    raised = refused(status, message)
    assert (type(raised), raised.retryable) == (error, retryable)
    assert (raised.provider, raised.model, raised.status, raised.code) == ("acme", "m1", status, "c")


@pytest.mark.parametrize("status", [400, 413, 422, 500, 503, None])
def test_an_overflow_is_one_under_every_status_and_is_never_retryable(status: int | None) -> None:
    raised = refused(status, "prompt is too long: 9 tokens > 8 maximum")
    assert isinstance(raised, ContextOverflow)
    assert (raised.limit_tokens, raised.requested_tokens, raised.rule) == (8, 9, "too-long")
    assert not raised.retryable


def test_the_sentence_says_who_what_and_what_to_do_next() -> None:
    assert str(refused(429, "slow\n down")) == (
        'acme refused the request with status 429 ("slow down"): wait, then send it again.'
    )
    assert str(refused(None, "context is full", in_stream=True)) == (
        'acme refused the input as too long in mid-stream ("context is full"): shorten the history, or use a '
        "model with a larger window."
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": 400, "type": "exceed_context_size_error"}, "exceed_context_size_error"),
        ({"code": "context_length_exceeded", "type": "invalid_request_error"}, "context_length_exceeded"),
        ({"code": 3051}, "3051"),
        ({}, None),
    ],
    ids=str,
)
def test_the_code_is_the_providers_word_before_its_number(error: dict[str, object], code: str | None) -> None:
    assert refusal(lift(400, json.dumps({"error": {"message": "x"} | error})), ASKED).code == code


def test_retry_after_travels_with_the_error() -> None:
    raised = refusal(lift(429, b"{}", headers={"retry-after": "12"}), ASKED)
    assert raised.retry_after == 12.0


def test_a_long_message_is_cut() -> None:
    assert len(quote("x y " * 1000)) == QUOTE_CHARS
    assert quote("short") == "short"


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abc123DEF456ghi789",
        "sk-ant-api03-aaaaaaaaaaaa",
        "gsk_aaaabbbbccccdddd",
        "AIzaSyA1234567890abcdefghijk",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "0123456789abcdef0123456789abcdef",
        "sk-abcdef****************wxyz",
    ],
)
def test_what_looks_like_a_key_is_masked(key: str) -> None:
    assert key not in quote(f"Incorrect API key provided: {key}. See the docs.")
    assert quote(f"key {key}.").startswith("key [masked]")


def test_a_known_secret_is_masked_whatever_it_looks_like() -> None:
    assert quote("your key open sesame is wrong", ("open sesame", "")) == "your key [masked] is wrong"
    assert "open sesame" not in repr(Asked(provider="p", secrets=("open sesame",)))
