"""The bytes of a request: Google's own types accept them, and every rule of the format holds."""

import base64
import json
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from copyfit.errors import BadRequest
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
from copyfit_adapters.gemini.dialect import DEVELOPER, PROTOCOL, VERTEX, Dialect
from copyfit_adapters.gemini.encode import encode, encode_message

SIGNED = {PROTOCOL: {"thoughtSignature": "c2lnbmVk"}}
CALL = ToolCall(id="call_1", name="weather", arguments='{"days": 1.0}', extra=SIGNED)
SECOND = ToolCall(id="call_2", name="weather", arguments="{}")
WEATHER = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={"type": "object", "properties": {"days": {"type": ["number", "null"]}}},
    strict=True,
    extra={PROTOCOL: {"responseJsonSchema": {"type": "string"}}},
)
RICH = ModelInput(
    "You tell the weather.",
    (
        UserMessage(content="Oslo?", name="ann"),
        AssistantMessage(
            content=(
                ThinkingPart(text="hm", signature="c2lnbmVk", provider=PROTOCOL),
                TextPart(text="Looking.", extra=SIGNED),
                CALL,
                SECOND,
            )
        ),
        ToolMessage(call_id="call_1", content="no such place", is_error=True),
        ToolMessage(
            call_id="call_2", content=(TextPart(text="sunny"), ImagePart(data="QUJD", media_type="image/png"))
        ),
        UserMessage(
            content=(
                TextPart(text="And this?"),
                ImagePart(url="https://host/a.png", media_type="image/png", detail="low"),
                FilePart(file_id="files/abc", media_type="text/plain"),
                FilePart(
                    data="QUJD",
                    media_type="video/mp4",
                    filename="a.mp4",
                    extra={PROTOCOL: {"videoMetadata": {"fps": 1.0}}},
                ),
            )
        ),
        AssistantMessage(
            content=(
                TextPart(
                    text="", extra={PROTOCOL: {"part": {"executableCode": {"code": "1", "language": "PYTHON"}}}}
                ),
                TextPart(text="", extra={PROTOCOL: {"part": {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}}}),
                TextPart(text="", extra=SIGNED),
            )
        ),
    ),
    (WEATHER, ToolSpec(name="bare")),
    ModelSettings(
        max_output_tokens=9,
        temperature=0.5,
        top_p=1,
        seed=7,
        stop=("END",),
        tool_choice="tool:weather",
        parallel_tool_calls=False,
        response_schema=ResponseSchema(json_schema={"type": "object"}),
        extra={
            PROTOCOL: {
                "tools": [{"googleSearch": {}}],
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
                "cachedContent": "cachedContents/x",
                "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingBudget": 5}},
                "toolConfig": {"retrievalConfig": {"languageCode": "en"}},
            }
        },
    ),
)
PIECES = {
    "systemInstruction": "Content",
    "generationConfig": "GenerationConfig",
    "toolConfig": "ToolConfig",
    "tools": "Tool",
    "contents": "Content",
    "safetySettings": "SafetySetting",
}
"""Each field of the request and the name of its type in `google.genai.types`, of one entry where it is a list."""


@cache
def official(name: str) -> Draft202012Validator:
    from google.genai import types

    schema = TypeAdapter(getattr(types, name)).json_schema(by_alias=True)
    return Draft202012Validator(schema)


def faults(request: dict[str, Any]) -> list[str]:
    """Return what Google's own types have against a request body."""
    unknown = [name for name in request if name not in {*PIECES, "cachedContent"}]
    given = {name: request.get(name, []) for name in PIECES}
    entries = [
        (kind, entry)
        for name, kind in PIECES.items()
        for entry in (given[name] if isinstance(given[name], list) else [given[name]])
    ]
    found = [error.message for kind, entry in entries for error in official(kind).iter_errors(entry)]
    return unknown + found


def body(model_input: ModelInput, dialect: Dialect = DEVELOPER) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(encode(model_input, "m", dialect=dialect).body)
    return parsed


def wire(message: Message, dialect: Dialect = DEVELOPER) -> list[Any]:
    return list(json.loads(b"[" + encode_message(message, dialect=dialect) + b"]"))


@pytest.mark.parametrize("dialect", [DEVELOPER, VERTEX])
@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "tool:weather"])
def test_the_official_types_accept_a_rich_request(choice: str | None, dialect: Dialect) -> None:
    settings = RICH.settings.model_copy(update={"tool_choice": choice})
    assert faults(body(ModelInput(RICH.system, RICH.messages, RICH.tools, settings), dialect)) == []


@pytest.mark.parametrize(
    "damage",
    [
        {"contents": [{"role": "user", "parts": [{"words": "x"}]}]},
        {"contents": [{"role": "user", "parts": [{"functionCall": {"args": []}}]}]},
        {"generationConfig": {"maxTokens": 3}},
        {"toolConfig": {"functionCallingConfig": {"mode": "MAYBE"}}},
        {"tools": [{"functionDeclarations": [{"schema": {}}]}]},
        {"messages": []},
    ],
    ids=str,
)
def test_the_official_types_would_notice_a_damaged_request(damage: dict[str, Any]) -> None:
    assert faults(body(RICH) | damage) != []


