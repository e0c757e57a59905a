"""`readback` reads what any client sends, and says where a body is no request."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import AssistantMessage, FilePart, ImagePart, TextPart, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode
from copyfit_adapters.bedrock_converse.readback import readback
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest

MARK = {"cachePoint": {"type": "default"}}


def read(**fields: Any) -> ModelInput:
    return readback(json.dumps({"messages": []} | fields).encode())


def sent(found: ModelInput) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(found, "m").body)
    return body


@pytest.mark.parametrize("system", [[{"text": "Be brief."}], [{"text": "Be brief."}, MARK]])
def test_a_system_of_one_text_is_the_system_text(system: Any) -> None:
    assert read(system=system).system == "Be brief."


@pytest.mark.parametrize(
    "system", [[{"text": "a"}, MARK, {"text": "b"}], [{"guardContent": {"text": {"text": "a"}}}]]
)
def test_a_system_of_several_blocks_is_kept_whole_and_goes_out_again(system: Any) -> None:
    found = read(system=system)
    assert found.system == ""
    assert sent(found)["system"] == system


def test_what_says_nothing_is_nothing() -> None:
    numbers: dict[str, Any] = {"maxTokens": None, "stopSequences": []}
    found = read(system=[], inferenceConfig=numbers, toolConfig=None, outputConfig={}, modelId="m")
    assert found == ModelInput("", ())


def test_marks_for_the_cache_are_no_part_of_the_input() -> None:
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}
    messages = [
        {"role": "user", "content": [{"text": "a"}, MARK, {"text": "b"}]},
        {"role": "assistant", "content": [{"text": "c"}, MARK]},
    ]
    found = read(messages=messages, toolConfig={"tools": [tool, MARK]})
    assert found.tools == (ToolSpec(name="f", parameters={}),)
    assert found.messages == (
        UserMessage(content=(TextPart(text="a"), TextPart(text="b"))),
        AssistantMessage(content=(TextPart(text="c"),)),
    )


def test_tools_that_run_at_the_provider_are_kept_whole() -> None:
    tools = [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}, {"systemTool": {"name": "grounding"}}]
    found = read(toolConfig={"tools": tools, "toolChoice": {"any": {}}})
    assert found.tools == ()
    assert found.settings.tool_choice == "required"
    assert sent(found)["toolConfig"] == {"tools": tools, "toolChoice": {"any": {}}}


def test_results_between_texts_are_messages_of_their_own_in_the_same_order() -> None:
    content = [
        {"text": "a"},
        {"toolResult": {"toolUseId": "c", "content": [{"text": "r"}, {"json": {"n": 1}}], "status": "error"}},
        {"toolResult": {"toolUseId": "d", "content": [], "status": "success"}},
        {"text": "b"},
    ]
    assert read(messages=[{"role": "user", "content": content}]).messages == (
        UserMessage(content=(TextPart(text="a"),)),
        ToolMessage(
            call_id="c",
            content=(TextPart(text="r"), TextPart(text="", extra={PROTOCOL: {"json": {"n": 1}}})),
            is_error=True,
        ),
        ToolMessage(call_id="d", content=()),
        UserMessage(content=(TextPart(text="b"),)),
    )


def test_blocks_that_have_no_shape_are_carried_and_go_out_again() -> None:
    blocks: list[dict[str, Any]] = [
        {"text": "See."},
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://box/a.mp4"}}}},
        {"document": {"format": "txt", "name": "a", "source": {"text": "inline"}}},
        {"document": {"name": "b", "source": {"bytes": "QUJD"}}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://box/a", "bucketOwner": "1"}}}},
        {"image": {"format": "bmp", "source": {"bytes": "QUJD"}}},
        {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}},
        {"searchResult": {"source": "s", "title": "t", "content": [{"text": "x"}]}},
        {"citationsContent": {"content": [{"text": "So "}, {"text": "it is."}], "citations": []}},
        {"toolUse": {"toolUseId": "s", "name": "f", "input": {}, "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": "s", "content": [], "type": "web"}},
        {"reasoningContent": {"hue": 1}},
    ]
    messages = [{"role": "assistant", "content": blocks}]
    assert sent(read(messages=messages))["messages"] == messages


def test_media_have_the_type_of_their_format_and_keep_what_stands_beside_it() -> None:
    content = [
        {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://box/a"}}}},
        {"document": {"format": "md", "name": "a", "source": {"bytes": "QUJD"}, "citations": {"enabled": True}}},
    ]
    messages = [{"role": "user", "content": content}]
    found = read(messages=messages)
    extra = {PROTOCOL: {"citations": {"enabled": True}}}
    assert found.messages[0].content == (
        ImagePart(url="s3://box/a", media_type="image/jpeg"),
        FilePart(data="QUJD", media_type="text/markdown", filename="a", extra=extra),
    )
    assert sent(found)["messages"] == messages


def test_a_message_of_another_role_is_told_and_not_sent() -> None:
    found = read(messages=[{"role": "system", "content": [{"text": "Stop."}]}])
    assert found.messages == (
        UserMessage(content=(TextPart(text="Stop."),), extra={PROTOCOL: {"role": "system"}}),
    )
    with pytest.raises(UnencodableInput):
        encode(found, "m")


def test_a_schema_is_read_out_of_its_text_and_any_other_format_stays() -> None:
    text_format = {
        "type": "json_schema",
        "structure": {"jsonSchema": {"schema": '{ "type": "object" }', "name": "n"}},
    }
    found = read(outputConfig={"textFormat": text_format, "effort": "low"}).settings
    assert found.response_schema == ResponseSchema(json_schema={"type": "object"}, name="n")
    assert found.extra == {PROTOCOL: {"outputConfig": {"effort": "low"}}}
    text_format["structure"] = {"jsonSchema": {"schema": "{}"}}
    assert read(outputConfig={"textFormat": text_format}).settings.response_schema == ResponseSchema(
        json_schema={}
    )
    text_format["structure"] = {"jsonSchema": {"schema": "no schema"}}
    other = read(outputConfig={"textFormat": text_format})
    assert other.settings.response_schema is None
    assert sent(other)["outputConfig"] == {"textFormat": text_format}


def test_values_without_a_place_stay_in_the_settings() -> None:
    odd = {
        "inferenceConfig": {"maxTokens": 0, "temperature": "hot", "stopSequences": [1], "topK": 5},
        "toolConfig": {"toolChoice": {"some": {}}},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
        "serviceTier": None,
    }
    found = read(**odd)
    assert found.settings.extra == {PROTOCOL: odd}
    assert readback(encode(found, "m").body) == found


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"[]", r"\$ "),
        (b'{"messages": 1}', r"\$\.messages"),
        (b'{"messages": [1]}', r"\$\.messages\[0\]"),
        (b'{"messages": [{"content": []}]}', r"\$\.messages\[0\]\.role"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', r"\$\.messages\[0\]\.content"),
        (b'{"messages": [{"role": "user", "content": [{}]}]}', r"\$\.messages\[0\]\.content\[0\]"),
        (
            b'{"messages": [{"role": "user", "content": [{"toolResult": {"toolUseId": "c", "content": [1]}}]}]}',
            r"\$\.messages\[0\]\.content\[0\]\.toolResult\.content\[0\]",
        ),
        (b'{"messages": [], "inferenceConfig": {"topP": 1e999}}', "the body"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_its_place(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=where):
        readback(body)


@given(st.binary(max_size=40))
def test_garbage_is_unreadable(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        readback(body)
