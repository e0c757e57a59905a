"""The pieces of an object add up to the object, however it was cut."""

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.answers.pieces import merge, settled


def added(*pieces: dict[str, Any]) -> Any:
    held: dict[str, Any] = {}
    for piece in pieces:
        merge(held, piece)
    return settled(held)


def test_texts_grow_and_names_are_repeated() -> None:
    pieces = [
        {"role": "assistant", "id": "r", "content": "Hel"},
        {"role": "assistant", "id": "r", "content": "lo"},
    ]
    assert added(*pieces) == {"role": "assistant", "id": "r", "content": "Hello"}


def test_a_name_that_changes_is_the_last_one() -> None:
    assert added({"type": "a"}, {"type": "b"}) == {"type": "b"}


@pytest.mark.parametrize("first", [{}, {"a": None}])
def test_a_null_neither_ends_nor_replaces_what_came(first: dict[str, Any]) -> None:
    assert added(first, {"a": "x"}, {"a": None}, {"a": "y"}) == {"a": "xy"}
    assert added(first, {"a": {"b": 1}}, {"a": None}) == {"a": {"b": 1}}
    assert added({"a": None}) == {"a": None}


def test_objects_grow_inside_and_numbers_are_replaced() -> None:
    pieces: list[dict[str, Any]] = [
        {"usage": {"n": 1, "of": "a"}},
        {"usage": {"n": 2, "of": "b"}},
        {"usage": {"m": True}},
    ]
    assert added(*pieces) == {"usage": {"n": 2, "of": "ab", "m": True}}


def test_an_object_takes_the_place_of_anything_else() -> None:
    assert added({"a": 3}, {"a": {"b": 1}}) == {"a": {"b": 1}}


def test_entries_with_an_index_grow_and_others_follow() -> None:
    first = {"list": [{"index": 0, "text": "a"}, {"index": 1, "text": "x"}]}
    second = {"list": [{"index": 1, "text": "y"}, {"index": 0, "text": "b"}, {"text": "own"}, "plain"]}
    third = {"list": [{"text": "own"}, {"index": 2, "text": "z"}]}
    assert added(first, second, third) == {
        "list": [
            {"index": 0, "text": "ab"},
            {"index": 1, "text": "xy"},
            {"text": "own"},
            "plain",
            {"text": "own"},
            {"index": 2, "text": "z"},
        ]
    }


def test_entries_of_one_index_that_name_different_things_stay_apart() -> None:
    pieces: list[dict[str, Any]] = [
        {"list": [{"index": 0, "type": "text", "text": "a"}]},
        {"list": [{"index": 0, "type": "seal", "id": "c1", "data": "x"}]},
        {
            "list": [
                {"index": 0, "type": "seal", "id": "c2", "data": "y"},
                {"index": 0, "type": "text", "text": "b"},
            ]
        },
        {"list": [{"index": 0, "id": "c2", "data": "z"}, {"index": 0, "type": "text", "seal": "s"}]},
    ]
    assert added(*pieces) == {
        "list": [
            {"index": 0, "type": "text", "text": "ab", "seal": "s"},
            {"index": 0, "type": "seal", "id": "c1", "data": "x"},
            {"index": 0, "type": "seal", "id": "c2", "data": "yz"},
        ]
    }


def test_a_text_among_other_things_becomes_a_text_part() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    assert added({"content": "a"}, {"content": "b"}, {"content": [image]}, {"content": "c"}) == {
        "content": [{"type": "text", "text": "ab"}, image, {"type": "text", "text": "c"}]
    }
    assert added({"content": [image]}, {"content": ""}) == {"content": [image]}


def test_a_character_cut_in_two_is_whole() -> None:
    assert added({"content": "\ud83d"}, {"content": "\ude00"}) == {"content": "\U0001f600"}


def test_the_pieces_themselves_are_left_as_they_were() -> None:
    piece = {"a": {"b": "x"}, "l": [{"index": 0, "t": "x"}]}
    held: dict[str, Any] = {}
    merge(held, piece)
    merge(held, {"a": {"b": "y"}})
    assert piece == {"a": {"b": "x"}, "l": [{"index": 0, "t": "x"}]}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(st.sampled_from(["content", "thinking"]), TEXTS), st.data())
def test_texts_cut_anywhere_add_up_to_themselves(whole: dict[str, str], data: st.DataObject) -> None:
    cuts = {name: data.draw(st.integers(0, len(text))) for name, text in whole.items()}
    begun = [{name: text[: cuts[name]]} for name, text in whole.items()]
    ended = [{name: text[cuts[name] :]} for name, text in whole.items()]
    assert added(*begun, *ended) == whole


@given(st.recursive(st.integers() | TEXTS, lambda inner: st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6))
def test_one_piece_is_the_object_itself(value: Any) -> None:
    assert added({"a": value}) == {"a": value}


def test_a_long_answer_costs_no_more_for_each_piece() -> None:
    def seconds(count: int) -> float:
        start = process_time()
        assert len(added(*({"content": "x" * 80} for _ in range(count)))["content"]) == 80 * count
        return process_time() - start

    few = min(seconds(2_000) for _ in range(5))
    many = min(seconds(20_000) for _ in range(3))
    assert many < 30 * few
