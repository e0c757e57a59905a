from typing import Any

import pytest
from jsonschema import Draft202012Validator

from copyfit.errors import ToolOutputError
from copyfit.outputs.read_request import CharRead, LineRead, QueryRead, parse_read, read_tool_spec

REF = "tool-output-0123456789abcdef"


def parse(**arguments: Any) -> object:
    ref, request = parse_read({"ref": REF, **arguments})
    assert ref == REF
    return request


def test_a_ref_alone_reads_lines_from_the_first() -> None:
    """Case: TOS-23."""
    assert parse() == LineRead(offset=1, limit=2_000)


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ({"query": " DOI "}, QueryRead(query="DOI")),
        ({"query": "x", "caseSensitive": True, "contextChars": 0, "maxMatches": 20}, None),
        ({"offset": 5, "limit": 10_000}, LineRead(offset=5, limit=10_000)),
        ({"charOffset": 0}, CharRead(offset=0, limit=40_960)),
        ({"charLimit": 100_000.0}, CharRead(offset=0, limit=100_000)),
        ({"offset": None, "query": "x"}, QueryRead(query="x")),
    ],
)
def test_the_arguments_of_each_mode_are_understood(arguments: dict[str, Any], request_: object) -> None:
    expected = request_ or QueryRead(query="x", case_sensitive=True, context_chars=0, max_matches=20)
    assert parse(**arguments) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"charOffset": 0, "offset": 1},
        {"query": "x", "limit": 5},
        {"query": "x", "charLimit": 5},
        {"contextChars": 5, "offset": 1},
    ],
)
def test_mixed_modes_are_refused(arguments: dict[str, Any]) -> None:
    """Case: TOS-13."""
    with pytest.raises(ToolOutputError, match="exactly one mode"):
        parse(**arguments)


@pytest.mark.parametrize("arguments", [{"contextChars": 5}, {"maxMatches": 1}, {"caseSensitive": False}])
def test_search_options_require_a_query(arguments: dict[str, Any]) -> None:
    """Case: TOS-13."""
    with pytest.raises(ToolOutputError, match="search options require query"):
        parse(**arguments)


@pytest.mark.parametrize("query", ["", "   \n", "x" * 4_097, 7])
def test_a_blank_or_overlong_query_is_refused(query: object) -> None:
    """Case: TOS-20."""
    with pytest.raises(ToolOutputError, match="1 to 4096 characters"):
        parse(query=query)
    assert parse(query="x" * 4_096)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("offset", 0),
        ("limit", 0),
        ("limit", 10_001),
        ("charOffset", -1),
        ("charLimit", 100_001),
        ("charLimit", 1.5),
        ("charLimit", float("nan")),
        ("offset", True),
        ("offset", "3"),
    ],
)
def test_a_number_out_of_its_bounds_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ToolOutputError, match=f"^{name} must be a whole number"):
        parse(**{name: value})


def test_case_sensitivity_is_a_truth_value() -> None:
    with pytest.raises(ToolOutputError, match="true or false"):
        parse(query="x", caseSensitive="yes")


def test_an_unknown_argument_and_a_missing_ref_are_refused() -> None:
    with pytest.raises(ToolOutputError, match="no argument page"):
        parse(page=2)
    for arguments in ({}, {"ref": ""}, {"ref": 5}):
        with pytest.raises(ToolOutputError, match="needs a ref"):
            parse_read(arguments)


def test_the_schema_that_the_model_sees_allows_what_is_understood_and_no_more() -> None:
    schema = dict(read_tool_spec().parameters)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid({"ref": REF, "query": "x", "maxMatches": 20})
    assert not validator.is_valid({"ref": REF, "limit": 10_001})
    assert not validator.is_valid({"query": "x"})
    assert not validator.is_valid({"ref": REF, "page": 1})
