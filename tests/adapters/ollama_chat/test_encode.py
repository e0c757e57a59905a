"""The body is what the official client's types allow, and nothing in an input can forge another part of it."""

import json
from typing import Any

import jsonschema
import pytest
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
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.encode import encode

PARAMETERS = {"type": "object", "properties": {"plot": {"type": "string"}}, "required": ["plot"]}
TOOL = ToolSpec(name="get_soil", description="Soil of a plot.", parameters=PARAMETERS, strict=True)
HISTORY: tuple[Message, ...] = (
    UserMessage(content=(TextPart(text="Compare the plots."), ImagePart(data="QUJD", media_type="image/png"))),
    AssistantMessage(
        content=(
            ThinkingPart(text="Two plots.", provider=PROTOCOL),
            TextPart(text="I look."),
            ToolCall(id="c1", name="get_soil", arguments='{"plot": "03"}'),
            ToolCall(id="c2", name="get_water", arguments='{"plot": "04"}'),
        )
    ),
    ToolMessage(call_id="c1", name="get_soil", content="8.41 dS/m"),
    ToolMessage(call_id="c2", content="no such plot", is_error=True),
    UserMessage(content="And now?"),
)
INPUT = ModelInput(
    "Be brief.",
    HISTORY,
    (TOOL,),
    ModelSettings(
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        stop=("END",),
        response_schema=ResponseSchema(json_schema={"type": "object"}),
        extra={PROTOCOL: {"keep_alive": "5m", "think": "high", "options": {"top_k": 20}}},
    ),
)


