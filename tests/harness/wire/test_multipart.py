"""Reading multipart bodies."""

import httpx
import pytest

from copyfit_harness.wire.multipart import Part, parts_of


def test_what_a_client_builds_is_read_back() -> None:
    request = httpx.Request(
        "POST",
        "http://h/",
        data={"purpose": "batch"},
        files={"file": ("a.bin", b"\r\n--not the boundary\r\n\x00\xff", "application/octet-stream")},
    )
    parts = parts_of(request.read(), request.headers["content-type"])
    assert parts == (
        Part((("content-disposition", 'form-data; name="purpose"'),), b"batch"),
        Part(
            (
                ("content-disposition", 'form-data; name="file"; filename="a.bin"'),
                ("content-type", "application/octet-stream"),
            ),
            b"\r\n--not the boundary\r\n\x00\xff",
        ),
    )


def test_a_part_may_have_no_headers_and_no_content() -> None:
    assert parts_of(b"--b\r\n\r\nx\r\n--b\r\nA: 1\r\n\r\n\r\n--b--\r\n", 'multipart/form-data; boundary="b"') == (
        Part((), b"x"),
        Part((("a", "1"),), b""),
    )


@pytest.mark.parametrize(
    ("body", "content_type", "complaint"),
    [
        (b"--b\r\n\r\nx\r\n--b--", "multipart/form-data", "names no boundary"),
        (b"--b\r\n\r\nx\r\n--b", "multipart/form-data; boundary=b", "closing boundary"),
        (b"anything", "multipart/form-data; boundary=b", "closing boundary"),
        (b"--b\r\nA: 1\r\n--b--\r\n", "multipart/form-data; boundary=b", "no blank line"),
    ],
)
def test_a_malformed_body_is_refused(body: bytes, content_type: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parts_of(body, content_type)
