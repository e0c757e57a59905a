"""Events come out of bytes, however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copyfit_adapters.errors import OversizedEvent
from copyfit_adapters.sse import SseEvent, SseParser


def parse(*pieces: bytes) -> list[SseEvent]:
    parser = SseParser()
    fed = [event for piece in pieces for event in parser.feed(piece)]
    return [*fed, *parser.close()]


def in_pieces(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"], ids=["LF", "CR", "CRLF"])
def test_every_line_end_of_the_standard_ends_a_line(end: bytes) -> None:
    lines = [b"event: add", b"data: one", b"data:two", b"id: 7", b"", b": comment", b"data", b"", b""]
    assert parse(end.join(lines)) == [SseEvent("one\ntwo", "add", "7"), SseEvent("", "message", "7")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbfdata: x\n\n", [SseEvent("x")]),
        (b"data:  x \n\n", [SseEvent(" x ")]),
        (b"data: a:b\n\n", [SseEvent("a:b")]),
        (b"event: lost\n\ndata: x\n\n", [SseEvent("x")]),
        (b"retry: 9\nwhatever: 1\ndata: x\n\n", [SseEvent("x")]),
        (b"id: a\0b\ndata: x\n\n", [SseEvent("x")]),
        (b"\n\r\n\r: nothing\n\n", []),
        (b"data: \xff\n\n", [SseEvent("\ufffd")]),
        ("data: é😀\n\n".encode(), [SseEvent("é😀")]),
    ],
    ids=["BOM", "one blank", "colon", "type alone", "other fields", "NUL in id", "empty", "no UTF-8", "UTF-8"],
)
def test_fields_are_read_as_the_standard_says(data: bytes, expected: list[SseEvent]) -> None:
    assert parse(data) == expected


@pytest.mark.parametrize("tail", [b"", b"\n"], ids=["in the line", "after the line"])
def test_an_event_that_the_end_of_the_stream_cut_off_is_given_out_at_the_end(tail: bytes) -> None:
    parser = SseParser()
    assert parser.feed(b"data: [DONE]" + tail) == []
    assert parser.close() == [SseEvent("[DONE]")]
    assert parser.close() == []


LINES = st.sampled_from(
    [b"data: x", b"data: \xc3\xa9", b"event: e", b"id: 1", b":c", b"", b"data", b"\xef\xbb\xbfdata:y"]
)


@given(
    st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=12),
    st.lists(st.integers(min_value=0), max_size=8),
)
@example([(b"data: x", b"\r\n"), (b"", b"\r\n")], [8, 8, 10])
def test_the_cutting_of_the_bytes_changes_nothing(lines: list[tuple[bytes, bytes]], places: list[int]) -> None:
    data = b"".join(line + end for line, end in lines)
    assert parse(*in_pieces(data, places)) == parse(data)


@given(st.binary(max_size=60), st.lists(st.integers(min_value=0), max_size=8))
def test_the_cutting_of_garbage_changes_nothing(data: bytes, places: list[int]) -> None:
    assert parse(*in_pieces(data, places)) == parse(data)


@pytest.mark.parametrize(
    "piece", [b"x" * 100, b"data: " + b"x" * 94, b"data: xxxx\n" * 10], ids=["line", "field", "data"]
)
def test_a_line_or_event_without_end_is_refused_at_the_limit(piece: bytes) -> None:
    parser = SseParser(max_event_bytes=250)
    with pytest.raises(OversizedEvent) as caught:
        [parser.feed(piece) for _ in range(4)]
    assert caught.value.limit == 250


def test_many_events_may_be_longer_than_the_limit_together() -> None:
    parser = SseParser(max_event_bytes=20)
    assert len(parser.feed(b"data: 0123456789\n\n" * 100)) == 100
