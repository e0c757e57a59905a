"""Functions, calls and schemas in the form of chat completions are read whole or not at all."""

from typing import Any

import pytest

from copyfit.shapes.messages import ToolCall
from copyfit.shapes.model_input import ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.functions import (
    named_function,
    pop_all,
    read_all,
    read_function,
    read_function_call,
    response_format,
    schema_format,
)
from copyfit_adapters.codec.reading import Reader

READER = Reader("p")
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.0}'}}


def test_a_function_keeps_what_has_no_shape_in_its_place() -> None:
    tool = {"type": "function", "function": {"name": "f", "strict": True, "x": 1}, "cache": {}}
    assert read_function(tool, READER) == ToolSpec(
        name="f", strict=True, extra={"p": {"cache": {}, "function": {"x": 1}}}
    )


@pytest.mark.parametrize(
    "tool",
    [
        None,
        {},
        {"type": "web_search"},
        {"function": {}},
        {"function": {"name": 7}},
        {"function": {"name": "f", "strict": 1}},
    ],
    ids=str,
)
def test_what_is_no_function_is_none(tool: Any) -> None:
    assert read_function(tool, READER) is None


def test_a_call_keeps_the_text_of_its_arguments() -> None:
    assert read_function_call(CALL, READER) == ToolCall(id="c", name="f", arguments='{"a": 1.0}')
    odd = CALL | {"index": 0, "function": CALL["function"] | {"x": 1}}  # type: ignore[operator]
    assert read_function_call(odd, READER) == ToolCall(
        id="c", name="f", arguments='{"a": 1.0}', extra={"p": {"index": 0, "function": {"x": 1}}}
    )


def test_arguments_as_an_object_are_read_only_where_the_protocol_has_them() -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": {"a": 1.0}}}
    assert read_function_call(call, READER) is None
    assert read_function_call(call, READER, objects=True) == ToolCall(id="c", name="f", arguments='{"a":1.0}')


@pytest.mark.parametrize("call", [None, {}, {"id": "c"}, CALL | {"type": "custom"}, CALL | {"id": 7}], ids=str)
def test_what_is_no_whole_call_is_none(call: Any) -> None:
    assert read_function_call(call, READER) is None


def test_a_list_is_taken_whole_or_left_whole() -> None:
    def read(value: Any) -> ToolCall | None:
        return read_function_call(value, READER)

    assert read_all(None, read) == ()
    assert read_all(7, read) is None
    whole: dict[str, Any] = {"calls": [CALL, CALL]}
    assert len(pop_all(whole, "calls", read)) == 2
    assert whole == {}
    mixed: dict[str, Any] = {"calls": [CALL, {"type": "custom"}]}
    assert pop_all(mixed, "calls", read) == ()
    assert mixed == {"calls": [CALL, {"type": "custom"}]}


def test_a_choice_and_a_schema_with_more_in_them_are_left() -> None:
    named = {"type": "function", "function": {"name": "f"}}
    assert named_function(named) == "tool:f"
    assert named_function(named | {"x": 1}) is None
    assert named_function({"type": "function", "function": {"name": "f", "x": 1}}) is None
    described: dict[str, Any] = {"name": "n", "schema": {"type": "object"}, "strict": True}
    whole = {"type": "json_schema", "json_schema": described}
    assert schema_format(whole) == ResponseSchema(name="n", json_schema={"type": "object"}, strict=True)
    assert response_format(ResponseSchema(name="n", json_schema={"type": "object"}, strict=True)) == whole
    assert schema_format(whole | {"x": 1}) is None
    assert schema_format(whole | {"json_schema": described | {"x": 1}}) is None
    assert schema_format(whole | {"json_schema": described | {"strict": "yes"}}) is None
    assert schema_format({"type": "json_object"}) is None