def test_the_body_is_compact_utf8_with_contents_last() -> None:
    model_input = ModelInput(
        "Über",
        (UserMessage(content="日本"),),
        (ToolSpec(name="f", parameters={"type": "object"}),),
        ModelSettings(seed=1, tool_choice="required"),
    )
    assert (
        encode(model_input, "m").body
        == (
            '{"generationConfig":{"seed":1},"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},'
            '"systemInstruction":{"parts":[{"text":"Über"}]},'
            '"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}],'
            '"contents":[{"role":"user","parts":[{"text":"日本"}]}]}'
        ).encode()
    )


def test_an_input_without_anything_is_a_request_without_contents() -> None:
    assert encode(ModelInput("", ()), "m").body == b'{"contents":[]}'


@pytest.mark.parametrize("model", ["gemini-x", "models/gemini-x"])
def test_model_and_way_of_answering_stand_in_the_path(model: str) -> None:
    asked = ModelInput("", ())
    assert encode(asked, model).path == "/models/gemini-x:generateContent"
    assert encode(asked, model, stream=True).path == "/models/gemini-x:streamGenerateContent?alt=sse"
    assert encode(asked, "a/../b?c").path == "/models/a%2F..%2Fb%3Fc:generateContent"


def test_a_message_that_was_written_is_not_written_again_and_makes_the_same_body() -> None:
    messages = (UserMessage(content="为什么"), AssistantMessage(content="so"))
    fragments: IdentityMemo[bytes] = IdentityMemo()
    first = encode(ModelInput("", messages), "m", known=fragments)
    assert first == encode(ModelInput("", messages), "m")
    assert [fragments.get(message) for message in messages] == [encode_message(message) for message in messages]
    fragments.keep(messages[0], b'{"kept":1}')
    longer = encode(ModelInput("", (*messages, messages[0])), "m", known=fragments)
    assert [content["parts"] for content in json.loads(longer.body)["contents"]] == [
        [{"kept": 1}],
        [{"text": "so"}],
        [{"kept": 1}],
    ]


def test_a_result_without_a_name_is_never_remembered_for_its_bytes_depend_on_its_call() -> None:
    result = ToolMessage(call_id="c", content="x")
    fragments: IdentityMemo[bytes] = IdentityMemo()
    for name in ("first", "second"):
        call = AssistantMessage(content=(ToolCall(id="c", name=name),))
        sent = json.loads(encode(ModelInput("", (call, result)), "m", known=fragments).body)
        assert sent["contents"][1]["parts"][0]["functionResponse"]["name"] == name
    assert fragments.get(result) is None


def test_results_of_parallel_calls_and_what_the_user_says_after_them_are_one_content() -> None:
    results = [content for content in body(RICH)["contents"] if "functionResponse" in content["parts"][0]]
    (content,) = results
    assert content["role"] == "user"
    assert content["parts"][:3] == [
        {"functionResponse": {"id": "call_1", "name": "weather", "response": {"error": "no such place"}}},
        {
            "functionResponse": {
                "id": "call_2",
                "name": "weather",
                "response": {"output": "sunny"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "QUJD"}}],
            }
        },
        {"text": "And this?"},
    ]


def test_a_message_with_fields_of_its_own_is_a_content_of_its_own() -> None:
    noted = UserMessage(content="b", extra={PROTOCOL: {"x_note": 1}})
    messages = (UserMessage(content="a"), noted, UserMessage(content="c"), UserMessage(content="d"))
    assert body(ModelInput("", messages))["contents"] == [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "user", "parts": [{"text": "b"}], "x_note": 1},
        {"role": "user", "parts": [{"text": "c"}, {"text": "d"}]},
    ]


def test_vertex_gets_no_ids_and_its_results_in_the_order_of_the_calls() -> None:
    messages = (
        AssistantMessage(content=(CALL, SECOND)),
        ToolMessage(call_id="call_2", content="two"),
        ToolMessage(call_id="call_1", content="one"),
    )
    called, answered = body(ModelInput("", messages), VERTEX)["contents"]
    assert [sorted(part["functionCall"]) for part in called["parts"]] == [["args", "name"]] * 2
    assert [part["functionResponse"] for part in answered["parts"]] == [
        {"name": "weather", "response": {"output": text}} for text in ("one", "two")
    ]


@pytest.mark.parametrize("dialect", [DEVELOPER, VERTEX])
def test_calls_that_another_model_made_are_signed_as_google_documents(dialect: Dialect) -> None:
    unsigned = ToolCall(id="call_1", name="weather")
    messages = (
        AssistantMessage(content=(TextPart(text="Let me look."), unsigned, SECOND)),
        ToolMessage(call_id="call_1", name="weather", content="one"),
        AssistantMessage(content=(CALL, SECOND)),
        UserMessage(content="go on"),
        AssistantMessage(content=(unsigned, CALL)),
    )
    contents = body(ModelInput("", messages), dialect)["contents"]
    skip = base64.b64encode(b"skip_thought_signature_validator").decode()
    signatures = [[part.get("thoughtSignature") for part in content["parts"]] for content in contents]
    assert signatures == [[None, skip, None], [None], ["c2lnbmVk", None], [None], [skip, "c2lnbmVk"]]


