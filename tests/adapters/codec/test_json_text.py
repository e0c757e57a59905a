"""JSON is compact and finite; arguments of a call are an object on the wire whatever their text is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.codec.json_text import (
    MALFORMED,
    ExactJson,
    as_arguments,
    as_object,
    as_object_text,
    dumps,
    loads,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    assert loads(dumps(value).decode()) == value


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999", "-1e999", "{", ""])
def test_what_no_float_can_hold_and_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
        ("[1]", {MALFORMED: "[1]"}),
        ('{"cut": "of', {MALFORMED: '{"cut": "of'}),
        ('{"a": NaN}', {MALFORMED: '{"a": NaN}'}),
        ("[" * 100_000, {MALFORMED: "[" * 100_000}),
    ],
    ids=["none", "object", "big", "list", "cut", "nan", "deep"],
)
def test_arguments_of_any_text_are_an_object(arguments: str, value: dict[str, Any]) -> None:
    assert as_object(arguments) == value
    assert as_object(as_arguments(value) or "") == value


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{ "n": 1.0, "n": 2 }', '{ "n": 1.0, "n": 2 }'),
        ("", "{}"),
        ("[1]", '{"malformed_arguments":"[1]"}'),
        ('{"cut": "of', '{"malformed_arguments":"{\\"cut\\": \\"of"}'),
    ],
    ids=repr,
)
def test_arguments_that_are_no_object_travel_as_a_field_of_one_and_others_as_they_are(
    arguments: str, text: str
) -> None:
    assert as_object_text(arguments) == text
    assert as_object_text(text) == text


def test_a_text_that_a_stream_spelled_is_kept_as_it_was_spelled() -> None:
    assert as_arguments(ExactJson('{"a":  1.0}')) == '{"a":  1.0}'
    assert as_arguments(ExactJson("")) == "{}"
    assert as_arguments({"a": "é"}) == '{"a":"é"}'
    assert as_arguments([1]) is None
    assert json.loads(as_arguments({"a": 1.0}) or "") == {"a": 1.0}
