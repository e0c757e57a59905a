"""Reading requests back, also those of other clients, and refusing what is no request."""

import json
from pathlib import Path
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
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.errors import UnencodableInput, UnreadableRequest
from copyfit_adapters.openai_chat.dialect import PROTOCOL, Dialect
from copyfit_adapters.openai_chat.encode import encode
from copyfit_adapters.openai_chat.readback import readback

SHARED = Path(__file__).parents[3].parent / "shared"


def read(*messages: dict[str, Any], **fields: Any) -> ModelInput:
    return readback(json.dumps({"model": "m", "messages": messages, **fields}).encode())


def own(**fields: Any) -> dict[str, dict[str, Any]]:
    return {PROTOCOL: fields}


@pytest.mark.parametrize(
    "content", ["Be brief.", [{"type": "text", "text": "Be brief."}]], ids=["as text", "as one part"]
)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_first_system_message_is_the_system_text(role: str, content: Any) -> None:
    assert read({"role": role, "content": content}, {"role": "user", "content": "hi"}) == ModelInput(
        "Be brief.", (UserMessage(content="hi"),)
    )


def test_further_system_messages_stay_in_their_place_with_their_role() -> None:
    system, later = {"role": "system", "content": "a"}, {"role": "developer", "content": "b"}
    assert read(system, later, {"role": "user", "content": "hi"}, system) == ModelInput(
        "a",
        (
            UserMessage(content="b", extra=own(role="developer")),
            UserMessage(content="hi"),
            UserMessage(content="a", extra=own(role="system")),
        ),
    )


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": [{"type": "text", "text": "a", "cache_control": {}}]},
        {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "system", "content": "a", "name": "policy"},
    ],
    ids=["marked part", "two parts", "named"],
)
def test_a_system_message_that_says_more_than_one_text_is_kept_whole(message: dict[str, Any]) -> None:
    model_input = read(message)
    assert model_input.system == ""
    assert model_input.messages[0].extra[PROTOCOL]["role"] == "system"
    assert model_input.messages[0].text.startswith("a")


def test_a_message_with_a_role_of_its_own_cannot_be_sent_again() -> None:
    model_input = read({"role": "user", "content": "hi"}, {"role": "system", "content": "obey"})
    with pytest.raises(UnencodableInput, match="role"):
        encode(model_input, "m")


def test_what_the_official_client_sends_is_read_in_full() -> None:
    import httpx2
    import openai

    sent: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.read())
        return httpx2.Response(200, json={"id": "r", "object": "chat.completion", "choices": [], "created": 1})

    client = openai.OpenAI(
        api_key="test", max_retries=0, http_client=httpx2.Client(transport=httpx2.MockTransport(answer))
    )
    client.chat.completions.create(
        model="gpt-x",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}]},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{ }"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        tool_choice={"type": "function", "function": {"name": "f"}},
        max_completion_tokens=5,
        stop="END",
        reasoning_effort="low",
        stream=True,
        stream_options={"include_usage": True},
    )
    assert readback(sent[0]) == ModelInput(
        "Be brief.",
        (
            UserMessage(content=(ImagePart(url="https://h/a.png"),)),
            AssistantMessage(content=(ToolCall(id="c", name="f", arguments="{ }"),)),
            ToolMessage(call_id="c", content="done"),
        ),
        (ToolSpec(name="f", parameters={"type": "object"}),),
        ModelSettings(max_output_tokens=5, stop=("END",), tool_choice="tool:f", extra=own(reasoning_effort="low")),
    )


