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
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.openai_responses.dialect import CONTINUES, ITEM, PROTOCOL
from copyfit_adapters.openai_responses.encode import encode
from copyfit_adapters.openai_responses.readback import readback


def read(*items: Any, **fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "input": list(items)} | fields).encode())


def sent_again(found: ModelInput) -> list[Any]:
    items: list[Any] = json.loads(encode(found, "m").body)["input"]
    return items


def user(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content, **fields}


def test_an_input_that_is_one_text_is_a_user_message() -> None:
    assert read(input="Oslo?").messages == (UserMessage(content="Oslo?"),)


@pytest.mark.parametrize("fields", [{}, {"input": None}])
def test_a_request_without_input_has_no_messages(fields: dict[str, Any]) -> None:
    found = readback(json.dumps({"model": "m", "previous_response_id": "r1"} | fields).encode())
    assert found.messages == ()
    assert found.settings.extra == {PROTOCOL: {"previous_response_id": "r1"}}


@pytest.mark.parametrize("content", ["hi", [{"type": "input_text", "text": "hi"}]])
@pytest.mark.parametrize("kind", [{}, {"type": "message"}, {"type": None}])
def test_one_text_is_plain_text_in_either_form(content: Any, kind: dict[str, Any]) -> None:
    assert read({**kind, "role": "user", "content": content}).messages == (UserMessage(content="hi"),)


@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("content", ["Be brief.", [{"type": "input_text", "text": "Be brief."}]])
def test_a_system_message_of_one_text_before_all_others_is_the_system_text(role: str, content: Any) -> None:
    found = read({"role": role, "content": content}, user("hi"))
    assert (found.system, found.messages) == ("Be brief.", (UserMessage(content="hi"),))


@pytest.mark.parametrize(
    ("leading", "fields"),
    [
        ([{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}], {}),
        ([{"role": "developer", "content": "a"}], {"instructions": "Be brief."}),
        ([{"role": "system", "content": "a", "status": "completed"}], {}),
        ([{"role": "system", "content": ""}], {}),
        ([{"role": "system", "content": [{"type": "input_image", "image_url": "u"}]}], {}),
    ],
    ids=["two", "beside instructions", "with fields", "empty", "image"],
)
def test_system_messages_that_are_more_than_a_text_go_out_again_whole(
    leading: list[Any], fields: dict[str, Any]
) -> None:
    found = read(*leading, user("hi"), **fields)
    assert found.system == fields.get("instructions", "")
    assert found.messages == (UserMessage(content="hi"),)
    assert sent_again(found) == [*leading, user("hi")]


def test_a_message_of_another_role_stays_in_its_place_under_the_users() -> None:
    found = read(user("hi"), {"role": "developer", "content": "Stop."})
    assert found.messages[1] == UserMessage(content="Stop.", extra={PROTOCOL: {"role": "developer"}})


def test_a_row_of_items_is_one_assistants_message_and_goes_out_again_in_order() -> None:
    text = {"type": "output_text", "text": "I look.", "annotations": [{"type": "url_citation", "url": "u"}]}
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "message", "id": "m_1", "status": "completed", "role": "assistant", "content": [text]},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{ }", "id": "fc_1"},
    ]
    found = read(user("hi"), *items, {"type": "function_call_output", "call_id": "c1", "output": "rain"})
    assert found.messages[1:] == (
        AssistantMessage(
            content=(
                ThinkingPart(signature="c2VhbGVk", provider=PROTOCOL, opaque={"id": "rs_1"}),
                TextPart(
                    text="I look.",
                    extra={
                        PROTOCOL: {
                            "annotations": text["annotations"],
                            ITEM: {"id": "m_1", "status": "completed"},
                        }
                    },
                ),
                TextPart(
                    text="", extra={PROTOCOL: {"type": "web_search_call", "id": "ws_1", "status": "completed"}}
                ),
                ToolCall(id="c1", name="f", arguments="{ }", extra={PROTOCOL: {"id": "fc_1"}}),
            )
        ),
        ToolMessage(call_id="c1", content="rain"),
    )
    assert sent_again(found)[1:-1] == items


def test_several_parts_of_one_message_stay_in_one_item() -> None:
    content = [
        {"type": "output_text", "text": "a"},
        {"type": "refusal", "refusal": "no"},
        {"type": "output_text", "text": "b"},
    ]
    found = read({"type": "message", "role": "assistant", "content": content})
    assert [
        part.extra.get(PROTOCOL, {}).get(CONTINUES) for part in found.messages[0].parts if part.type == "text"
    ] == [
        None,
        True,
        True,
    ]
    assert sent_again(found) == [{"type": "message", "role": "assistant", "content": content}]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"summary": [{"type": "summary_text", "text": "t"}]}, ThinkingPart(text="t", provider=PROTOCOL)),
        (
            {"summary": [], "content": [{"type": "reasoning_text", "text": "t"}], "encrypted_content": None},
            ThinkingPart(
                text="t",
                provider=PROTOCOL,
                opaque={"summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
            ),
        ),
        (
            {"summary": [{"type": "summary_text", "text": text} for text in "ab"]},
            ThinkingPart(
                text="a\n\nb",
                provider=PROTOCOL,
                opaque={"summary": [{"type": "summary_text", "text": text} for text in "ab"]},
            ),
        ),
    ],
    ids=["summary", "content", "two summaries"],
)
def test_the_text_of_reasoning_is_what_its_content_or_its_summary_says(
    item: dict[str, Any], expected: ThinkingPart
) -> None:
    found = read({"type": "reasoning", **item}, {"type": "message", "role": "assistant", "content": "So."})
    assert found.messages == (AssistantMessage(content=(expected, TextPart(text="So."))),)
    again, _ = sent_again(found)
    assert again == {name: value for name, value in ({"type": "reasoning"} | item).items() if value is not None}


