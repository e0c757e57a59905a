"""The smallest difference between two JSON values."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_harness.wire.difference import Difference, DifferenceKind, describe, json_differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: st.lists(children, max_size=5) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=15,
)


def strictly_equal(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(JSON, JSON)
def test_there_is_no_difference_exactly_when_the_values_are_the_same(one: Any, other: Any) -> None:
    assert json_differences(one, copy.deepcopy(one)) == ()
    assert (json_differences(one, other) == ()) is strictly_equal(one, other)


@given(JSON, JSON)
def test_every_difference_can_be_described_and_weighs_something(one: Any, other: Any) -> None:
    for found in json_differences(one, other):
        assert found.weight > 0
        assert 1 <= len(describe(found).splitlines()) <= 3


@given(
    st.lists(JSON, max_size=6, unique_by=lambda item: json.dumps(item, sort_keys=True)), JSON, st.integers(0, 6)
)
def test_one_inserted_item_is_one_difference(items: list[Any], inserted: Any, at: int) -> None:
    longer = [*items[:at], inserted, *items[at:]]
    (found,) = json_differences(items, longer)
    assert found.kind is DifferenceKind.ADDED
    (back,) = json_differences(longer, items)
    assert back.kind is DifferenceKind.REMOVED


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0, False), (None, "null"), ("1", 1), ([], {})])
def test_values_of_different_types_are_different(one: Any, other: Any) -> None:
    assert json_differences({"a": one}, {"a": other}) == (Difference(DifferenceKind.CHANGED, "a", one, other),)


def test_paths_name_members_and_indexes() -> None:
    expected = {"messages": [{"content": [{"text": "a"}]}], "user.id": 1, "gone": 2}
    actual = {"messages": [{"content": [{"text": "b"}]}], "user.id": 2, "new": 3}
    assert [(found.kind.value, found.path) for found in json_differences(expected, actual)] == [
        ("changed", "messages[0].content[0].text"),
        ("changed", '["user.id"]'),
        ("removed", "gone"),
        ("added", "new"),
    ]
    assert json_differences(1, 2)[0].path == ""


def test_an_item_inserted_beside_a_changed_one_leaves_the_others_alone() -> None:
    messages = [
        {"role": "user", "content": f"message number {number}, said at some length"} for number in range(6)
    ]
    changed = copy.deepcopy(messages)
    changed[2]["content"] += " more"
    changed.insert(2, {"role": "system", "content": "something else entirely"})
    assert [(found.kind.value, found.path) for found in json_differences(messages, changed)] == [
        ("added", "[2]"),
        ("changed", "[3].content"),
    ]


def test_indexes_count_in_the_actual_value_and_for_something_removed_in_the_expected_one() -> None:
    assert [(found.kind.value, found.path) for found in json_differences(["a", "b", "c"], ["b", "c", "d"])] == [
        ("removed", "[0]"),
        ("added", "[2]"),
    ]


def test_a_long_text_is_shown_around_its_first_differing_code_point() -> None:
    before = "x" * 5000 + "🙂 the quick brown fox " + "y" * 5000
    (found,) = json_differences({"t": before}, {"t": before.replace("brown", "red")})
    shown = describe(found, expected_name="recorded", actual_name="sent", context=12)
    assert shown == (
        "~ t: differs from code point 5012 on (10022 against 10020 code points)\n"
        "    recorded: …🙂 the quick brown fox yy…\n"
        "    sent:     …🙂 the quick red fox yyyy…"
    )


def test_texts_that_look_alike_are_told_apart_by_escapes() -> None:
    (found,) = json_differences("café au lait", "cafe\u0301 au lait")
    assert describe(found).splitlines()[1:] == [
        "    expected: caf\\xe9 au lait",
        "    actual:   cafe\\u0301 au lait",
    ]


def test_what_prints_nothing_is_shown_as_an_escape() -> None:
    (found,) = json_differences("a b", "a\u00a0b\u200b\n")
    assert describe(found).splitlines()[2] == "    actual:   a\\xa0b\\u200b\\n"


def test_a_change_of_type_is_said() -> None:
    (found,) = json_differences({"max_tokens": 1}, {"max_tokens": 1.0})
    assert describe(found).splitlines()[0] == (
        "~ max_tokens: is a number with a fraction where an integer was expected"
    )


def test_something_long_that_was_added_is_abbreviated() -> None:
    (found,) = json_differences({}, {"tool": {"text": "z" * 1000}})
    shown = describe(found)
    assert len(shown) < 200
    assert shown.endswith("more code points)")


def test_bytes_are_compared_byte_by_byte() -> None:
    (found,) = json_differences(b"\x00\x01\x02", b"\x00\x01\x03")
    assert describe(found).splitlines() == [
        "~ (the whole value): differs from byte 2 on (3 against 3 bytes)",
        "    expected: 00 01 02",
        "    actual:   00 01 03",
    ]


def test_the_weight_is_the_text_that_differs() -> None:
    (found,) = json_differences("a" * 100 + "x" + "b" * 100, "a" * 100 + "yz" + "b" * 100)
    assert found.weight == 3


def test_long_lists_without_anything_in_common_are_compared_in_a_reasonable_time() -> None:
    found = json_differences(list(range(3000)), [number + 0.5 for number in range(3000)])
    assert len(found) == 3000
