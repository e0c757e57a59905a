import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.state.values import (
    VALUE_CAP_CHARS,
    compact_json,
    kept_arguments,
    kept_result,
    read_json,
    read_object,
    reads_as_failure,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_a_long_text_is_cut_to_the_cap_and_says_so() -> None:
    """Case: DUR-24."""
    kept = json.loads(kept_result("a" * 5_000))
    head, notice = kept.split("\n")
    assert head == "a" * 3_000
    assert "5000" in notice


def test_long_arguments_become_one_truncated_value() -> None:
    """Case: DUR-24."""
    arguments = json.dumps({"text": "b" * 4_000})
    kept = json.loads(kept_arguments(arguments))
    assert list(kept) == ["truncatedValue"]
    assert kept["truncatedValue"].startswith('{"text":"bbb')
    assert len(kept["truncatedValue"].split("\n")[0]) == VALUE_CAP_CHARS


def test_a_long_json_result_is_cut_as_text() -> None:
    kept = json.loads(kept_result(json.dumps(["é" * 3_000])))
    assert kept.split("\n")[0] == '["' + "é" * 2_998


def test_a_value_exactly_at_the_cap_is_whole() -> None:
    assert json.loads(kept_result("a" * 3_000)) == "a" * 3_000


def test_arguments_that_are_no_object_are_empty() -> None:
    """Case: DUR-27."""
    assert kept_arguments("not json") == "{}"
    assert kept_arguments("[1]") == "{}"


def test_one_and_one_point_zero_stay_apart() -> None:
    assert kept_result('{"a": 1.0, "b": 1}') == '{"a":1.0,"b":1}'


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}', "[" * 100_000, "1" * 5_000, ""])
def test_what_json_does_not_allow_stays_text(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_json(text)
    assert isinstance(json.loads(kept_result(text)), str)
    assert read_object(text) == {}


@given(json_values)
def test_a_short_value_is_kept_as_it_is(value: object) -> None:
    text = compact_json(value)
    if len(text) <= VALUE_CAP_CHARS:
        assert json.loads(kept_result(text)) == value


@given(st.text(max_size=4_000))
def test_what_is_kept_is_one_line_of_json_of_bounded_length(text: str) -> None:
    kept = kept_result(text)
    assert "\n" not in kept
    value = json.loads(kept)
    assert len(value if isinstance(value, str) else compact_json(value)) <= VALUE_CAP_CHARS + 60


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ('{"ok":false}', True),
        ('{"error":{"code":"X"}}', True),
        ("plain text", False),
        ('{"ok":true}', False),
        ('{"ok":0}', False),
        ('{"error":"text"}', False),
        ('{"error":{"code":7}}', False),
        ("[false]", False),
    ],
)
def test_a_historical_result_says_whether_it_failed(text: str, failed: bool) -> None:
    """Case: DUR-25."""
    assert reads_as_failure(text) is failed
