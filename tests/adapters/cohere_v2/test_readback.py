"""What other clients send is read whole: modelled where there is a place, and kept in the extra elsewhere."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.encode import encode
from copyfit_adapters.cohere_v2.readback import readback
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest


def read(**fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "messages": []} | fields).encode())


def read_message(**message: Any) -> Any:
    (only,) = read(messages=[message]).messages
    return only


def own(**fields: Any) -> dict[str, dict[str, Any]]:
    return {PROTOCOL: fields}


@pytest.mark.parametrize("content", ["Be brief.", [{"type": "text", "text": "Be brief."}]])
def test_a_first_system_message_with_one_text_is_the_system_text(content: Any) -> None:
    found = read(messages=[{"role": "system", "content": content}, {"role": "user", "content": "hi"}])
    assert found == ModelInput("Be brief.", (UserMessage(content="hi"),))


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "system", "content": [{"type": "text", "text": "a", "x": 1}]},
        {"role": "system", "content": "a", "x": 1},
    ],
)
def test_any_other_system_message_stays_and_its_role_is_not_forged(message: dict[str, Any]) -> None:
    found = read(messages=[message])
    assert found.system == ""
    assert found.messages[0].extra[PROTOCOL]["role"] == "system"
    with pytest.raises(UnencodableInput):
        encode(found, "m")


def test_a_plan_stands_between_content_and_calls_and_says_that_it_is_one() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    thought = {"type": "thinking", "thinking": "hm", "budget": 3}
    found = read_message(role="assistant", tool_plan="I look.", tool_calls=[call], content=[thought])
    assert found == AssistantMessage(
        content=(
            ThinkingPart(text="hm", provider=PROTOCOL, opaque={"budget": 3}),
            TextPart(text="I look.", extra=own(type="tool_plan")),
            ToolCall(id="c", name="f"),
        )
    )


def test_what_an_assistant_says_beside_its_calls_is_a_part() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    found = read_message(role="assistant", tool_calls=[call], content="x", citations=[{"start": 0}])
    assert found.content == (TextPart(text="x"), ToolCall(id="c", name="f"))
    assert found.extra == own(citations=[{"start": 0}])


@pytest.mark.parametrize("absent", [{}, {"content": None}, {"content": []}])
def test_no_content_is_none(absent: dict[str, Any]) -> None:
    nothing = {"tool_calls": None, "tool_plan": None}
    assert read_message(role="assistant", **absent, **nothing) == AssistantMessage(content=())


def test_calls_that_are_no_calls_of_functions_stay_whole() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f"}}]
    assert read_message(role="assistant", content="x", tool_calls=calls).extra == own(tool_calls=calls)


def test_an_image_keeps_its_detail_and_a_data_url_is_data() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low", "x": 1}}
    expected = ImagePart(data="QUJD", media_type="image/png", detail="low", extra=own(image_url={"x": 1}))
    assert read_message(role="user", content=[image]).content == (expected,)


def test_a_document_of_a_tool_is_its_data_as_text() -> None:
    document = {"type": "document", "document": {"data": {"a": 1.0, "b": "é"}, "id": "d"}}
    found = read_message(role="tool", tool_call_id="c", content=[document])
    part = TextPart(text='{"a":1.0,"b":"é"}', extra=own(type="document", document={"id": "d"}))
    assert found == ToolMessage(call_id="c", content=(part,))
    assert json.loads(encode(ModelInput("", (found,)), "m").body)["messages"][0]["content"] == [document]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "audio", "audio": {"id": 1}},
        {"type": "document", "document": "salt"},
        {"type": "document", "text": "x"},
        {"type": "image_url", "image_url": "https://a/b.png"},
        {"type": "tool_plan", "text": "x"},
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": None},
    ],
)
def test_a_part_without_a_shape_is_carried_whole_and_goes_back(part: dict[str, Any]) -> None:
    found = read_message(role="user", content=[part])
    assert found.content == (TextPart(text="", extra={PROTOCOL: part}),)
    if part["type"] != "thinking":
        assert json.loads(encode(ModelInput("", (found,)), "m").body)["messages"][0]["content"] == [part]


def test_every_setting_has_its_place() -> None:
    found = read(
        max_tokens=9, temperature=1, p=0.5, seed=3, stop_sequences=["a"], tool_choice="NONE", k=4, stream=True
    )
    assert found.settings == ModelSettings(
        max_output_tokens=9, temperature=1.0, top_p=0.5, seed=3, stop=("a",), tool_choice="none", extra=own(k=4)
    )


@pytest.mark.parametrize("name", ["json_schema", "schema"])
def test_a_schema_is_read_under_either_name(name: str) -> None:
    found = read(response_format={"type": "json_object", name: {"type": "object"}})
    assert found.settings == ModelSettings(response_schema=ResponseSchema(json_schema={"type": "object"}))


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "text"}},
        {"response_format": {"type": "json_object", "json_schema": {}, "schema": {}}},
        {"tool_choice": "AUTO"},
        {"max_tokens": 0},
        {"documents": ["a"]},
        {"tools": [{"type": "search"}], "strict_tools": True},
        {"strict_tools": True},
    ],
)
def test_what_settings_cannot_hold_stays_whole_and_goes_back(fields: dict[str, Any]) -> None:
    found = read(**fields)
    assert found.settings == ModelSettings(extra={PROTOCOL: fields})
    assert json.loads(encode(found, "m").body) == {"model": "m", **fields, "messages": []}


def test_strict_tools_is_every_tools_own() -> None:
    functions = [{"name": "f", "parameters": {"type": "object"}}, {"name": "g", "description": None, "x": 1}]
    found = read(strict_tools=True, tools=[{"type": "function", "function": fields} for fields in functions])
    assert found.tools == (
        ToolSpec(name="f", parameters={"type": "object"}, strict=True),
        ToolSpec(name="g", strict=True, extra=own(function={"x": 1})),
    )
    assert found.settings == ModelSettings()


def test_a_null_is_an_absent_field() -> None:
    nulls = (
        "tools",
        "strict_tools",
        "response_format",
        "max_tokens",
        "p",
        "seed",
        "stop_sequences",
        "tool_choice",
    )
    assert read(**dict.fromkeys(nulls)) == ModelInput("", ())


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"[]", "$"),
        (b"\xff", "the body"),
        (b'{"messages":{}}', "$.messages"),
        (b'{"messages":[1]}', "$.messages[0]"),
        (b'{"messages":[{"content":"x"}]}', "$.messages[0].role"),
        (b'{"messages":[{"role":"user","content":1}]}', "$.messages[0].content"),
        (b'{"messages":[{"role":"assistant","content":[{}]}]}', "$.messages[0].content[0].type"),
        (b'{"messages":[{"role":"tool","content":"x"}]}', "$.messages[0].tool_call_id"),
    ],
)
def test_what_is_no_request_is_refused_by_its_path(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest) as caught:
        readback(body)
    assert caught.value.where == where
