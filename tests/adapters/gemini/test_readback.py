"""`readback` reads what any client sends, and says where a body is no request."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ResponseSchema
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.encode import encode
from copyfit_adapters.gemini.readback import readback


def read(*contents: Any, **fields: Any) -> ModelInput:
    return readback(json.dumps({"contents": list(contents)} | fields).encode())


def again(model_input: ModelInput) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(encode(model_input, "m").body)
    return sent


def user(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)} | fields


def result(response: Any, **fields: Any) -> dict[str, Any]:
    return user({"functionResponse": {"id": "c", "name": "f", "response": response} | fields})


@pytest.mark.parametrize(
    "system",
    [
        {"parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "Be brief."}]},
        {"role": "system", "parts": [{"text": "Be brief."}]},
    ],
)
@pytest.mark.parametrize("name", ["systemInstruction", "system_instruction"])
def test_a_system_instruction_of_one_text_is_the_system_text(name: str, system: Any) -> None:
    found = read(**{name: system})
    assert (found.system, found.settings.extra) == ("Be brief.", {})


@pytest.mark.parametrize(
    "system", [{"parts": [{"text": "a"}, {"text": "b"}]}, {"parts": [{"text": "a"}], "x_new": 1}, {"parts": []}]
)
def test_a_system_instruction_of_another_form_is_kept_whole_and_goes_out_again(system: dict[str, Any]) -> None:
    found = read(systemInstruction=system)
    assert found.system == ""
    assert again(found)["systemInstruction"] == system


@pytest.mark.parametrize("role", [{}, {"role": None}, {"role": "user"}, {"role": "function"}])
def test_a_content_without_a_role_of_its_own_is_the_users(role: dict[str, Any]) -> None:
    assert read({"parts": [{"text": "x"}]} | role).messages == (UserMessage(content=(TextPart(text="x"),)),)


def test_snake_case_reads_as_camel_case() -> None:
    camel = read(
        {
            "role": "model",
            "parts": [
                {"text": "t", "thought": True, "thoughtSignature": "QQ=="},
                {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "QQ=="},
            ],
        },
        user(
            {"functionResponse": {"name": "f", "response": {"output": "x"}}},
            {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
            {"fileData": {"mimeType": "image/png", "fileUri": "u:"}},
        ),
        generationConfig={"maxOutputTokens": 3, "topP": 0.5, "stopSequences": ["x"]},
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}],
    )
    snake = read(
        {
            "role": "model",
            "parts": [
                {"text": "t", "thought": True, "thought_signature": "QQ=="},
                {"function_call": {"name": "f", "args": {}}, "thought_signature": "QQ=="},
            ],
        },
        user(
            {"function_response": {"name": "f", "response": {"output": "x"}}},
            {"inline_data": {"mime_type": "image/png", "data": "QUJD"}},
            {"file_data": {"mime_type": "image/png", "file_uri": "u:"}},
        ),
        generation_config={"max_output_tokens": 3, "top_p": 0.5, "stop_sequences": ["x"]},
        tool_config={"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f"]}},
        tools=[{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
    )
    assert snake == camel
    assert camel.settings.tool_choice == "tool:f"
    assert camel.settings.extra == {}
    assert [tool.name for tool in camel.tools] == ["f"]
    assert camel.messages == (
        AssistantMessage(
            content=(
                ThinkingPart(text="t", signature="QQ==", provider=PROTOCOL),
                ToolCall(id="", name="f", extra={PROTOCOL: {"thoughtSignature": "QQ=="}}),
            )
        ),
        ToolMessage(call_id="", name="f", content="x"),
        UserMessage(
            content=(ImagePart(data="QUJD", media_type="image/png"), ImagePart(url="u:", media_type="image/png"))
        ),
    )


def test_settings_of_the_official_client_in_snake_case_are_kept_in_camel_case() -> None:
    found = read(
        generation_config={"top_k": 3, "thinking_config": {"include_thoughts": True, "x_new": 1}},
        safety_settings=[],
    )
    assert found.settings.extra == {
        PROTOCOL: {
            "generationConfig": {"topK": 3, "thinkingConfig": {"includeThoughts": True, "x_new": 1}},
            "safetySettings": [],
        }
    }
    assert readback(encode(found, "m").body) == found


def test_a_field_under_both_of_its_names_loses_neither() -> None:
    found = read(generationConfig={"topP": 0.5, "top_p": 0.1})
    assert found.settings.top_p == 0.5
    assert found.settings.extra == {PROTOCOL: {"generationConfig": {"top_p": 0.1}}}


def test_calls_without_an_id_go_out_again_without_one() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "QQ=="}
    result = {"functionResponse": {"name": "f", "response": {"output": "x"}}}
    contents = [{"role": "model", "parts": [call]}, user(result)]
    assert again(read(*contents))["contents"] == contents


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "sunny"}, "sunny", False),
        ({"error": "no"}, "no", True),
        ({"result": "sunny"}, "sunny", False),
        ({"output": {"sky": "blue"}}, '{"output":{"sky":"blue"}}', False),
        ({"output": "x", "n": 1.0}, '{"output":"x","n":1.0}', False),
        ({"error": {"code": 5}}, '{"error":{"code":5}}', True),
        ({"output": "x", "error": None}, '{"output":"x","error":null}', False),
        ({}, "{}", False),
    ],
    ids=str,
)
def test_the_text_of_a_response_is_read_in_any_form_and_goes_out_in_that_form(
    response: dict[str, Any], text: str, is_error: bool
) -> None:
    content = result(response)
    found = read(content)
    (message,) = found.messages
    assert isinstance(message, ToolMessage)
    assert (message.text, message.is_error, message.name) == (text, is_error, "f")
    assert again(found)["contents"] == [content]


def test_media_of_a_response_stand_behind_its_text() -> None:
    parts = [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}, {"x_new": 1}]
    content = result({"output": "see"}, parts=parts, scheduling="SILENT")
    found = read(content)
    assert found.messages == (
        ToolMessage(
            call_id="c",
            name="f",
            content=(
                TextPart(text="see"),
                ImagePart(data="QUJD", media_type="image/png"),
                TextPart(text="", extra={PROTOCOL: {"part": {"x_new": 1}}}),
            ),
            extra={PROTOCOL: {"functionResponse": {"scheduling": "SILENT"}}},
        ),
    )
    assert again(found)["contents"] == [content]


def test_results_between_texts_are_messages_of_their_own_in_the_same_order() -> None:
    answered = result({"output": "r"})["parts"][0]
    found = read(user({"text": "a"}, answered, {"text": "b"}, x_note=1))
    assert found.messages == (
        UserMessage(content=(TextPart(text="a"),), extra={PROTOCOL: {"x_note": 1}}),
        ToolMessage(call_id="c", name="f", content="r"),
        UserMessage(content=(TextPart(text="b"),)),
    )
    first = read(user(answered, {"text": "b"}, x_note=1))
    assert first.messages[0].extra == {PROTOCOL: {"message": {"x_note": 1}}}
    assert again(first)["contents"] == [user(answered, x_note=1), user({"text": "b"})]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"fileData": {"fileUri": "files/a"}}, FilePart(file_id="files/a")),
        ({"fileData": {"fileUri": "gs://a/b", "mimeType": "a/b"}}, FilePart(url="gs://a/b", media_type="a/b")),
        ({"inlineData": {"mimeType": "a/b", "data": "QUJD"}}, FilePart(media_type="a/b", data="QUJD")),
        (
            {"inlineData": {"mimeType": "a/b", "data": "QUJD", "displayName": "n"}, "videoMetadata": {"fps": 2}},
            FilePart(
                media_type="a/b",
                data="QUJD",
                extra={PROTOCOL: {"videoMetadata": {"fps": 2}, "inlineData": {"displayName": "n"}}},
            ),
        ),
        ({"text": "a", "functionCall": None}, TextPart(text="a")),
    ],
    ids=str,
)
def test_a_part_of_a_user_is_read_and_goes_out_again(part: dict[str, Any], expected: Any) -> None:
    found = read(user(part))
    assert found.messages == (UserMessage(content=(expected,)),)
    (sent,) = again(found)["contents"][0]["parts"]
    assert sent == {name: value for name, value in part.items() if value is not None}


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"executableCode": {"code": "1"}},
        {"text": "a", "inlineData": {"mimeType": "a/b", "data": ""}},
        {"text": 5},
        {"text": "a", "part": 1},
        {"inlineData": {"data": "QUJD"}},
        {"inlineData": 5},
        {"fileData": {"fileUri": "data:image/png;base64,QUJD"}},
        {"functionResponse": {"name": "f"}},
        {"functionResponse": {"response": {}}},
        {"functionResponse": {"name": "f", "response": {"output": "x"}}, "response_field": "r"},
        {"functionResponse": {"name": "f", "response": {"output": "x"}}, "message": {"role": "model"}},
    ],
    ids=str,
)
def test_a_part_without_a_shape_is_carried_whole(part: dict[str, Any]) -> None:
    found = read(user(part))
    assert found.messages == (UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"part": part}}),)),)
    assert again(found)["contents"] == [user(part)]


@pytest.mark.parametrize(
    "contents",
    [
        [{"role": "system", "parts": [{"text": "x"}]}],
        [user({"functionCall": {"name": "f", "args": {}}})],
        [{"role": "model", "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]}],
        [user({"text": "t", "thought": True})],
    ],
    ids=str,
)
def test_what_stands_under_the_wrong_role_is_readable_and_never_sent(contents: list[Any]) -> None:
    found = read(*contents)
    assert found.messages
    with pytest.raises(UnencodableInput):
        encode(found, "m")


def test_schemas_in_openapi_form_read_as_json_schemas() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "nullable": True, "enum": ["a"]},
            "of": {"type": "ARRAY", "items": {"anyOf": [{"type": "INTEGER"}, {"type": "boolean"}]}},
        },
        "required": ["type"],
    }
    expected = {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "enum": ["a"]},
            "of": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}},
        },
        "required": ["type"],
    }
    found = read(
        tools=[{"functionDeclarations": [{"name": "f", "parameters": schema}]}],
        generationConfig={"responseMimeType": "application/json", "responseSchema": schema},
    )
    assert found.tools[0].parameters == expected
    assert found.settings.response_schema == ResponseSchema(json_schema=expected)
    assert found.settings.extra == {}


def test_a_schema_in_json_form_is_read_unchanged() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "STRING", "nullable": True}}}
    (tool,) = read(tools=[{"functionDeclarations": [{"name": "f", "parametersJsonSchema": schema}]}]).tools
    assert tool.parameters == schema


def test_functions_are_read_from_every_tool_and_the_rest_of_them_is_kept() -> None:
    tools = [
        {"functionDeclarations": [{"name": "f"}], "codeExecution": {}},
        {"googleSearch": {}},
        {"functionDeclarations": [{"name": "g", "description": "G."}]},
        {"functionDeclarations": [{"name": "h"}, {"description": "nameless"}]},
    ]
    found = read(tools=tools)
    assert [tool.name for tool in found.tools] == ["f", "g"]
    assert again(found)["tools"] == [
        {"functionDeclarations": [{"name": "f"}, {"name": "g", "description": "G."}]},
        {"codeExecution": {}},
        {"googleSearch": {}},
        tools[3],
    ]


@pytest.mark.parametrize(
    ("config", "choice"),
    [
        ({"functionCallingConfig": {"mode": "AUTO"}}, "auto"),
        ({"functionCallingConfig": {"mode": "NONE"}}, "none"),
        ({"functionCallingConfig": {"mode": "ANY"}}, "required"),
        ({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}, "tool:f"),
        ({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}}, None),
        ({"functionCallingConfig": {"mode": "VALIDATED"}}, None),
        ({"functionCallingConfig": {"mode": "AUTO"}, "retrievalConfig": {"languageCode": "en"}}, "auto"),
    ],
    ids=str,
)
def test_the_choice_of_tools_is_read_or_kept(config: dict[str, Any], choice: str | None) -> None:
    found = read(toolConfig=config, tools=[{"functionDeclarations": [{"name": "f"}]}])
    assert found.settings.tool_choice == choice
    assert again(found)["toolConfig"] == config


def test_settings_that_have_no_shape_are_kept_where_they_stood() -> None:
    config = {"topK": 40, "thinkingConfig": {"thinkingBudget": 0}, "maxOutputTokens": "9", "seed": 3}
    found = read(generationConfig=config, safetySettings=[{"category": "X"}], labels={"a": "b"}, model="models/m")
    assert (found.settings.seed, found.settings.max_output_tokens) == (3, None)
    sent = again(found)
    assert sent["generationConfig"] == config
    assert (sent["safetySettings"], sent["labels"]) == ([{"category": "X"}], {"a": "b"})
    assert "model" not in sent


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"[]", r"\$"),
        (b"{}", r"\$\.contents"),
        (b'{"contents":"x"}', r"\$\.contents"),
        (b'{"contents":["x"]}', r"\$\.contents\[0\]"),
        (b'{"contents":[{"role":5}]}', r"\$\.contents\[0\]\.role"),
        (b'{"contents":[{"parts":{}}]}', r"\$\.contents\[0\]\.parts"),
        (b'{"contents":[{"role":"model","parts":[1]}]}', r"\$\.contents\[0\]\.parts\[0\]"),
        (b'{"contents":[],"generationConfig":[]}', r"\$\.generationConfig"),
        (b'{"contents":[],"toolConfig":5}', r"\$\.toolConfig"),
    ],
)
def test_what_is_no_request_is_told_by_its_place(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=where):
        readback(body)


WORDS = ["contents", "parts", "role", "text", "functionCall", "function_response", "response", "name", "tools"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(WORDS),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_anything_is_read_or_told(value: Any) -> None:
    try:
        found = readback(json.dumps({"contents": [value]} if not isinstance(value, dict) else value).encode())
    except UnreadableRequest:
        return
    messages: tuple[Message, ...] = tuple(found.messages)
    assert all(message.role in ("user", "assistant", "tool") for message in messages)
