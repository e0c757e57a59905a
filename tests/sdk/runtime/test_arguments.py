from typing import Any

import pytest

from copyfit.errors import ToolError
from copyfit.runtime.arguments import ArgumentSchema, read_arguments
from copyfit.shapes.tools import ToolSpec


def schema(parameters: dict[str, Any]) -> ArgumentSchema:
    return ArgumentSchema(ToolSpec(name="book", parameters=parameters))


SEATS = {
    "type": "object",
    "properties": {
        "seats": {"type": "array", "items": {"$ref": "#/$defs/seat"}},
        "note": {"type": "string", "maxLength": 5},
    },
    "required": ["seats"],
    "additionalProperties": False,
    "$defs": {
        "seat": {"type": "object", "properties": {"row": {"type": "integer", "minimum": 1}}, "required": ["row"]}
    },
}


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "null", '{"a": NaN}', "[" * 100_000])
def test_text_that_spells_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="The arguments are not"):
        read_arguments(text)


def test_no_text_at_all_is_an_empty_object() -> None:
    assert read_arguments("") == {}


def test_arguments_that_keep_the_schema_have_no_fault() -> None:
    assert schema(SEATS).fault({"seats": [{"row": 1}, {"row": 2}], "note": "aisle"}) is None


def test_a_fault_names_the_path_to_the_argument_and_what_is_wrong_there() -> None:
    fault = schema(SEATS).fault({"seats": [{"row": 1}, {"row": 0}]})
    assert fault is not None
    assert "$.seats[1].row: 0 is less than the minimum of 1" in fault


def test_several_faults_are_named_together_and_a_long_value_is_cut() -> None:
    fault = schema(SEATS).fault({"seats": [{}], "note": "x" * 10_000, "colour": "red"})
    assert fault is not None
    assert all(f"{path}: " in fault for path in ("$.seats[0]", "$.note", "$"))
    assert len(fault) < 1_000


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert schema(SEATS).fault({"seats": [{"row": 3.0}]}) is None


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"type": "objekt"}, r"\$\.type"),
        ({"properties": ["row"]}, r"\$\.properties"),
        ({"properties": {"row": {"$ref": "#/$defs/absent"}}}, "absent.*leads nowhere"),
        ({"properties": {"row": {"$ref": "https://example.invalid/row.json"}}}, "example.invalid.*leads nowhere"),
        ({"default": {1, 2}}, "not JSON serializable"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_once(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as raised:
        schema(parameters)
    assert raised.value.name == "book"


def test_a_reference_that_is_only_an_example_is_not_followed() -> None:
    assert schema({"properties": {"a": {"examples": [{"$ref": "#/nowhere"}]}}}).fault({"a": 1}) is None


def test_a_pattern_that_python_cannot_read_is_left_to_the_tool() -> None:
    assert schema({"properties": {"word": {"pattern": r"^\p{L}+$"}}}).fault({"word": "x"}) is None


def test_the_dialect_that_a_schema_names_is_the_one_it_is_read_in() -> None:
    draft4 = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"row": {"minimum": 1, "exclusiveMinimum": True}},
    }
    assert "$.row" in str(schema(draft4).fault({"row": 1}))