def test_a_message_echoed_by_a_proxy_keeps_its_unknown_fields() -> None:
    echoed = {
        "role": "assistant",
        "content": None,
        "reasoning": "why",
        "refusal": None,
        "annotations": [],
        "provider_specific_fields": {"a": 1},
        "tool_calls": [{"id": "c", "type": "function", "index": 0, "function": {"name": "f", "arguments": ""}}],
        "name": None,
    }
    assert read(echoed, {"role": "tool", "tool_call_id": "c", "name": "f", "content": [], "x": 1}) == ModelInput(
        "",
        (
            AssistantMessage(
                content=(
                    ThinkingPart(text="why", provider=PROTOCOL, opaque={"field": "reasoning"}),
                    ToolCall(id="c", name="f", arguments="", extra=own(index=0)),
                ),
                extra=own(refusal=None, annotations=[], provider_specific_fields={"a": 1}),
            ),
            ToolMessage(call_id="c", name="f", content="", extra=own(x=1)),
        ),
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "a", "x": 1}, TextPart(text="a", extra=own(x=1))),
        ({"type": "refusal", "refusal": "no"}, TextPart(text="", extra=own(type="refusal", refusal="no"))),
        ({"type": "output_text", "text": "a"}, TextPart(text="a", extra=own(type="output_text"))),
        ({"type": "image_url", "image_url": "u"}, TextPart(text="", extra=own(type="image_url", image_url="u"))),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "x": 1}},
            ImagePart(data="QUJD", media_type="image/png", extra=own(image_url={"x": 1})),
        ),
        ({"type": "file", "file": {"file_data": "QUJD", "filename": "a"}}, FilePart(data="QUJD", filename="a")),
        ({"type": "file", "file": {"file_data": "https://h/a.pdf"}}, FilePart(url="https://h/a.pdf")),
        (
            {"type": "file", "file": {"file_id": "f", "file_data": "data:a/b;base64,QUJD"}},
            FilePart(file_id="f", data="QUJD", media_type="a/b"),
        ),
        ({"type": "file", "file": {}}, TextPart(text="", extra=own(type="file", file={}))),
    ],
    ids=str,
)
def test_every_content_part_is_read_or_kept(
    part: dict[str, Any], expected: TextPart | ImagePart | FilePart
) -> None:
    assert read({"role": "user", "content": [part]}).messages == (UserMessage(content=(expected,)),)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 5, "max_completion_tokens": 6},
        {"max_tokens": 0},
        {"temperature": "hot"},
        {"temperature": True},
        {"seed": 1.5},
        {"stop": [1]},
        {"tool_choice": "any"},
        {"tool_choice": {"type": "function", "function": {"name": "f", "x": 1}}},
        {"tools": [{"type": "custom", "custom": {"name": "sql"}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
        {"stream_options": {"include_usage": True, "x": 1}},
        {"parallel_tool_calls": 0},
        {"response_format": {"type": "json_object"}, "n": None},
    ],
    ids=str,
)
def test_a_field_without_a_place_in_the_shapes_is_kept_whole_and_written_back(fields: dict[str, Any]) -> None:
    model_input = read(**fields)
    assert model_input.settings == ModelSettings(extra=own(**fields))
    assert json.loads(encode(model_input, "m").body) == {"model": "m", "messages": [], **fields}


def test_null_settings_are_absent_ones() -> None:
    names = ("temperature", "top_p", "seed", "stop", "tools", "tool_choice", "max_tokens", "stream_options")
    assert read(**dict.fromkeys(names)) == ModelInput("", ())


def test_custom_tool_calls_stay_in_the_message_as_they_are() -> None:
    calls = [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}]
    model_input = read({"role": "assistant", "content": "x", "tool_calls": calls})
    assert model_input.messages == (AssistantMessage(content="x", extra=own(tool_calls=calls)),)
    assert json.loads(encode(model_input, "m").body)["messages"][0]["tool_calls"] == calls


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "the body"),
        (b"\xff{}", "the body"),
        (b'{"messages":[],"temperature":NaN}', "the body"),
        (b'{"messages":[],"temperature":1e999}', "the body"),
        (b"[" * 100_000, "the body"),
        (b"[]", "$"),
        (b"{}", "$.messages"),
        (b'{"messages":[3]}', "$.messages[0]"),
        (b'{"messages":[{"content":"x"}]}', "$.messages[0].role"),
        (b'{"messages":[{"role":"user","content":3}]}', "$.messages[0].content"),
        (b'{"messages":[{"role":"system","content":"x"},{"role":"user","content":3}]}', "$.messages[1].content"),
        (b'{"messages":[{"role":"user","content":[{}]}]}', "$.messages[0].content[0].type"),
        (b'{"messages":[{"role":"tool","content":"x"}]}', "$.messages[0].tool_call_id"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused_by_path(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest) as caught:
        readback(body)
    assert caught.value.where == where


@given(st.binary(max_size=60))
def test_garbage_is_refused_with_a_typed_error(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        readback(body)


LOOSE: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "", "x", "text", "function", "user", "assistant", "auto"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "text", "function", "name", "arguments", "id", "url", "image_url", "file", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
MESSAGE_FIELDS = ("content", "name", "tool_calls", "tool_call_id", "reasoning_content", "reasoning", "x")
ROUGH_MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])},
    optional=dict.fromkeys(MESSAGE_FIELDS, LOOSE),
)
ROUGH_FIELDS = st.dictionaries(
    st.sampled_from(["temperature", "stop", "tools", "tool_choice", "max_tokens", "seed", "stream_options", "y"]),
    LOOSE,
)


@given(st.lists(ROUGH_MESSAGES, max_size=3), ROUGH_FIELDS)
def test_whatever_can_be_read_goes_out_and_comes_back_unchanged(
    messages: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    try:
        model_input = read(*messages, **fields)
    except UnreadableRequest:
        return
    again = readback(encode(model_input, "m", dialect=Dialect()).body)
    expected = tuple(
        message.model_copy(update={"name": None}) if isinstance(message, ToolMessage) else message
        for message in model_input.messages
    )
    assert (again.messages, again.settings, again.tools) == (expected, model_input.settings, model_input.tools)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared captures are not beside this checkout")
def test_every_recorded_chat_request_reads_back() -> None:
    read_back = 0
    for path in sorted((SHARED / "local-provider" / "captures").glob("*chat*.json")):
        capture = json.loads(path.read_text("utf-8"))
        if capture["request"]["path"] == "/v1/chat/completions" and ".err." not in path.name:
            request = json.loads(capture["request"]["body"])
            model_input = readback(capture["request"]["body"].encode())
            assert len(model_input.messages) + bool(model_input.system) == len(request["messages"])
            assert json.loads(encode(model_input, request["model"]).body)["messages"] == request["messages"]
            read_back += 1
    assert read_back > 50
