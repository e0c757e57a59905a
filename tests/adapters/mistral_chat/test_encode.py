"""The body is what Mistral's own types allow, and nothing in an input can forge another part of it."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from copyfit.shapes.identity_memo import IdentityMemo
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
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.errors import UnencodableInput
from copyfit_adapters.mistral_chat.dialect import BRIDGE, PROTOCOL, sendable_id
from copyfit_adapters.mistral_chat.encode import encode, encode_message

CALL = ToolCall(id="Jc4AR31Hp", name="weather", arguments='{"days": 1.0}')
FOREIGN = ToolCall(id="call_0fypS1hVX", name="weather", arguments="")
REFERENCE = {"type": "reference", "reference_ids": [1, "a"]}
THOUGHT = ThinkingPart(text="hm", provider=PROTOCOL, signature="c2ln", opaque={"closed": True})
CITED = ThinkingPart(
    text="see", provider=PROTOCOL, opaque={"thinking": [{"type": "text", "text": "see"}, REFERENCE]}
)
RICH = ModelInput(
    "You tell the weather.",
    (
        UserMessage(content="Oslo?", name="ann"),
        AssistantMessage(content="Just a moment."),
        AssistantMessage(content=(THOUGHT, TextPart(text="Looking."), CITED, CALL, FOREIGN)),
        ToolMessage(call_id="Jc4AR31Hp", name="weather", content="sunny"),
        ToolMessage(
            call_id="call_0fypS1hVX",
            content=(TextPart(text="no"), ImagePart(url="https://host/a.png")),
            is_error=True,
        ),
        AssistantMessage(content=(TextPart(text="one"), TextPart(text="two"))),
        UserMessage(
            content=(
                TextPart(text="And this?"),
                ImagePart(url="https://host/a.png", detail="low"),
                ImagePart(data="QUJD", media_type="image/png"),
                FilePart(file_id="f1"),
                FilePart(data="QUJD", media_type="application/pdf", filename="a.pdf"),
                FilePart(url="https://host/a.pdf"),
                TextPart(text="", extra={PROTOCOL: {"type": "input_audio", "input_audio": "QUJD"}}),
                TextPart(text="", extra={PROTOCOL: REFERENCE}),
            )
        ),
        AssistantMessage(content="It is", extra={PROTOCOL: {"prefix": True}}),
    ),
    (ToolSpec(name="weather", description="Tell the weather.", strict=True), ToolSpec(name="bare")),
    ModelSettings(
        max_output_tokens=9,
        temperature=0.5,
        top_p=1,
        seed=7,
        stop=("END",),
        tool_choice="tool:weather",
        parallel_tool_calls=False,
        response_schema=ResponseSchema(json_schema={"type": "object"}, description="Weather.", strict=True),
        extra={PROTOCOL: {"safe_prompt": True, "prompt_mode": "reasoning", "reasoning_effort": "high"}},
    ),
)


@pytest.fixture(scope="module")
def official() -> Draft202012Validator:
    """Return the JSON Schema of the SDK's request, closed to fields that it does not know.

    Its types call the schema of an answer by another name than the wire does; the models know both.
    """
    from mistralai.client.models import JSONSchema
    from mistralai.client.models.chatcompletionrequest import ChatCompletionRequestTypedDict

    found = TypeAdapter(ChatCompletionRequestTypedDict).json_schema()
    described, alias = found["$defs"]["JSONSchemaTypedDict"], JSONSchema.model_fields["schema_definition"].alias
    described["properties"][alias] = described["properties"].pop("schema_definition")
    described["required"] = ["name", alias]
    for shape in (found, *found["$defs"].values()):
        if "properties" in shape:
            shape["additionalProperties"] = False
    return Draft202012Validator(found)


def body(model_input: ModelInput, *, stream: bool = False) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(encode(model_input, "m", stream=stream).body)
    return parsed


def wire(message: Message) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(encode_message(message))
    return parsed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "tool:weather"])
def test_the_official_types_accept_a_rich_request(
    official: Draft202012Validator, stream: bool, choice: str | None
) -> None:
    settings = RICH.settings.model_copy(update={"tool_choice": choice})
    request = body(ModelInput(RICH.system, RICH.messages, RICH.tools, settings), stream=stream)
    assert [error.message for error in official.iter_errors(request)] == []


@pytest.mark.parametrize(
    "damage",
    [
        {"role": "user"},
        {"role": "oracle", "content": "x"},
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "assistant", "content": "x", "reasoning_content": "t"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "Jc4AR31Hp", "name": "f", "arguments": "{}"}]},
        {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
    ],
    ids=repr,
)
def test_the_official_types_would_notice_a_damaged_message(
    official: Draft202012Validator, damage: dict[str, Any]
) -> None:
    request = body(RICH)
    request["messages"].append(damage)
    assert not official.is_valid(request)


@pytest.mark.parametrize("damage", [{"max_completion_tokens": 3}, {"seed": 3}, {"stream_options": {}}], ids=repr)
def test_the_official_types_would_notice_the_settings_of_another_protocol(
    official: Draft202012Validator, damage: dict[str, Any]
) -> None:
    assert not official.is_valid(body(RICH) | damage)


def test_the_body_is_compact_utf8_with_messages_last() -> None:
    model_input = ModelInput("Über", (UserMessage(content="日本"),), (ToolSpec(name="f", parameters={}),))
    assert (
        encode(model_input, "m", stream=True).body
        == (
            '{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],'
            '"messages":[{"role":"system","content":"Über"},{"role":"user","content":"日本"}]}'
        ).encode()
    )


def test_a_message_that_was_written_is_not_written_again() -> None:
    messages = (UserMessage(content="为什么"), AssistantMessage(content="so"))
    fragments: IdentityMemo[bytes] = IdentityMemo()
    first = encode(ModelInput("", messages), "m1", known=fragments)
    assert first == encode(ModelInput("", messages), "m1")
    fragments.keep(messages[0], b'{"kept":1}')
    again = encode(ModelInput("", messages), "m1", known=fragments)
    assert json.loads(again.body)["messages"] == [{"kept": 1}, {"role": "assistant", "content": "so"}]


def test_settings_have_mistrals_names() -> None:
    request = body(RICH)
    assert {name: request[name] for name in ("max_tokens", "random_seed", "stop", "safe_prompt")} == {
        "max_tokens": 9,
        "random_seed": 7,
        "stop": ["END"],
        "safe_prompt": True,
    }
    assert request["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "description": "Weather.",
            "schema": {"type": "object"},
            "strict": True,
        },
    }


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "any"),
        ("tool:f", {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_a_tool_choice_has_mistrals_word(choice: str, sent: Any) -> None:
    assert body(ModelInput("", (), settings=ModelSettings(tool_choice=choice)))["tool_choice"] == sent


def test_reasoning_keeps_its_place_among_the_texts_and_goes_back_unchanged() -> None:
    parts = (TextPart(text="a"), THOUGHT, TextPart(text="b"), CITED)
    assert wire(AssistantMessage(content=parts))["content"] == [
        {"type": "text", "text": "a"},
        {
            "type": "thinking",
            "thinking": [{"type": "text", "text": "hm"}],
            "closed": True,
            "signature": "c2ln",
        },
        {"type": "text", "text": "b"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "see"}, REFERENCE]},
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("said", "said"),
        ((TextPart(text="said"),), [{"type": "text", "text": "said"}]),
        ((CALL,), None),
        ((TextPart(text="said"), CALL), "said"),
        ((TextPart(text="a"), CALL, TextPart(text="b")), [{"type": "text", "text": t} for t in "ab"]),
        ((ThinkingPart(text="t", provider="anthropic-messages"), TextPart(text="said"), CALL), "said"),
    ],
    ids=str,
)
def test_an_assistants_content_is_a_text_beside_calls(content: Any, expected: Any) -> None:
    assert wire(AssistantMessage(content=content))["content"] == expected


def test_a_call_keeps_the_text_of_its_arguments_and_an_id_that_is_valid() -> None:
    assert wire(AssistantMessage(content=(CALL,)))["tool_calls"] == [
        {
            "id": "Jc4AR31Hp",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"days": 1.0}'},
        }
    ]


@pytest.mark.parametrize(
    "call_id", ["call_0fypS1hVX", "null", "", "Jc4AR31Hp ", "Jc4AR31H\n", "Jc4AR31Hé", "\ud800"]
)
def test_an_id_that_the_api_refuses_is_rewritten_the_same_way_every_time(call_id: str) -> None:
    assert sendable_id(call_id) != call_id
    assert sendable_id(call_id) == sendable_id(call_id)
    assert sendable_id(call_id) == sendable_id(sendable_id(call_id))


def test_ids_are_rewritten_apart() -> None:
    ids = ["?", "\ud800", "\udfff", *(f"call_{number}" for number in range(2000))]
    assert len(set(map(sendable_id, ids))) == len(ids)


def test_the_order_of_the_history_is_not_changed_to_please_the_api() -> None:
    result, user = ToolMessage(call_id="Jc4AR31Hp", content="x"), UserMessage(content="stop")
    sent = body(ModelInput("", (result, user, user)))["messages"]
    assert [message["role"] for message in sent] == ["tool", "user", "user"]


def test_a_bridge_leads_from_results_to_a_user_where_it_is_asked_for() -> None:
    result, user = ToolMessage(call_id="Jc4AR31Hp", content="x"), UserMessage(content="stop")
    silent, spoken = AssistantMessage(content=()), AssistantMessage(content="y")
    history = (user, result, result, user, user, result, silent, user, result, spoken, user)
    known: IdentityMemo[bytes] = IdentityMemo()
    requests = [
        encode(ModelInput("", history), "m", bridge_results=bridge_results, known=known).body
        for bridge_results in (True, False, True)
    ]
    bridged, plain, again = (json.loads(request)["messages"] for request in requests)
    assert again == bridged
    assert [message["role"] for message in bridged] == [
        *("user", "tool", "tool", "assistant", "user", "user", "tool", "assistant", "user"),
        *("tool", "assistant", "user"),
    ]
    assert [message for message in bridged if message["content"] != BRIDGE] == plain


@pytest.mark.parametrize(
    "content", ["", (), (ThinkingPart(text="t", provider="anthropic-messages"),)], ids=["empty", "none", "foreign"]
)
def test_an_assistant_who_says_nothing_is_left_out(content: Any) -> None:
    said = (UserMessage(content="a"), AssistantMessage(content=content), UserMessage(content="b"))
    assert [message["content"] for message in body(ModelInput("", said))["messages"]] == ["a", "b"]


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(content="x", extra={PROTOCOL: {"role": "system"}}),
        UserMessage(content="x", extra={PROTOCOL: {"content": "other"}}),
        UserMessage(content="x", extra={PROTOCOL: {"name": "ann"}}),
        AssistantMessage(content="x", extra={PROTOCOL: {"tool_calls": []}}),
        ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"tool_call_id": "d"}}),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"text": "y"}}),)),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"type": "text"}}),)),
        UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"type": "file", "file_id": "f"}}),)),
        UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"type": 3}}),)),
        UserMessage(content=(ImagePart(url="u", extra={PROTOCOL: {"image_url": {"url": "v"}}}),)),
        AssistantMessage(
            content=(TextPart(text="", extra={PROTOCOL: {"type": "thinking", "thinking": []}}),),
        ),
        AssistantMessage(content=(ThinkingPart(text="t", provider=PROTOCOL, opaque={"type": "text"}),)),
        AssistantMessage(content=(ThinkingPart(text="t", provider=PROTOCOL, opaque={"thinking": []}),)),
        AssistantMessage(content=(ThinkingPart(provider=PROTOCOL, opaque={"signature": "s"}),)),
        AssistantMessage(content=(CALL.model_copy(update={"extra": {PROTOCOL: {"id": "d"}}}),)),
    ],
    ids=repr,
)
def test_a_field_with_a_place_of_its_own_is_refused(message: Message) -> None:
    with pytest.raises(UnencodableInput):
        encode(ModelInput("", (message,)), "m")


@pytest.mark.parametrize(
    "own",
    [{"messages": []}, {"model": "m2"}, {"stream": True}, {"random_seed": 1}, {"max_tokens": 3}, {"tools": []}],
)
def test_a_request_field_with_a_place_of_its_own_is_refused_as_extra(own: dict[str, Any]) -> None:
    with pytest.raises(UnencodableInput, match="settings"):
        encode(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: own})), "m")


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (ImagePart(), "either a url or data"),
        (ImagePart(url="u", data="QUJD"), "either a url or data"),
        (ImagePart(data="QUJD"), "media type"),
        (FilePart(filename="a.pdf"), "a file_id, a url or data"),
        (FilePart(file_id="f", data="QUJD", media_type="a/b"), "a file_id, a url or data"),
        (FilePart(data="QUJD"), "media type"),
    ],
    ids=repr,
)
def test_a_part_without_a_wire_form_is_refused_by_its_place(part: Any, reason: str) -> None:
    with pytest.raises(UnencodableInput, match=rf"messages\[0\].content\[0\].*{reason}"):
        encode(ModelInput("", (UserMessage(content=(part,)),)), "m")


@pytest.mark.parametrize("choice", ["any", "weather", "TOOL:x"])
def test_an_unknown_tool_choice_is_refused(choice: str) -> None:
    with pytest.raises(UnencodableInput, match="tool_choice"):
        encode(ModelInput("", (), settings=ModelSettings(tool_choice=choice)), "m")