def test_a_result_may_have_parts_and_a_name() -> None:
    output = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "https://a", "detail": "low"},
    ]
    item = {"type": "function_call_output", "call_id": "c", "output": output, "name": "f"}
    found = read(item)
    assert found.messages == (
        ToolMessage(call_id="c", name="f", content=(TextPart(text="a"), ImagePart(url="https://a", detail="low"))),
    )
    assert sent_again(found) == [{key: value for key, value in item.items() if key != "name"}]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "item_reference", "id": "msg_1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "x"},
        {"type": "compaction", "encrypted_content": "c2VhbGVk"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": None},
        {"type": "function_call_output", "output": "x", "id": "fco_1"},
        {"type": "message", "role": "assistant", "id": "m", "content": []},
        {"type": "hologram", "text": "x"},
    ],
    ids=lambda item: item["type"],
)
def test_an_item_that_has_no_shape_is_carried_and_goes_out_again(item: dict[str, Any]) -> None:
    found = read(user("hi"), item, user("go on"))
    assert isinstance(found.messages[1], AssistantMessage)
    assert sent_again(found)[1] == item


def test_a_reference_needs_no_type() -> None:
    assert sent_again(read({"id": "msg_1"})) == [{"id": "msg_1", "type": "item_reference"}]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"file_id": "f"}, FilePart(file_id="f")),
        ({"file_url": "https://a"}, FilePart(url="https://a")),
        ({"file_data": "QUJD", "filename": "a"}, FilePart(data="QUJD", filename="a")),
        ({"file_data": "data:a/b;base64,QUJD"}, FilePart(data="QUJD", media_type="a/b")),
        ({"file_data": "data:,x"}, FilePart(url="data:,x")),
    ],
    ids=str,
)
def test_a_file_is_read_from_whatever_field_holds_it(part: dict[str, Any], expected: FilePart) -> None:
    found = read(user([{"type": "input_file", **part}]))
    assert found.messages == (UserMessage(content=(expected,)),)
    assert sent_again(found)[0]["content"] == [{"type": "input_file", **part}]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_file", "file_id": "f", "file_data": "QUJD"},
        {"type": "input_file", "file_url": "data:,x"},
        {"type": "input_file", "filename": 3, "file_id": "f"},
        {"type": "input_image", "file_id": "f", "detail": "low"},
        {"type": "input_image", "file_id": "f", "image_url": "https://a", "detail": "low"},
        {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
        {"type": "output_text", "text": "x"},
        {"type": "input_text", "text": 3},
    ],
    ids=str,
)
def test_a_part_that_has_no_shape_is_carried_and_goes_out_again(part: dict[str, Any]) -> None:
    assert sent_again(read(user([part])))[0]["content"] == [part]


def test_tools_that_run_at_the_provider_are_kept_whole() -> None:
    tools = [{"type": "function", "name": "f", "parameters": {}}, {"type": "web_search"}]
    found = read(tools=tools)
    assert found.tools == ()
    assert json.loads(encode(found, "m").body)["tools"] == tools


def test_values_without_a_place_stay_in_the_settings() -> None:
    odd = {
        "max_output_tokens": 0,
        "temperature": "hot",
        "tool_choice": {"type": "allowed_tools", "tools": []},
        "text": {"format": {"type": "text"}},
        "seed": 7,
        "stop": ["END"],
        "store": True,
        "include": [],
    }
    found = read(**odd, reasoning={"effort": "low"}, top_p=None)
    assert found.settings.extra == {PROTOCOL: odd | {"reasoning": {"effort": "low"}}}
    assert readback(encode(found, "m").body) == found


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"[]", r"\$ "),
        (b'{"input": 1}', r"\$\.input"),
        (b'{"input": [1]}', r"\$\.input\[0\]"),
        (b'{"input": [{"content": "x"}]}', r"\$\.input\[0\]\.type"),
        (b'{"input": [{"role": "user", "content": 1}]}', r"\$\.input\[0\]\.content"),
        (b'{"input": [{"role": "assistant", "content": 1}]}', r"\$\.input\[0\]\.content"),
        (b'{"input": [{"role": "system", "content": "x"}, {"role": 3}]}', r"\$\.input\[1\]\.role"),
        (b'{"input": [{"role": "user", "content": [{}]}]}', r"\$\.input\[0\]\.content\[0\]\.type"),
        (b'{"input": [], "temperature": 1e999}', "the body"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_its_place(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=where):
        readback(body)


@given(st.binary(max_size=40))
def test_garbage_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        readback(b"[" + body)
