"""Lines come out of bytes, however the bytes are cut."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from copyfit_adapters.errors import OversizedEvent
from copyfit_adapters.json_lines import LineParser


def parse(*pieces: bytes) -> list[str]:
    parser = LineParser()
    fed = [line for piece in pieces for line in parser.feed(piece)]
    return [*fed, *parser.close()]


def in_pieces(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\r\n{"b":2}\r\n', ['{"a":1}', '{"b":2}']),
        (b'{"a":\r1}\n', ['{"a":\r1}']),
        (b"\n\r\n \t \n1\n\n2\n", ["1", "2"]),
        (b' {"a": 1} \n', [' {"a": 1} ']),
        (b'"\xff"\n', ['"\ufffd"']),
        ('"é😀\u2028\x85"\n'.encode(), ['"é😀\u2028\x85"']),
        (b"", []),
    ],
    ids=["LF", "CRLF", "CR alone", "blank lines", "blanks", "no UTF-8", "UTF-8", "nothing"],
)
def test_a_line_ends_with_lf_or_crlf_and_a_blank_one_is_left_out(data: bytes, expected: list[str]) -> None:
    assert parse(data) == expected


@pytest.mark.parametrize("tail", [b"", b"\r"], ids=["in the line", "in its end"])
def test_a_last_line_without_an_end_is_given_out_once_at_the_end(tail: bytes) -> None:
    parser = LineParser()
    assert parser.feed(b'{"a":1}\n{"done":true}' + tail) == ['{"a":1}']
    assert parser.close() == ['{"done":true}']
    assert parser.close() == []


def test_a_line_is_given_out_with_the_piece_that_ends_it() -> None:
    parser = LineParser()
    assert [parser.feed(piece) for piece in (b"1", b"2\n3", b"\n", b"\n")] == [[], ["12"], ["3"], []]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=6), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.lists(st.integers(min_value=0), max_size=8),
)
@example(["é", "😀"], b"\r\n", [1, 3, 6, 8])
def test_what_was_written_as_lines_is_read_as_lines(lines: list[str], end: bytes, places: list[int]) -> None:
    data = b"".join(line.encode() + end for line in lines)
    assert parse(*in_pieces(data, places)) == [line for line in lines if line.encode().strip()]


@given(
    st.lists(st.sampled_from([b"\n", b"\r", b" ", b"x", b"\xc3", b"\xa9"]), max_size=30).map(b"".join),
    st.lists(st.integers(min_value=0), max_size=8),
)
def test_the_cutting_of_garbage_changes_nothing(data: bytes, places: list[int]) -> None:
    assert parse(*in_pieces(data, places)) == parse(data)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("places", [[], [10, 11], list(range(12))], ids=["whole", "cut at its end", "bytes"])
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(end: bytes, places: list[int]) -> None:
    parser = LineParser(max_line_bytes=10)
    fed = [line for piece in in_pieces(b"x" * 10 + end, places) for line in parser.feed(piece)]
    assert fed == ["x" * 10]
    with pytest.raises(OversizedEvent) as caught:
        [parser.feed(piece) for piece in in_pieces(b"x" * 11 + end, places)]
    assert caught.value.limit == 10


def test_a_line_without_end_is_refused_before_it_ends() -> None:
    parser = LineParser(max_line_bytes=250)
    assert [parser.feed(b"x" * 100), parser.feed(b"x" * 100)] == [[], []]
    with pytest.raises(OversizedEvent):
        parser.feed(b"x" * 100)


def test_many_lines_may_be_longer_than_the_limit_together() -> None:
    parser = LineParser(max_line_bytes=10)
    assert len(parser.feed(b"0123456789\n" * 100)) == 100
