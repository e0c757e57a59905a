from hypothesis import given
from hypothesis import strategies as st

from copyfit.outputs.cutting import byte_length
from copyfit.outputs.read_request import PAGE_BYTES, CharRead, LineRead, QueryRead
from copyfit.outputs.reading import CharPage, LinePage, QueryPage, read_page

FIVE_HUNDRED = "".join(f"line-{number}\n" for number in range(1, 501))


def lines(text: str, **asked: int) -> LinePage:
    page = read_page(text, LineRead(**asked))
    assert isinstance(page, LinePage)
    return page


def chars(text: str, **asked: int) -> CharPage:
    page = read_page(text, CharRead(**asked))
    assert isinstance(page, CharPage)
    return page


def search(text: str, query: str, *, case_sensitive: bool = False, **asked: int) -> QueryPage:
    page = read_page(text, QueryRead(query=query, case_sensitive=case_sensitive, **asked))
    assert isinstance(page, QueryPage)
    return page


def test_pages_of_lines_follow_one_another() -> None:
    """Case: TOS-02."""
    first = lines(FIVE_HUNDRED, limit=100)
    assert (first.start_line, first.end_line, first.total_lines, first.next_offset) == (1, 100, 500, 101)
    assert lines(FIVE_HUNDRED, offset=101, limit=100).text.startswith("line-101\n")
    last = lines(FIVE_HUNDRED, offset=401, limit=100)
    assert (last.start_line, last.end_line, last.has_more, last.next_offset) == (401, 500, False, None)


def test_a_page_of_lines_stops_at_the_byte_bound() -> None:
    """Case: TOS-03."""
    page = lines(("x" * 1_000 + "\n") * 500, limit=10_000)
    assert byte_length(page.text) <= PAGE_BYTES
    assert page.has_more
    assert page.next_offset == page.end_line + 1 == 41


def test_a_line_wider_than_a_page_is_cut_and_marked() -> None:
    """Case: TOS-10."""
    alone = lines("x" * 200_000)
    assert (alone.partial_line, alone.has_more, byte_length(alone.text)) == (True, False, PAGE_BYTES)
    with_another = lines("x" * 200_000 + "\nmore")
    assert (with_another.partial_line, with_another.has_more, with_another.next_offset) == (True, True, 2)


def test_lines_beyond_the_end_are_an_empty_page() -> None:
    """Case: TOS-21."""
    page = lines("one\ntwo\n", offset=7)
    assert (page.text, page.start_line, page.end_line, page.has_more) == ("", 7, 6, False)


def test_characters_are_code_points_and_stop_before_one_that_would_pass_the_bound() -> None:
    """Case: TOS-11."""
    text = "科" * 30_000 + "TARGET" + "学" * 30_000
    first = chars(text, limit=20_000)
    assert (first.end_char, first.has_more) == (13_653, True)
    second = chars(text, offset=29_995, limit=20)
    assert second.text == "科" * 5 + "TARGET" + "学" * 9
    assert second.next_offset == 30_015


def test_a_search_finds_a_word_in_one_long_line_whatever_its_case() -> None:
    """Case: TOS-12."""
    text = "x" * 100_000 + "The BioNeMo service answered." + "y" * 100_000
    page = search(text, "bionemo", context_chars=50)
    assert page.total_matches == 1
    (match,) = page.matches
    assert text[match.start : match.end] == "BioNeMo"
    assert "The BioNeMo service answered." in match.excerpt
    assert byte_length(match.excerpt) <= PAGE_BYTES
    assert search(text, "bionemo", case_sensitive=True).total_matches == 0


def test_matches_do_not_overlap() -> None:
    """Case: TOS-22."""
    assert search("aaaa", "aa").total_matches == 2


def test_a_query_is_literal() -> None:
    assert search("a.c abc", "a.c").total_matches == 1


def test_matches_beyond_the_asked_for_number_are_counted_and_left_out() -> None:
    page = search("hit " * 30, "hit", max_matches=3, context_chars=0)
    assert (len(page.matches), page.total_matches, page.truncated) == (3, 30, True)
    assert page.text == "hit\nhit\nhit"


def test_matches_stop_before_the_byte_bound_but_the_first_is_always_there() -> None:
    text = "hit" + "科" * 20_000
    page = search(text * 10, "hit", context_chars=4_000, max_matches=20)
    assert 1 <= len(page.matches) < 10
    assert sum(byte_length(match.excerpt) for match in page.matches) <= PAGE_BYTES
    assert page.truncated


@given(text=st.text(max_size=200), start=st.integers(0, 250), limit=st.integers(1, 300))
def test_pages_of_characters_join_to_the_text(text: str, start: int, limit: int) -> None:
    joined, offset = "", start
    while True:
        page = chars(text, offset=offset, limit=limit)
        joined += page.text
        if page.next_offset is None:
            break
        assert page.next_offset > offset
        offset = page.next_offset
    assert joined == text[start:]


@given(text=st.text(alphabet="ab\n\r", max_size=200), limit=st.integers(1, 30))
def test_pages_of_lines_join_to_the_text(text: str, limit: int) -> None:
    joined, offset = "", 1
    while True:
        page = lines(text, offset=offset, limit=limit)
        joined += page.text
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert joined == text
