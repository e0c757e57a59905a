"""The body is what the official SDK's types allow, and nothing in an input can forge another part of it."""

import inspect
import json
import logging
from typing import Any, get_type_hints

import jsonschema
import pytest
from pydantic import TypeAdapter, create_model

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
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.encode import encode
from copyfit_adapters.errors import UnencodableInput

TOOL = ToolSpec(name="get_soil", description="Soil of a plot.", strict=True)
THOUGHT = ThinkingPart(text="Two plots.", provider=PROTOCOL)
PLAN = TextPart(text="I look at both.", extra={PROTOCOL: {"type": "tool_plan"}})
DOCUMENT = TextPart(
    text='{"salt":8.41,"plot":"03"}', extra={PROTOCOL: {"type": "document", "document": {"id": "doc-1"}}}
)
CITATION = {"start": 0, "end": 4, "text": "8.41", "sources": [{"type": "document", "id": "doc-1"}]}
HISTORY: tuple[Message, ...] = (
    UserMessage(
        content=(
            TextPart(text="Compare the plots."),
            ImagePart(data="QUJD", media_type="image/png"),
            ImagePart(url="https://a/b.png", detail="low"),
        )
    ),
    AssistantMessage(
        content=(
            THOUGHT,
            PLAN,
            ToolCall(id="c1", name="get_soil", arguments='{"plot": "03"}'),
            ToolCall(id="c2", name="get_soil", arguments='{"plot": "04"}'),
        )
    ),
    ToolMessage(call_id="c1", content=(TextPart(text="Found."), DOCUMENT)),
    ToolMessage(call_id="c2", content="no such plot", is_error=True),
    AssistantMessage(content="8.41 dS/m in one.", extra={PROTOCOL: {"citations": [CITATION]}}),
    UserMessage(content="And now?"),
)
SETTINGS = ModelSettings(
    max_output_tokens=64,
    temperature=0.5,
    top_p=0.9,
    seed=7,
    stop=("END",),
    tool_choice="required",
    response_schema=ResponseSchema(json_schema={"type": "object", "required": ["salt"]}),
    extra={
        PROTOCOL: {
            "documents": ["Salt is bad.", {"data": {"title": "Soil"}, "id": "d"}],
            "citation_options": {"mode": "FAST"},
            "safety_mode": "STRICT",
            "thinking": {"type": "enabled", "token_budget": 100},
            "k": 5,
            "frequency_penalty": 0.1,
            "logprobs": True,
        }
    },
)
INPUT = ModelInput("Be brief.", HISTORY, (TOOL,), SETTINGS)


def body_of(model_input: ModelInput, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, "m", **options).body)
    return body


def sent(message: Message) -> dict[str, Any]:
    (only,) = body_of(ModelInput("", (message,)))["messages"]
    assert isinstance(only, dict)
    return only