def test_signatures_go_back_on_the_part_that_they_came_on() -> None:
    model_parts = body(RICH)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in model_parts] == ["c2lnbmVk", "c2lnbmVk", "c2lnbmVk", None]
    assert model_parts[0]["thought"] is True
    assert body(RICH)["contents"][3]["parts"][-1] == {"text": "", "thoughtSignature": "c2lnbmVk"}


def test_reasoning_of_another_protocol_stays_at_home_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    foreign = AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="said")))
    assert body(ModelInput("", (foreign,)))["contents"] == [{"role": "model", "parts": [{"text": "said"}]}]
    assert "openai-chat" in caplog.text


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(content="x", extra={PROTOCOL: {"role": "model"}}),
        UserMessage(content="x", extra={PROTOCOL: {"parts": []}}),
        ToolMessage(call_id="c", name="f", content="x", extra={PROTOCOL: {"message": {"role": "model"}}}),
        ToolMessage(call_id="c", name="f", content="x", extra={PROTOCOL: {"functionResponse": {"name": "g"}}}),
        ToolMessage(call_id="c", name="f", content="x", extra={PROTOCOL: {"response_field": None}}),
        ToolMessage(call_id="c", name="f", content="x", extra={PROTOCOL: {"response_field": "output"}}),
        ToolMessage(call_id="c", name="f", content="x", is_error=True, extra={PROTOCOL: {"response_field": "r"}}),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"text": "y"}}),)),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"thought": True}}),)),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"functionCall": {"name": "f"}}}),)),
        UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"part": {"text": "y"}}}),)),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"part": {"toolCall": {}}}}),)),
        UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"part": 5}}),)),
        UserMessage(content=(ImagePart(url="u:", extra={PROTOCOL: {"fileData": {"fileUri": "v:"}}}),)),
        AssistantMessage(content=(ToolCall(id="c", name="f", extra={PROTOCOL: {"functionCall": {"id": "d"}}}),)),
        AssistantMessage(content=(ThinkingPart(provider=PROTOCOL, opaque={"thought": True, "text": "t"}),)),
    ],
    ids=repr,
)
def test_an_extra_field_with_a_place_of_its_own_is_refused(message: Message) -> None:
    with pytest.raises(UnencodableInput):
        encode(ModelInput("", (message,)), "m")


@pytest.mark.parametrize(
    "own",
    [
        {"contents": []},
        {"model": "m2"},
        {"systemInstruction": {"parts": [{"text": "x"}]}},
        {"generationConfig": {"maxOutputTokens": 3}},
        {"generationConfig": []},
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        {"tools": {"googleSearch": {}}},
        {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
    ],
    ids=str,
)
def test_a_request_field_with_a_place_of_its_own_is_refused_as_extra(own: dict[str, Any]) -> None:
    with pytest.raises(UnencodableInput, match="settings"):
        encode(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: own})), "m")


def test_an_extra_setting_in_snake_case_is_refused_with_what_to_do() -> None:
    own = {"generationConfig": {"thinkingConfig": {"include_thoughts": True}}}
    with pytest.raises(UnencodableInput, match="camelCase"):
        encode(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: own})), "m")


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (ImagePart(), "either a url or data"),
        (ImagePart(url="u", data="QUJD", media_type="image/png"), "either a url or data"),
        (ImagePart(data="QUJD"), "media type"),
        (FilePart(filename="a.pdf"), "a file_id, a url or data"),
        (FilePart(url="https://a", file_id="b"), "a file_id, a url or data"),
    ],
    ids=repr,
)
def test_a_part_without_a_wire_form_is_refused_before_anything_is_sent(part: Any, reason: str) -> None:
    with pytest.raises(BadRequest, match=rf"messages\[0\].content\[0\].*{reason}"):
        encode(ModelInput("", (UserMessage(content=(part,)),)), "m")


def test_a_result_without_a_name_and_without_its_call_is_refused() -> None:
    with pytest.raises(UnencodableInput, match=r"messages\[0\].*no name"):
        encode(ModelInput("", (ToolMessage(call_id="c", content="x"),)), "m")


@pytest.mark.parametrize("choice", ["weather", "tool", "TOOL:x"])
def test_an_unknown_tool_choice_is_refused(choice: str) -> None:
    with pytest.raises(UnencodableInput, match="tool_choice"):
        encode(ModelInput("", (), settings=ModelSettings(tool_choice=choice)), "m")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"], ids=repr)
def test_a_value_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(UnencodableInput, match=r"messages\[0\]"):
        encode(ModelInput("", (UserMessage(content="x", extra={PROTOCOL: {"x": value}}),)), "m")
