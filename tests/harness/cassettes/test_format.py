"""The shape of a cassette file."""

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from copyfit_harness.cassettes.format import Cassette, cassette_of, document
from copyfit_harness.wire.exchange import Ending, EndingKind, Exchange, WireRequest, WireResponse

WHEN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
REQUEST = WireRequest("POST", "https://h/v1", (("content-type", "application/json"),), b'{"a":1}')
RESPONSE = WireResponse(
    200, "OK", (("x", "1"), ("y", "2"), ("x", "3")), (b"data: caf\xc3", b"\xa9\n"), (0.01, 0.5), Ending()
)
CASSETTE = Cassette((Exchange(REQUEST, RESPONSE),), "the test's server", WHEN)


def test_the_document_is_a_vcrpy_cassette_with_our_facts_beside_it() -> None:
    assert document(CASSETTE) == {
        "version": 1,
        "metadata": {
            "copyfit": {
                "format": 1,
                "recorded_at": "2026-11-30T12:00:00+00:00",
                "description": "the test's server",
                "exchanges": 1,
            }
        },
        "interactions": [
            {
                "request": {
                    "method": "POST",
                    "uri": "https://h/v1",
                    "headers": {"content-type": ["application/json"]},
                    "body": '{"a":1}',
                },
                "response": {
                    "status": {"code": 200, "message": "OK"},
                    "headers": {"x": ["1", "3"], "y": ["2"]},
                    "body": {"string": "data: café\n"},
                    "chunks": {"lengths": [10, 2], "delays": [0.01, 0.5], "ending": "complete"},
                },
            }
        ],
    }


def test_a_document_reads_back_as_the_cassette() -> None:
    back = cassette_of(document(CASSETTE))
    assert back.exchanges[0].request == REQUEST
    assert back.exchanges[0].response.chunks == RESPONSE.chunks
    assert back.exchanges[0].response.delays == RESPONSE.delays
    assert back.exchanges[0].response.headers == (("x", "1"), ("x", "3"), ("y", "2"))
    assert (back.description, back.recorded_at) == (CASSETTE.description, WHEN)


@pytest.mark.parametrize(
    "ending", [Ending(EndingKind.CLIENT_STOPPED), Ending(EndingKind.BROKE_OFF, "ReadError", "reset by peer")]
)
def test_an_ending_reads_back(ending: Ending) -> None:
    cassette = Cassette((Exchange(REQUEST, WireResponse(200, chunks=(b"x",), ending=ending)),))
    assert cassette_of(document(cassette)).exchanges[0].response.ending == ending


def test_a_body_that_is_not_utf8_is_kept_as_bytes() -> None:
    cassette = Cassette((Exchange(REQUEST, WireResponse(200, chunks=(b"\xff\x00",))),))
    value = document(cassette)
    assert value["interactions"][0]["response"]["body"] == {"string": b"\xff\x00"}
    assert cassette_of(value).exchanges == cassette.exchanges


def test_a_plain_vcrpy_cassette_is_read_as_one_complete_chunk() -> None:
    value = {
        "version": 1,
        "interactions": [
            {
                "request": {"method": "GET", "uri": "http://h/", "headers": {}, "body": None},
                "response": {
                    "status": {"code": 404, "message": None},
                    "headers": {},
                    "body": {"string": "no"},
                },
                "recorded_at": "some day",
            }
        ],
    }
    cassette = cassette_of(value)
    assert cassette.recorded_at is None
    assert cassette.exchanges == (Exchange(WireRequest("GET", "http://h/"), WireResponse(404, chunks=(b"no",))),)


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the document with one member set to `value`, or taken away if it is `...`."""
    whole = copy.deepcopy(document(CASSETTE))
    target: Any = whole
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        target = target[step]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return whole


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("version", 2, "version: input should be 1"),
        ("version", ..., "version: field required"),
        ("interactions", ..., "interactions: field required"),
        ("metadata.copyfit.format", 2, "it has format 2 of copyfit's facts, and this version reads format 1"),
        ("metadata.copyfit.exchanges", 2, "counts 2 exchanges and it holds 1: it was cut off"),
        ("interactions.0.request.extra", 1, r"interactions.0.request.extra: extra inputs are not permitted"),
        ("interactions.0.request.body", 5, r"interactions.0.request.body: input should be a valid string"),
        ("interactions.0.response.status.code", "200", "status.code: input should be a valid integer"),
        ("interactions.0.response.status.code", 42, "status.code: input should be greater than or equal to 100"),
        ("interactions.0.response.chunks.lengths", [3], "interaction 1 add up to 3 bytes and its body has 12"),
        ("interactions.0.response.chunks.lengths", [-1, 13], "lengths.0: input should be greater than or equal"),
        ("interactions.0.response.chunks.delays", [0.1], "interaction 1 has 2 chunks and 1 delays"),
        ("interactions.0.response.chunks.ending", "sudden", "ending: input should be 'complete'"),
        ("interactions.0.response.chunk", 1, "response.chunk: extra inputs are not permitted"),
    ],
)
def test_whatever_is_not_a_whole_known_cassette_is_refused_with_the_place(
    path: str, value: Any, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        cassette_of(changed(path, value))


@pytest.mark.parametrize("value", [None, [], "text", 1])
def test_a_file_that_is_no_mapping_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="the file: input should be"):
        cassette_of(value)


def test_interactions_that_another_tool_has_added_are_read() -> None:
    value = changed("metadata.copyfit.exchanges", 0)
    assert len(cassette_of(value).exchanges) == 1


def test_a_complaint_quotes_nothing_of_a_body() -> None:
    value = changed("interactions.0.response.body.string", ["a private prompt"])
    with pytest.raises(ValueError, match=r"response\.body\.string") as caught:
        cassette_of(value)
    assert "private" not in str(caught.value)
