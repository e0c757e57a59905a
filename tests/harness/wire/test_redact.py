"""Exchanges made fit for the disk."""

import gzip

import pytest

from copyfit_harness.errors import BodyUnreadable, SecretFound
from copyfit_harness.wire.exchange import Ending, EndingKind, Exchange, WireRequest, WireResponse
from copyfit_harness.wire.redact import refuse_secrets, storable_exchange, storable_request
from copyfit_harness.wire.secrets import DEFAULT_REDACTION

KEY = "sk-proj-abcdefgh0123456789"
JSON = ("content-type", "application/json")


def stored(response: WireResponse, request: WireRequest | None = None) -> Exchange:
    request = request or WireRequest("POST", "https://h/v1", (JSON,), b"{}")
    return storable_exchange(Exchange(request, response), DEFAULT_REDACTION, "exchange 1")


def test_only_listed_request_headers_keep_their_value() -> None:
    headers = (
        ("Authorization", f"Bearer {KEY}"),
        ("X-Corp-Token", "whatever"),
        ("User-Agent", "agent/1"),
        ("Anthropic-Version", "2023-06-01"),
        ("Cookie", "a=b"),
        JSON,
    )
    request = storable_request(WireRequest("POST", "https://h/", headers), DEFAULT_REDACTION)
    assert request.headers == (
        ("Authorization", "REDACTED"),
        ("X-Corp-Token", "REDACTED"),
        ("User-Agent", "agent/1"),
        ("Anthropic-Version", "2023-06-01"),
        ("Cookie", "REDACTED"),
        JSON,
    )


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("authorization", "AWS4-HMAC-SHA256 Credential=AKID/2026, Signature=00ff00ff00ff00ff00ff", "00ff00ff00"),
        ("x-amz-security-token", "IQoJb3JpZ2luX2VjEJr1/token==", "IQoJb3JpZ2luX2VjEJr1/token=="),
        ("authorization", "Bearer ya29-of-google-1", "ya29-of-google-1"),
        ("x-goog-api-key", "goog-1234567", "goog-1234567"),
        ("api-key", "azure-1234567", "azure-1234567"),
        ("x-api-key", "anthropic-1", "anthropic-1"),
    ],
)
def test_what_proves_who_sends_is_written_nowhere(name: str, value: str, secret: str) -> None:
    request = WireRequest("POST", "https://h/", (JSON, (name, value)), b"{}")
    answer = WireResponse(400, headers=(JSON,), chunks=(f'{{"message":"no good: {value}"}}'.encode(),))
    exchange = stored(answer, request)
    assert exchange.request.headers == (JSON, (name, "REDACTED"))
    assert secret not in exchange.response.body.decode()


def test_a_listed_header_that_holds_a_key_is_cleaned_too() -> None:
    headers = (("user-agent", f"agent with {KEY}"),)
    request = storable_request(WireRequest("GET", "https://h/", headers), DEFAULT_REDACTION)
    assert request.headers == (("user-agent", "agent with REDACTED"),)


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("https://h/v1?key=abc&alt=sse", "https://h/v1?key=REDACTED&alt=sse"),
        ("https://h/v1?alt=sse&API-Key=abc#key=x", "https://h/v1?alt=sse&API-Key=REDACTED#key=x"),
        ("https://h/?X-Amz-Signature=ff00&X-Amz-Date=1", "https://h/?X-Amz-Signature=REDACTED&X-Amz-Date=1"),
        ("https://me:pw@h/v1", "https://me:REDACTED@h/v1"),
        ("https://token@h/v1", "https://REDACTED@h/v1"),
        ("https://token:@h/v1", "https://REDACTED:@h/v1"),
        ("https://h/v1?subscription-key=abc&secret=def", "https://h/v1?subscription-key=REDACTED&secret=REDACTED"),
        (f"https://h/bot/{KEY}/send", "https://h/bot/REDACTED/send"),
        ("https://h/v1?monkey=abc&key=&a", "https://h/v1?monkey=abc&key=&a"),
    ],
)
def test_the_url_loses_its_secrets_and_nothing_else(url: str, cleaned: str) -> None:
    assert storable_request(WireRequest("GET", url), DEFAULT_REDACTION).url == cleaned


def test_a_clean_request_stays_as_it_is_and_cleaning_twice_changes_nothing() -> None:
    plain = WireRequest("POST", "https://h/v1?a=1", (JSON, ("content-length", "9")), b'{ "a" :1}')
    assert storable_request(plain, DEFAULT_REDACTION) == plain
    body = f'{{"api_key":"{KEY}"}}'.encode()
    dirty = WireRequest("POST", "https://h/?key=k", (JSON, ("content-length", str(len(body)))), body)
    once = storable_request(dirty, DEFAULT_REDACTION)
    assert once.headers[1] == ("content-length", str(len(once.body)))
    assert once.body != body
    assert storable_request(once, DEFAULT_REDACTION) == once


def test_the_length_that_the_answer_to_head_states_stays() -> None:
    headers = (("content-length", "1234"),)
    response = stored(WireResponse(200, headers=headers), WireRequest("HEAD", "https://h/")).response
    assert response.headers == headers


