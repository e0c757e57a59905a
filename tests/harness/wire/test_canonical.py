"""When two requests count as the same."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_harness.wire.canonical import (
    BodyKind,
    body_value,
    canonical_body,
    normalised_url,
    request_digest,
)
from copyfit_harness.wire.exchange import WireRequest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


def post(body: bytes, content_type: str = "application/json", url: str = "https://h/v1") -> WireRequest:
    return WireRequest("POST", url, (("Content-Type", content_type),), body)


def same(one: bytes, other: bytes, content_type: str = "application/json") -> bool:
    return request_digest(post(one, content_type)) == request_digest(post(other, content_type))


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reordered(item) for item in value]
    return value


@given(JSON)
def test_json_is_the_same_whatever_its_key_order_blanks_and_escapes(value: Any) -> None:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    airy = json.dumps(reordered(value), ensure_ascii=True, indent=3).encode()
    assert same(compact, airy)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":1}', b'{"a":true}'),
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":null}', b"{}"),
        (b"[1,2]", b"[2,1]"),
        (b'{"a":9007199254740993}', b'{"a":9007199254740992}'),
        (b'{"a":"e\xcc\x81"}', b'{"a":"\xc3\xa9"}'),
        (b'{"a":1,"a":2}', b'{"a":2}'),
        (b'{"a":1,"a":2}', b'{"a":2,"a":1}'),
        (b'{"x":{"a":1,"a":1}}', b'{"x":{"a":1}}'),
        (b'{"a":1e999}', b'{"a":2e999}'),
        (b'{"a":NaN}', b'{"a":null}'),
        (b'{"a":"\xff"}', b'{"a":"\xfe"}'),
        (b"", b"null"),
    ],
)
def test_json_that_a_server_could_tell_apart_is_different(one: bytes, other: bytes) -> None:
    assert not same(one, other)


@pytest.mark.parametrize("body", [b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":"\xff"}', b"{", b"[" * 100_000])
def test_json_without_one_reading_is_compared_byte_by_byte(body: bytes) -> None:
    assert canonical_body(post(body)).kind is BodyKind.RAW
    assert canonical_body(post(body)).key == body


def test_a_json_body_and_the_same_bytes_as_text_are_different() -> None:
    assert request_digest(post(b'{"a":1}')) != request_digest(post(b'{"a":1}', "text/plain"))
    assert request_digest(post(b'{"a":1}')) == request_digest(post(b'{"a":1}', "application/vnd.api+json"))


def test_a_form_is_the_same_whatever_its_field_order_and_escapes() -> None:
    form = "application/x-www-form-urlencoded"
    assert same(b"b=2&a=%C3%A9+x", b"a=%c3%a9%20x&b=2", form)
    assert not same(b"a=1&a=2", b"a=2&a=1", form)
    assert not same(b"a=%FF", b"a=%FE", form)
    assert not same(b"a=1&b=", b"a=1", form)


def test_an_upload_is_the_same_whatever_its_boundary() -> None:
    def upload(content: bytes) -> WireRequest:
        request = httpx.Request("POST", "https://h/files", data={"purpose": "batch"}, files={"file": content})
        return WireRequest(
            "POST", "https://h/files", (("content-type", request.headers["content-type"]),), request.read()
        )

    one, other = upload(b"a\r\nb"), upload(b"a\r\nb")
    assert one.body != other.body
    assert request_digest(one) == request_digest(other)
    assert request_digest(one) != request_digest(upload(b"a\r\nc"))
    assert body_value(one) == [
        {"content-disposition": 'form-data; name="purpose"', "content": "batch"},
        {
            "content-disposition": 'form-data; name="file"; filename="upload"',
            "content-type": "application/octet-stream",
            "content": "a\r\nb",
        },
    ]


@given(st.binary(), st.binary())
def test_any_other_body_is_the_same_only_byte_by_byte(one: bytes, other: bytes) -> None:
    assert same(one, other, "application/octet-stream") is (one == other)


@pytest.mark.parametrize(
    ("spelling", "normal"),
    [
        ("HTTPS://API.Host:443/v1", "https://api.host/v1"),
        ("http://h:80", "http://h/"),
        ("http://h:443/", "http://h:443/"),
        ("http://[::1]:8080/a", "http://[::1]:8080/a"),
        ("http://h/a?b=2&a=1&b=1#part", "http://h/a?a=1&b=2&b=1"),
        ("http://h/%7euser/%e4%b8%ad/a%2fb", "http://h/~user/%E4%B8%AD/a%2Fb"),
        ("http://h/?", "http://h/"),
        ("http://me:pw@h/", "http://me:pw@h/"),
    ],
)
def test_a_url_has_one_spelling(spelling: str, normal: str) -> None:
    assert normalised_url(spelling) == normal
    assert normalised_url(normal) == normal


def test_method_and_url_count() -> None:
    digests = {
        request_digest(WireRequest(method, url))
        for method in ("GET", "POST")
        for url in ("https://h/a", "https://h/A", "https://h/a?x=1", "http://h/a", "https://h:444/a")
    }
    assert len(digests) == 10
    assert request_digest(WireRequest("get", "https://h/a")) in digests


def test_headers_other_than_the_content_type_do_not_count() -> None:
    plain = post(b"{}")
    assert request_digest(WireRequest("POST", plain.url, (*plain.headers, ("user-agent", "x")), b"{}")) == (
        request_digest(plain)
    )


def test_bodies_are_shown_as_values() -> None:
    assert body_value(post(b'{"a":[1]}')) == {"a": [1]}
    assert body_value(post(b"a=1&b=2&a=3", "application/x-www-form-urlencoded")) == {"a": ["1", "3"], "b": ["2"]}
    assert body_value(post(b'{"a":1,"a":2}')) == '{"a":1,"a":2}'
    assert body_value(post(b"\xff", "image/png")) == b"\xff"
