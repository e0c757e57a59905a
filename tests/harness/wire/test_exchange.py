"""The shapes of an exchange."""

import pytest

from copyfit_harness.wire.exchange import (
    Ending,
    EndingKind,
    WireRequest,
    WireResponse,
    header_value,
    media_type,
)


def test_the_repr_of_a_request_shows_no_header_no_query_and_no_body() -> None:
    request = WireRequest(
        "POST", "https://me:pass-1@host:8080/v1?key=query-1", (("x-api-key", "header-1"),), b"body-1"
    )
    assert repr(request) == "<WireRequest POST https://host:8080/v1 (6 bytes)>"


def test_the_repr_of_a_response_shows_no_header_and_no_body() -> None:
    response = WireResponse(200, "OK", (("set-cookie", "c-1"),), (b"a", b"b"))
    assert repr(response) == "<WireResponse 200, 2 chunks, complete>"


def test_the_body_is_the_chunks_joined() -> None:
    assert WireResponse(200, chunks=(b"a", b"", b"bc")).body == b"abc"


def test_delays_that_do_not_fit_the_chunks_are_refused() -> None:
    with pytest.raises(ValueError, match="2 chunks need as many delays, not 1"):
        WireResponse(200, chunks=(b"a", b"b"), delays=(0.1,))


def test_a_response_ends_complete_unless_it_is_said_otherwise() -> None:
    assert WireResponse(200).ending == Ending(EndingKind.COMPLETE)


def test_headers_are_found_without_regard_to_case() -> None:
    headers = (("Content-Type", "Application/JSON; charset=utf-8"), ("content-type", "text/plain"))
    assert header_value(headers, "CONTENT-TYPE") == "Application/JSON; charset=utf-8"
    assert header_value(headers, "accept") is None
    assert media_type(headers) == "application/json"
    assert media_type(()) == ""
