import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.outputs.cutting import (
    Side,
    bound_lines,
    byte_length,
    count_lines,
    cut_head,
    cut_tail,
    format_size,
    split_lines,
)

texts = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\n\r中😀é")), max_size=80)


@given(text=texts, limit=st.integers(0, 200))
def test_a_cut_is_the_longest_end_that_fits_and_never_breaks_a_code_point(text: str, limit: int) -> None:
    head, tail = cut_head(text, limit), cut_tail(text, limit)
    assert text.startswith(head)
    assert text.endswith(tail)
    for piece, more in ((head, text[: len(head) + 1]), (tail, text[max(0, len(text) - len(tail) - 1) :])):
        assert byte_length(piece) <= limit
        assert piece == text or byte_length(more) > limit


@pytest.mark.parametrize("text", ["a\nb\n", "a\nb", "", "\n", "a\r\nb\nc\r\n", "a\u2028b\x0bc"])
def test_lines_keep_their_terminators_and_join_to_the_text_again(text: str) -> None:
    """Case: BND-02."""
    assert "".join(split_lines(text)) == text
    assert len(split_lines(text)) == count_lines(text)


@given(texts)
def test_splitting_is_lossless_for_any_text(text: str) -> None:
    assert "".join(split_lines(text)) == text
    assert len(split_lines(text)) == count_lines(text)


def test_a_text_within_the_bounds_is_kept_whole() -> None:
    """Case: BND-01."""
    piece = bound_lines(split_lines("one\ntwo\nthree"), max_lines=10, max_bytes=100, side="head")
    assert (piece.text, piece.lines, piece.omitted) == ("one\ntwo\nthree", 3, 0)


@pytest.mark.parametrize(
    ("max_lines", "side", "first", "last", "omitted"),
    [(10, "head", "line 0\n", "line 9\n", 90), (3, "tail", "line 97\n", "line 99\n", 97)],
)
def test_the_lines_of_the_asked_for_end_are_kept(
    max_lines: int, side: Side, first: str, last: str, omitted: int
) -> None:
    """Case: BND-03, BND-04."""
    lines = [f"line {number}\n" for number in range(100)]
    piece = bound_lines(lines, max_lines=max_lines, max_bytes=10_000, side=side)
    kept = split_lines(piece.text)
    assert (kept[0], kept[-1], piece.omitted) == (first, last, omitted)


def test_a_line_wider_than_the_bound_is_cut_between_code_points() -> None:
    """Case: BND-05."""
    piece = bound_lines(["科" * 1000], max_lines=10, max_bytes=100, side="head")
    assert (len(piece.text), byte_length(piece.text)) == (33, 99)


@pytest.mark.parametrize(("size", "words"), [(512, "512 B"), (51_200, "50.0 KB"), (3 * 1024 * 1024, "3.0 MB")])
def test_sizes_are_written_for_people(size: int, words: str) -> None:
    """Case: BND-06."""
    assert format_size(size) == words
