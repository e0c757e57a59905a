"""Reading requests back, also those of other clients, and refusing what is no request."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest
from copyfit_adapters.mistral_chat.dialect import PROTOCOL
from copyfit_adapters.mistral_chat.encode import encode
from copyfit_adapters.mistral_chat.readback import readback


def read(*messages: dict[str, Any], **fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "messages": messages, **fields}).encode())


def own(**fields: Any) -> dict[str, dict[str, Any]]:
    return {PROTOCOL: fields}


@pytest.mark.parametrize("content", ["Be brief.", [{"type": "text", "text": "Be brief."}]], ids=str)
def test_a_first_system_message_is_the_system_text(content: Any) -> None:
    assert read({"role": "system", "content": content}, {"role": "user", "content": "hi"}) == ModelInput(
        "Be brief.", (UserMessage(content="hi"),)
    )


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {
            "role": "system",
            "content": [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": [], "closed": True}],
        },
        {"role": "system", "content": "a", "name": "policy"},
        {"role": "system", "content": [{"type": "text", "text": "a", "x": 1}]},
    ],
    ids=repr,
)
def test_a_system_message_that_says_more_than_one_text_is_kept_whole_and_never_forged(
    message: dict[str, Any],
) -> None:
    model_input = read(message)
    assert model_input.system == ""
    assert model_input.messages[0].extra[PROTOCOL]["role"] == "system"
    assert model_input.messages[0].text.startswith("a")
    with pytest.raises(UnencodableInput, match="role"):
        encode(model_input, "m")


@pytest.mark.parametrize(
    ("chunk", "part"),
    [
        ({"type": "image_url", "image_url": "https://h/a.png"}, ImagePart(url="https://h/a.png")),
        (
            {"type": "image_url", "image_url": {"url": "https://h/a.png", "detail": "low", "x": 1}},
            ImagePart(url="https://h/a.png", detail="low", extra=own(image_url={"x": 1})),
        ),
        (
            {"type": "image_url", "image_url": "data:image/png;base64,QUJD"},
            ImagePart(data="QUJD", media_type="image/png"),
        ),
        (
            {"type": "document_url", "document_url": "https://h/a.pdf", "document_name": "a.pdf"},
            FilePart(url="https://h/a.pdf", filename="a.pdf"),
        ),
        (
            {"type": "document_url", "document_url": "data:application/pdf;base64,QUJD", "document_name": None},
            FilePart(data="QUJD", media_type="application/pdf"),
        ),
        ({"type": "file", "file_id": "f1"}, FilePart(file_id="f1")),
        (
            {"type": "input_audio", "input_audio": "QUJD"},
            TextPart(text="", extra=own(type="input_audio", input_audio="QUJD")),
        ),
        (
            {"type": "thinking", "thinking": [{"type": "text", "text": "t"}]},
            TextPart(text="", extra=own(type="thinking", thinking=[{"type": "text", "text": "t"}])),
        ),
        ({"type": "x_new", "text": "t", "a": 1}, TextPart(text="t", extra=own(type="x_new", a=1))),
        ({"type": "image_url", "image_url": 3}, TextPart(text="", extra=own(type="image_url", image_url=3))),
    ],
    ids=str,
)
def test_a_chunk_becomes_the_part_that_it_is_or_is_carried(chunk: dict[str, Any], part: Any) -> None:
    model_input = read({"role": "user", "content": [chunk]})
    assert model_input.messages == (UserMessage(content=(part,)),)
    assert readback(encode(model_input, "m").body) == model_input


def test_reasoning_may_also_be_a_plain_text() -> None:
    model_input = read({"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]})
    part = ThinkingPart(text="t", provider=PROTOCOL, opaque={"thinking": "t"})
    assert model_input.messages == (AssistantMessage(content=(part,)),)
    assert readback(encode(model_input, "m").body) == model_input


def test_calls_are_read_with_arguments_of_either_kind() -> None:
    calls = [
        {"id": "Jc4AR31Hp", "function": {"name": "f", "arguments": '{"a": 1.0}'}},
        {"id": "call_1", "type": "function", "index": 1, "function": {"name": "g", "arguments": {"b": 2}}},
    ]
    assert read({"role": "assistant", "content": "x", "tool_calls": calls}).messages == (
        AssistantMessage(
            content=(
                TextPart(text="x"),
                ToolCall(id="Jc4AR31Hp", name="f", arguments='{"a": 1.0}'),
                ToolCall(id="call_1", name="g", arguments='{"b":2}', extra=own(index=1)),
            )
        ),
    )


def test_calls_that_are_none_are_kept_whole() -> None:
    calls = [{"id": "Jc4AR31Hp", "type": "custom", "function": {"name": "f", "arguments": "{}"}}, 3]
    assert read({"role": "assistant", "content": "x", "tool_calls": calls}).messages == (
        AssistantMessage(content="x", extra=own(tool_calls=calls)),
    )


def test_a_tool_message_has_its_name() -> None:
    message = {
        "role": "tool",
        "tool_call_id": "Jc4AR31Hp",
        "name": "f",
        "content": [{"type": "text", "text": "x"}],
    }
    assert read(message).messages == (ToolMessage(call_id="Jc4AR31Hp", name="f", content=(TextPart(text="x"),)),)


@pytest.mark.parametrize("word", ["any", "required"])
def test_any_and_required_are_one_choice(word: str) -> None:
    assert read(tool_choice=word).settings == ModelSettings(tool_choice="required")


@pytest.mark.parametrize(
    "choice", [{"function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}], ids=str
)
def test_a_choice_of_one_tool_is_read_with_and_without_its_type(choice: Any) -> None:
    assert read(tool_choice=choice).settings == ModelSettings(tool_choice="tool:f")


def test_settings_and_tools_are_read_by_their_names_and_the_rest_is_kept() -> None:
    format_ = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"a": 1}, "strict": False}}
    model_input = read(
        max_tokens=3,
        random_seed=4,
        stop="END",
        temperature=1,
        top_p=None,
        stream=True,
        response_format=format_,
        tools=[{"function": {"name": "f", "parameters": {"a": 1}, "description": ""}}],
        prompt_mode="reasoning",
        safe_prompt=False,
    )
    assert model_input == ModelInput(
        "",
        (),
        (ToolSpec(name="f", parameters={"a": 1}),),
        ModelSettings(
            max_output_tokens=3,
            seed=4,
            stop=("END",),
            temperature=1.0,
            response_schema=ResponseSchema(name="n", json_schema={"a": 1}, strict=False),
            extra=own(prompt_mode="reasoning", safe_prompt=False),
        ),
    )


@pytest.mark.parametrize(
    "field",
    [
        {"response_format": {"type": "json_object"}},
        {"tool_choice": "sometimes"},
        {"tool_choice": {"type": "function", "function": {"name": "f", "x": 1}}},
        {"tools": [{"type": "image_generation"}]},
        {"max_tokens": -1},
        {"stop": [1]},
    ],
    ids=repr,
)
def test_a_setting_that_the_shapes_cannot_hold_rides_along_whole(field: dict[str, Any]) -> None:
    model_input = read(**field)
    assert model_input.settings == ModelSettings(extra=own(**field))
    assert json.loads(encode(model_input, "m").body) == {"model": "m", **field, "messages": []}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"\xff", "the body"),
        (b"[]", r"\$"),
        (b"{}", r"\$.messages"),
        (b'{"messages":[1]}', r"\$.messages\[0\]"),
        (b'{"messages":[{"content":"x"}]}', r"\$.messages\[0\].role"),
        (b'{"messages":[{"role":"user","content":3}]}', r"\$.messages\[0\].content"),
        (b'{"messages":[{"role":"user","content":[{}]}]}', r"\$.messages\[0\].content\[0\].type"),
        (b'{"messages":[{"role":"tool","content":"x"}]}', r"\$.messages\[0\].tool_call_id"),
    ],
)
def test_what_is_no_request_is_refused_by_its_place(body: bytes, place: str) -> None:
    with pytest.raises(UnreadableRequest, match=place):
        readback(body)