def under(**settings: Any) -> dict[str, Any]:
    return body_of(ModelInput("", HISTORY[:1], settings=ModelSettings(**settings)))


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the JSON Schema of what the official SDK takes for a chat, made strict.

    The SDK's own types let anything through: unknown fields, any word for an enumeration, a part without a type,
    nulls. Here none of that passes, but for `stream`, which the SDK adds itself.
    """
    from cohere.v2.raw_client import RawV2Client

    parameters = inspect.signature(RawV2Client.chat).parameters
    hints = get_type_hints(RawV2Client.chat, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is inspect.Parameter.empty else None)
        for name, parameter in parameters.items()
        if name not in ("self", "request_options")
    }
    found = TypeAdapter(create_model("ChatRequest", **fields)).json_schema()
    found["properties"]["stream"] = {"type": "boolean"}
    strict = _strict(found)
    assert isinstance(strict, dict)
    return strict


def _strict(shape: Any) -> Any:
    if isinstance(shape, list):
        return [_strict(entry) for entry in shape]
    if not isinstance(shape, dict):
        return shape
    found = {name: _strict(entry) for name, entry in shape.items()}
    if isinstance(found.get("anyOf"), list):
        found["anyOf"] = [entry for entry in found["anyOf"] if entry not in ({}, {"type": "null"})]
    if isinstance(found.get("properties"), dict):
        constant = [name for name, entry in found["properties"].items() if "const" in entry]
        found["required"] = [*found.get("required", ()), *constant]
        found["additionalProperties"] = False
    return found


@pytest.mark.parametrize("stream", [True, False])
def test_a_body_with_everything_in_it_is_valid_by_the_official_types(schema: dict[str, Any], stream: bool) -> None:
    jsonschema.validate(body_of(INPUT, stream=stream), schema)


@pytest.mark.parametrize("choice", ["auto", "none", "required", None])
@pytest.mark.parametrize("strict", [True, False, None])
def test_every_choice_of_tools_is_valid_by_the_official_types(
    schema: dict[str, Any], choice: str | None, strict: bool | None
) -> None:
    tools = (TOOL.model_copy(update={"strict": strict}),)
    jsonschema.validate(body_of(ModelInput("", HISTORY, tools, ModelSettings(tool_choice=choice))), schema)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("messages", 1, "content", 0), {"type": "text", "txt": "?"}),
        (("messages", 1, "content", 0), {"text": "without its type"}),
        (("messages", 2, "content", 0, "thinking"), None),
        (("messages", 2, "tool_calls", 0, "function", "arguments"), {"plot": "03"}),
        (("messages", 3, "content", 1, "document", "data"), "salt"),
        (("messages", 4, "is_error"), True),
        (("messages", 5, "citations", 0, "begin"), 0),
        (("tools", 0, "function", "strict"), True),
        (("tool_choice",), "required"),
        (("response_format", "schema"), {}),
        (("top_p",), 0.5),
    ],
)
def test_the_schema_would_tell(schema: dict[str, Any], path: tuple[str | int, ...], wrong: Any) -> None:
    body: Any = body_of(INPUT)
    place = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_the_body_is_compact_with_its_fields_in_a_fixed_order_and_messages_last() -> None:
    settings = ModelSettings(temperature=0.5, top_p=0.9, max_output_tokens=9)
    body = encode(ModelInput("Be brief.", (UserMessage(content="hé"),), (TOOL,), settings), "m", stream=True).body
    assert body.decode() == (
        '{"model":"m","max_tokens":9,"temperature":0.5,"p":0.9,"strict_tools":true,"stream":true,'
        '"tools":[{"type":"function","function":{"name":"get_soil","description":"Soil of a plot.",'
        '"parameters":{"type":"object","properties":{}}}}],'
        '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hé"}]}'
    )


def test_what_the_model_says_has_three_places() -> None:
    assert sent(HISTORY[1]) == {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Two plots."}],
        "tool_plan": "I look at both.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_soil", "arguments": '{"plot": "03"}'}},
            {"id": "c2", "type": "function", "function": {"name": "get_soil", "arguments": '{"plot": "04"}'}},
        ],
    }


def test_text_beside_calls_that_is_no_plan_of_ours_goes_as_content() -> None:
    said = AssistantMessage(content=(TextPart(text="I look."), ToolCall(id="c", name="f")))
    assert sent(said)["content"] == [{"type": "text", "text": "I look."}]
    assert "tool_plan" not in sent(said)


def test_a_document_goes_as_the_object_that_its_text_spells() -> None:
    assert sent(HISTORY[2])["content"][1] == {
        "type": "document",
        "document": {"data": {"salt": 8.41, "plot": "03"}, "id": "doc-1"},
    }


def test_reasoning_of_others_stays_at_home_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    foreign = ThinkingPart(text="psst", provider="openai-chat")
    with caplog.at_level(logging.WARNING, "copyfit.adapters"):
        fields = sent(AssistantMessage(content=(foreign, THOUGHT, TextPart(text="x"))))
    assert [part["type"] for part in fields["content"]] == ["thinking", "text"]
    assert "psst" not in json.dumps(fields)
    assert "openai-chat" in caplog.text


@pytest.mark.parametrize(
    ("wishes", "sent_as"),
    [((None, None), None), ((False, None), False), ((True, False), True), ((None, True), True), ((), None)],
)
def test_all_tools_are_held_to_their_schemas_where_one_is(wishes: tuple[bool | None], sent_as: Any) -> None:
    tools = tuple(ToolSpec(name=f"f{index}", strict=wish) for index, wish in enumerate(wishes))
    assert body_of(ModelInput("", (), tools)).get("strict_tools") == sent_as


@pytest.mark.parametrize(("choice", "word"), [("none", "NONE"), ("required", "REQUIRED"), ("auto", None)])
def test_a_choice_among_tools_has_the_protocols_word(choice: str, word: str | None) -> None:
    assert under(tool_choice=choice).get("tool_choice") == word


@pytest.mark.parametrize(
    ("message", "where"),
    [
        (UserMessage(content=(ImagePart(),)), "messages[0].content[0]"),
        (UserMessage(content=(ImagePart(url="https://a", data="QQ=="),)), "messages[0].content[0]"),
        (UserMessage(content=(ImagePart(data="QQ=="),)), "messages[0].content[0]"),
        (UserMessage(content=(TextPart(text="x"), FilePart(file_id="f"))), "messages[0].content[1]"),
        (ToolMessage(call_id="c", content=(ImagePart(url="https://a/b.png"),)), "messages[0].content[0]"),
        (AssistantMessage(content=(ImagePart(url="https://a/b.png"),)), "messages[0].content[0]"),
        (UserMessage(content=(PLAN,)), "messages[0].content[0]"),
        (ToolMessage(call_id="c", content=(DOCUMENT.model_copy(update={"text": "salt"}),)), "messages[0]"),
        (AssistantMessage(content=(THOUGHT.model_copy(update={"opaque": {"type": "text"}}),)), "messages[0]"),
        (UserMessage(content="x", extra={PROTOCOL: {"role": "system"}}), "messages[0]"),
        (UserMessage(content="x", extra={PROTOCOL: {"content": "y"}}), "messages[0]"),
        (AssistantMessage(content="x", extra={PROTOCOL: {"tool_plan": "y"}}), "messages[0]"),
        (AssistantMessage(content="x", extra={PROTOCOL: {"tool_calls": []}}), "messages[0]"),
        (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"tool_call_id": "d"}}), "messages[0]"),
        (
            UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"type": "thinking", "thinking": "y"}}),)),
            "messages[0].content[0]",
        ),
        (
            UserMessage(
                content=(TextPart(text="", extra={PROTOCOL: {"type": "image_url", "image_url": {"url": "u"}}}),)
            ),
            "messages[0].content[0]",
        ),
        (
            ToolMessage(
                call_id="c",
                content=(
                    TextPart(text="{}", extra={PROTOCOL: {"type": "document", "document": {"data": {"a": 1}}}}),
                ),
            ),
            "messages[0].content[0]",
        ),
        (
            AssistantMessage(content=(ToolCall(id="c", name="f", extra={PROTOCOL: {"function": {"name": "g"}}}),)),
            "messages[0].tool_calls[0]",
        ),
    ],
)
def test_what_has_no_form_or_would_be_forged_is_refused_by_its_place(message: Message, where: str) -> None:
    with pytest.raises(UnencodableInput) as caught:
        encode(ModelInput("", (message,)), "m")
    assert caught.value.where.startswith(where)


@pytest.mark.parametrize(
    "own", [{"model": "n"}, {"messages": []}, {"stream": True}, {"temperature": 1.0}, {"tool_choice": "NONE"}]
)
def test_settings_cannot_be_forged(own: dict[str, Any]) -> None:
    with pytest.raises(UnencodableInput):
        under(extra={PROTOCOL: own})


@pytest.mark.parametrize("own", [{"tools": []}, {"strict_tools": True}])
def test_tools_cannot_be_forged_beside_tools(own: dict[str, Any]) -> None:
    with pytest.raises(UnencodableInput):
        encode(ModelInput("", (), (ToolSpec(name="f"),), ModelSettings(extra={PROTOCOL: own})), "m")


def test_a_single_tool_cannot_be_demanded_and_the_error_names_the_way_out() -> None:
    with pytest.raises(UnencodableInput, match="offer it alone, with 'required'"):
        under(tool_choice="tool:get_soil")
    with pytest.raises(UnencodableInput, match="'any' is none of"):
        under(tool_choice="any")


def test_a_known_message_is_not_written_again() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    first = encode(INPUT, "m", known=known).body
    known.keep(HISTORY[0], b'{"kept":1}')
    assert encode(INPUT, "m", known=IdentityMemo()).body == first
    assert b'{"kept":1}' in encode(INPUT, "m", known=known).body


def test_what_says_nothing_is_no_message_of_the_assistant() -> None:
    call = ToolCall(id="c", name="f", arguments="{}")
    said = (
        AssistantMessage(content=""),
        AssistantMessage(content=()),
        AssistantMessage(content=(TextPart(text=""),)),
        AssistantMessage(content=(ThinkingPart(text="hm", provider="anthropic-messages"), TextPart(text=""))),
    )
    told = (
        AssistantMessage(content=(call,)),
        AssistantMessage(content=(ThinkingPart(text="hm", provider=PROTOCOL),)),
        AssistantMessage(content="", extra={PROTOCOL: {"citations": [1]}}),
        ToolMessage(call_id="c", content=""),
    )
    asked = UserMessage(content="go on")
    sent = json.loads(encode(ModelInput("", (asked, *said, *told, *said[:1], asked)), "m").body)["messages"]
    assert [message["role"] for message in sent] == ["user", *["assistant"] * 3, "tool", "user"]