def body_of(model_input: ModelInput, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, "m", **options).body)
    return body


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the official client's request, closed to fields that it does not know.

    The ids of calls and results and the overflow switches are the server's (api/types.go); the client of 0.6 has
    not learned them. Its images are what it takes from its user; on the wire they are base64.
    """
    from ollama._types import ChatRequest, Message

    found = TypeAdapter(ChatRequest).json_schema(mode="validation")
    shapes = found["$defs"] | {"Message": TypeAdapter(Message).json_schema()}
    found["properties"] |= {"truncate": {"type": "boolean"}, "shift": {"type": "boolean"}}
    found["properties"]["messages"] = {"type": "array", "items": {"$ref": "#/$defs/Message"}}
    found["$defs"]["Message"]["properties"] |= {
        "tool_call_id": {"type": "string"},
        "images": {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}},
    }
    found["$defs"]["ToolCall"]["properties"]["id"] = {"type": "string"}
    found["properties"]["options"] = {"$ref": "#/$defs/Options"}
    assert {"Message", "ToolCall", "Options", "Tool"} <= shapes.keys()
    for shape in (found, *found["$defs"].values()):
        if "properties" in shape:
            shape["additionalProperties"] = False
    return found


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("num_ctx", [None, 8192])
def test_a_body_with_everything_in_it_is_valid_by_the_official_types(
    schema: dict[str, Any], stream: bool, num_ctx: int | None
) -> None:
    jsonschema.validate(body_of(INPUT, stream=stream, num_ctx=num_ctx), schema)


def test_the_body_holds_every_field_of_the_official_types_that_an_input_can_fill(schema: dict[str, Any]) -> None:
    body = body_of(INPUT, num_ctx=8192)
    assert schema["properties"].keys() - body.keys() == {"logprobs", "top_logprobs"}
    said = set().union(*(message.keys() for message in body["messages"]))
    assert said == schema["$defs"]["Message"]["properties"].keys()


FAULTS: dict[str, Any] = {
    "a field of a message": lambda body: body["messages"][1].update(txt="?"),
    "no role": lambda body: body["messages"][1].pop("role"),
    "content as parts": lambda body: body["messages"][1].update(content=[{"type": "text", "text": "x"}]),
    "arguments as text": lambda body: body["messages"][2]["tool_calls"][0]["function"].update(arguments="{}"),
    "an option": lambda body: body["options"].update(max_tokens=1),
    "a cap as text": lambda body: body["options"].update(num_predict="9 tokens"),
    "a field of a tool": lambda body: body["tools"][0]["function"].update(strict=True),
    "a field of the request": lambda body: body.update(tool_choice="auto"),
    "a format": lambda body: body.update(format="yaml"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_the_schema_would_tell(schema: dict[str, Any], fault: Any) -> None:
    body = body_of(INPUT)
    jsonschema.validate(body, schema)
    fault(body)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_each_kind_of_part_has_its_field_and_results_name_their_tool() -> None:
    assert body_of(INPUT)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Compare the plots.", "images": ["QUJD"]},
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "Two plots.",
            "tool_calls": [
                {"id": "c1", "function": {"name": "get_soil", "arguments": {"plot": "03"}}},
                {"id": "c2", "function": {"name": "get_water", "arguments": {"plot": "04"}}},
            ],
        },
        {"role": "tool", "content": "8.41 dS/m", "tool_name": "get_soil", "tool_call_id": "c1"},
        {"role": "tool", "content": "no such plot", "tool_name": "get_water", "tool_call_id": "c2"},
        {"role": "user", "content": "And now?"},
    ]


def test_settings_travel_as_options_and_the_whole_answer_is_asked_for() -> None:
    body = body_of(INPUT, num_ctx=8192)
    assert list(body) == [
        "model", "options", "format", "keep_alive", "think", "stream", "truncate", "shift", "tools", "messages",
    ]  # fmt: skip
    sampling = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"], "top_k": 20}
    assert body["options"] == {"num_predict": 9, "num_ctx": 8192} | sampling
    assert body["format"] == {"type": "object"}
    assert body["stream"] is False
    assert body_of(INPUT, stream=True)["stream"] is True


@pytest.mark.parametrize(
    ("said", "may_cut", "sent"),
    [
        ({}, False, {"truncate": False, "shift": False}),
        ({}, True, {}),
        ({"shift": False}, True, {"shift": False}),
        ({"truncate": True}, False, {"truncate": True, "shift": False}),
    ],
)
def test_an_input_may_say_itself_whether_it_is_cut(said: Any, may_cut: bool, sent: Any) -> None:
    body = body_of(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: said})), may_cut=may_cut)
    assert {name: value for name, value in body.items() if name in ("truncate", "shift")} == sent


def test_reasoning_of_others_stays_at_home() -> None:
    foreign = ThinkingPart(text="psst", provider="openai-chat")
    (message,) = body_of(ModelInput("", (AssistantMessage(content=(foreign, TextPart(text="x"))),)))["messages"]
    assert message == {"role": "assistant", "content": "x"}


def test_known_fragments_make_the_same_body() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    for _ in range(2):
        assert body_of(INPUT, known=known) == body_of(INPUT)
    assert len(known) == len(HISTORY) - 1


def test_a_result_without_a_name_is_written_anew_beside_another_call() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    result = ToolMessage(call_id="c1", content="x")
    names = []
    for tool in ("f", "g"):
        call = AssistantMessage(content=(ToolCall(id="c1", name=tool),))
        names.append(body_of(ModelInput("", (call, result)), known=known)["messages"][1]["tool_name"])
    assert names == ["f", "g"]
    assert "tool_name" not in body_of(ModelInput("", (result,)), known=known)["messages"][0]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1.0}', {"a": 1.0}),
        ("", {}),
        ('{"a": ', {"malformed_arguments": '{"a": '}),
        ("[1]", {"malformed_arguments": "[1]"}),
    ],
)
def test_arguments_travel_as_an_object_whatever_they_are(arguments: str, sent: dict[str, Any]) -> None:
    said = AssistantMessage(content=(ToolCall(id="c", name="f", arguments=arguments),))
    (message,) = body_of(ModelInput("", (said,)))["messages"]
    assert message["tool_calls"][0]["function"]["arguments"] == sent


def user(*parts: Any, **fields: Any) -> ModelInput:
    return ModelInput("", (UserMessage(content=parts or "x", **fields),))


def setting(**own: Any) -> ModelInput:
    return ModelInput("", (), (TOOL,), ModelSettings(seed=1, extra={PROTOCOL: own}))


REFUSED: dict[str, ModelInput] = {
    "a role from extra": user(extra={PROTOCOL: {"role": "assistant"}}),
    "content from extra": user(extra={PROTOCOL: {"content": "y"}}),
    "images from extra": user(extra={PROTOCOL: {"images": ["QUJD"]}}),
    "reasoning from extra": ModelInput("", (AssistantMessage(content="x", extra={PROTOCOL: {"thinking": "t"}}),)),
    "calls from extra": ModelInput(
        "",
        (
            AssistantMessage(
                content="x",
                extra={PROTOCOL: {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {}}}]}},
            ),
        ),
    ),
    "a call id from extra": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"tool_call_id": "d"}}),)
    ),
    "a tool's name from extra": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"tool_name": "f"}}),)
    ),
    "a text with fields": user(TextPart(text="x", extra={PROTOCOL: {"a": 1}})),
    "an image with fields": user(ImagePart(data="QUJD", extra={PROTOCOL: {"a": 1}})),
    "other messages": setting(messages=[]),
    "another model": setting(model="x"),
    "tools from extra": setting(tools=[{}]),
    "an option from extra": setting(options={"seed": 2}),
    "options that are none": setting(options=3),
    "a window in the input": setting(options={"num_ctx": 4096}),
    "a file": user(FilePart(file_id="f")),
    "an image without data": user(ImagePart()),
    "an image by url": user(ImagePart(url="https://a/b.png")),
    "an image of two places": user(ImagePart(url="https://a/b.png", data="QUJD")),
    "a number that JSON lacks": user(extra={PROTOCOL: {"weight": float("inf")}}),
}


@pytest.mark.parametrize("model_input", REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_form_or_another_place_is_refused(model_input: ModelInput) -> None:
    with pytest.raises(UnencodableInput):
        encode(model_input, "m", num_ctx=8)


def test_what_is_refused_is_named() -> None:
    with pytest.raises(UnencodableInput, match=r"messages\[0\]\.content\[1\]: .*fetch") as caught:
        encode(user(TextPart(text="x"), ImagePart(url="https://a/b.png")), "m")
    assert caught.value.where == "messages[0].content[1]"
