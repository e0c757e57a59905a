"""`readback` reads what any client sends, and says where a body is no request."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.encode import encode
from copyfit_adapters.ollama_chat.readback import readback


def read(*messages: Any, **fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "messages": messages} | fields).encode())


def call(name: str, **fields: Any) -> dict[str, Any]:
    return fields | {"function": {"name": name, "arguments": {}}}


def test_a_plain_system_message_at_the_beginning_is_the_system_text() -> None:
    found = read({"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"})
    assert found == ModelInput("Be brief.", (UserMessage(content="x"),))


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "x"}, {"role": "system", "content": "Stop."}],
        [{"role": "system", "content": "Stop.", "x_note": 1}],
    ],
)
def test_any_other_system_message_stays_in_its_place_under_the_users(messages: list[Any]) -> None:
    found = read(*messages)
    assert found.system == ""
    assert found.messages[-1].extra[PROTOCOL]["role"] == "system"


def test_content_and_images_are_the_parts_of_one_message() -> None:
    found = read(
        {"role": "user", "content": "x", "images": ["QUJD", "QUJE"]},
        {"role": "user", "content": None, "images": ["QUJD"]},
        {"role": "user", "images": []},
    )
    images = (ImagePart(data="QUJD"), ImagePart(data="QUJE"))
    assert found.messages == (
        UserMessage(content=(TextPart(text="x"), *images)),
        UserMessage(content=images[:1]),
        UserMessage(content=""),
    )


def test_reasoning_and_calls_keep_what_has_no_shape() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1.0}, "index": 0}}]
    found = read({"role": "assistant", "content": "", "thinking": "t", "tool_calls": calls})
    extra = {PROTOCOL: {"type": "function", "function": {"index": 0}}}
    assert found.messages == (
        AssistantMessage(
            content=(
                ThinkingPart(text="t", provider=PROTOCOL),
                ToolCall(id="c", name="f", arguments='{"a":1.0}', extra=extra),
            )
        ),
    )


def test_calls_that_cannot_be_modelled_stay_with_their_message() -> None:
    calls = [call("f", id="c"), {"id": "d", "function": {"name": "g", "arguments": "{}"}}]
    (message,) = read({"role": "assistant", "content": "x", "tool_calls": calls}).messages
    assert message == AssistantMessage(content="x", extra={PROTOCOL: {"tool_calls": calls}})


def test_results_without_ids_answer_the_open_call_of_their_tool_in_order() -> None:
    found = read(
        {"role": "assistant", "tool_calls": [call("f"), call("g"), call("f")]},
        {"role": "tool", "content": "1", "tool_name": "f"},
        {"role": "tool", "content": "2", "tool_name": "f"},
        {"role": "tool", "content": "3"},
        {"role": "tool", "content": "4"},
        {"role": "assistant", "tool_calls": [call("f")]},
        {"role": "tool", "content": "5", "tool_name": "unheard"},
    )
    ids = [
        call.id
        for message in found.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    assert len(set(ids)) == 4
    first, second, third, fourth = ids
    results = [(message.call_id, message.name) for message in found.messages if isinstance(message, ToolMessage)]
    assert results == [(first, "f"), (third, "f"), (second, None), ("result-4", None), (fourth, "unheard")]


def test_ids_that_are_there_are_kept_and_take_their_call() -> None:
    found = read(
        {"role": "assistant", "tool_calls": [call("f", id="a"), call("f")]},
        {"role": "tool", "content": "1", "tool_call_id": "a"},
        {"role": "tool", "content": "2"},
    )
    assistant, *results = found.messages
    assert isinstance(assistant, AssistantMessage)
    assert [call.id for call in assistant.tool_calls] == ["a", "call-0-1"]
    assert [result.call_id for result in results if isinstance(result, ToolMessage)] == ["a", "call-0-1"]


def test_options_are_settings_and_the_rest_of_them_is_kept() -> None:
    options = {
        "num_predict": 9,
        "temperature": 1,
        "top_p": 0.5,
        "seed": 7,
        "stop": ["a"],
        "top_k": 3,
        "num_ctx": 8,
    }
    found = read(options=options, format={"type": "object"}, think=True, stream=False, truncate=False, shift=True)
    assert found.settings == ModelSettings(
        max_output_tokens=9,
        temperature=1.0,
        top_p=0.5,
        seed=7,
        stop=("a",),
        response_schema=ResponseSchema(json_schema={"type": "object"}),
        extra={PROTOCOL: {"think": True, "shift": True, "options": {"top_k": 3}}},
    )


def test_values_without_a_place_stay_in_the_settings_and_go_out_again() -> None:
    options = {"num_predict": -1, "temperature": "hot", "seed": 1.5, "stop": "END", "num_ctx": 0}
    found = read(options=options | {"top_p": None}, format="json", tools=[{"type": "browser"}], keep_alive=None)
    kept = {"options": options, "format": "json", "tools": [{"type": "browser"}], "keep_alive": None}
    assert found.settings == ModelSettings(extra={PROTOCOL: kept})
    assert readback(encode(found, "m").body) == found


def test_tools_are_read_with_what_has_no_shape() -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": "f", "description": "d", "parameters": {"a": 1}, "strict": True},
        },
        {"function": {"name": "g"}},
    ]
    assert read(tools=tools).tools == (
        ToolSpec(name="f", description="d", parameters={"a": 1}, extra={PROTOCOL: {"function": {"strict": True}}}),
        ToolSpec(name="g"),
    )


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"[]", r"\$ "),
        (b'{"messages": 1}', r"\$\.messages"),
        (b'{"messages": [1]}', r"\$\.messages\[0\]"),
        (b'{"messages": [{"content": "x"}]}', r"\$\.messages\[0\]\.role"),
        (b'{"messages": [{"role": "user", "content": []}]}', r"\$\.messages\[0\]\.content"),
        (b'{"messages": [{"role": "tool", "tool_call_id": 1}]}', r"\$\.messages\[0\]\.tool_call_id"),
        (b'{"messages": [], "options": {"temperature": 1e999}}', "the body"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_its_place(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=where):
        readback(body)


@given(st.binary(max_size=40))
def test_garbage_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        readback(body)