def test_only_listed_response_headers_are_written_at_all() -> None:
    headers = (
        JSON,
        ("Set-Cookie", "__cf_bm=1"),
        ("OpenAI-Organization", "org-1"),
        ("X-RateLimit-Remaining-Tokens", "5"),
        ("Retry-After", "2"),
        ("transfer-encoding", "chunked"),
        ("Location", "https://h/next?token=abc"),
    )
    assert stored(WireResponse(200, headers=headers)).response.headers == (
        JSON,
        ("X-RateLimit-Remaining-Tokens", "5"),
        ("Retry-After", "2"),
        ("Location", "https://h/next?token=REDACTED"),
    )


def test_a_compressed_body_is_written_as_the_text_that_the_client_saw() -> None:
    squeezed = gzip.compress(f'{{"note":"{KEY}"}}'.encode())
    headers = (JSON, ("Content-Encoding", "gzip"), ("Content-Length", str(len(squeezed))))
    response = stored(WireResponse(200, "OK", headers, (squeezed[:20], squeezed[20:]))).response
    assert response.body == b'{"note":"REDACTED"}'
    assert len(response.chunks) == 2
    assert response.headers == (JSON, ("Content-Length", "19"))


def test_a_compressed_request_is_compared_by_its_text() -> None:
    headers = (JSON, ("content-encoding", "gzip"))
    request = storable_request(WireRequest("POST", "https://h/", headers, gzip.compress(b"{}")), DEFAULT_REDACTION)
    assert request == WireRequest("POST", "https://h/", (JSON,), b"{}")


def test_a_body_that_cannot_be_decoded_is_not_written() -> None:
    headers = (JSON, ("content-encoding", "gzip"))
    with pytest.raises(BodyUnreadable):
        stored(WireResponse(200, headers=headers, chunks=(b"not gzip",)))


def test_the_stated_length_of_a_body_that_stopped_early_is_left_out() -> None:
    headers = (("content-length", "100"),)
    for kind in (EndingKind.CLIENT_STOPPED, EndingKind.BROKE_OFF):
        response = WireResponse(200, headers=headers, chunks=(b"part",), ending=Ending(kind, "ReadError"))
        assert stored(response).response.headers == ()


def test_the_message_of_a_broken_response_is_cleaned() -> None:
    ending = Ending(EndingKind.BROKE_OFF, "ReadError", f"lost {KEY} \udc80")
    assert stored(WireResponse(200, ending=ending)).response.ending.message == "lost REDACTED ?"


@pytest.mark.parametrize("credential", ["corp-gateway-key-one-of-many", "corpkey1"])
def test_the_credential_of_a_request_is_replaced_where_the_server_repeats_it(credential: str) -> None:
    request = WireRequest("POST", "https://h/", (("x-api-key", credential),))
    response = WireResponse(401, chunks=(f"{credential} is not a key".encode(),))
    assert stored(response, request).response.body == b"REDACTED is not a key"


def test_the_signature_and_the_token_of_a_request_to_aws_are_replaced_where_the_server_repeats_them() -> None:
    signature, token = "9f86d081884c7d659a2feaa0c55ad015", "FwoGZXIvYXdzEBc1"
    proof = f"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, Signature={signature}"
    request = WireRequest("POST", "https://h/", (("authorization", proof), ("x-amz-security-token", token)))
    said = f"We got {signature}, for x-amz-security-token:{token}."
    response = WireResponse(403, chunks=(said.encode(),))
    assert stored(response, request).response.body == b"We got REDACTED, for x-amz-security-token:REDACTED."


def test_the_credential_of_a_request_in_its_own_body_stops_the_writing() -> None:
    request = WireRequest("POST", "https://h/?key=corp-key-1", (JSON,), b'{"note":"corp-key-1"}')
    with pytest.raises(SecretFound) as caught:
        stored(WireResponse(200), request)
    assert caught.value.where == "the request body of exchange 1"
    assert "corp-key-1" not in str(caught.value)


def test_a_dummy_credential_is_a_word_and_is_left_in_the_text() -> None:
    request = WireRequest("POST", "https://h/", (("authorization", "Bearer lm-studio"),), b"ask lm-studio")
    assert stored(WireResponse(200, chunks=(b"lm-studio says hi",)), request).response.body == b"lm-studio says hi"


@pytest.mark.parametrize(
    ("request_", "response", "where"),
    [
        (WireRequest("POST", "https://h/", (), b"\xff" + KEY.encode()), WireResponse(200), "the request body"),
        (WireRequest("GET", "https://h/"), WireResponse(200, chunks=(b"\xff", KEY.encode())), "the response body"),
        (WireRequest("GET", "https://h/"), WireResponse(200, KEY), "the reason phrase"),
    ],
)
def test_a_secret_that_cannot_be_replaced_stops_the_writing(
    request_: WireRequest, response: WireResponse, where: str
) -> None:
    with pytest.raises(SecretFound) as caught:
        stored(response, request_)
    assert caught.value.where == f"{where} of exchange 1"
    assert caught.value.kind == "API key"
    assert KEY not in str(caught.value)


def test_a_description_with_a_secret_is_refused() -> None:
    with pytest.raises(SecretFound, match="stands at the description"):
        refuse_secrets(f"my server, {KEY}", DEFAULT_REDACTION, "the description")
    refuse_secrets("llama.cpp on loopback", DEFAULT_REDACTION, "the description")
