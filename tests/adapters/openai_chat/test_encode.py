"""The bytes of a request: OpenAI's own schema accepts them, and every rule of the format holds."""

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
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.errors import UnencodableInput
from copyfit_adapters.openai_chat.dialect import COMPATIBLE, OPENAI, PROTOCOL, THINKING_FIELDS, Dialect
from copyfit_adapters.openai_chat.encode import encode, encode_message

CALL = ToolCall(id="call_1", name="weather", arguments='{"days": 1.0}')
WEATHER = ToolSpec(name="weather", description="Tell the weather.", strict=True)
RICH = ModelInput(
    "You tell the weather.",
    (
        UserMessage(content="Oslo?", name="ann"),
        AssistantMessage(content="Just a moment."),
        AssistantMessage(
            content=(ThinkingPart(text="hm", provider=PROTOCOL), TextPart(text="Looking."), CALL, CALL)
        ),
        ToolMessage(call_id="call_1", content="sunny", is_error=True),
        ToolMessage(call_id="call_1", content=(TextPart(text="a"), TextPart(text="b"))),
        AssistantMessage(content=(TextPart(text="one"), TextPart(text="two"))),
        AssistantMessage(content=(CALL,)),
        UserMessage(
            content=(
                TextPart(text="And this?"),
                ImagePart(url="https://host/a.png", detail="low"),
                ImagePart(data="QUJD", media_type="image/png"),
                FilePart(file_id="file-1"),
                FilePart(data="QUJD", media_type="application/pdf", filename="a.pdf"),
                TextPart(
                    text="",
                    extra={PROTOCOL: {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}},
                ),
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
        extra={PROTOCOL: {"reasoning_effort": "low"}},
    ),
)


@cache
def official() -> Draft202012Validator:
    from openai.types.chat.completion_create_params import CompletionCreateParams

    return Draft202012Validator(TypeAdapter(CompletionCreateParams).json_schema())


def body(model_input: ModelInput, *, stream: bool = False, dialect: Dialect | None = None) -> dict[str, Any]:
    request = encode(model_input, "gpt-x", stream=stream, dialect=dialect or Dialect())
    parsed: dict[str, Any] = json.loads(request.body)
    return parsed


def wire(message: Message) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(encode_message(message))
    return parsed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", [None, "auto", "none", "required", "tool:weather"])
def test_the_official_schema_accepts_a_rich_request(stream: bool, choice: str | None) -> None:
    settings = RICH.settings.model_copy(update={"tool_choice": choice})
    request = body(ModelInput(RICH.system, RICH.messages, RICH.tools, settings), stream=stream)
    assert [error.message for error in official().iter_errors(request)] == []


@pytest.mark.parametrize(
    "damage", [{"role": "user"}, {"role": "oracle", "content": "x"}, {"role": "user", "content": 3}]
)
def test_the_official_schema_would_notice_a_damaged_message(damage: dict[str, Any]) -> None:
    request = body(RICH)
    request["messages"].append(damage)
    assert not official().is_valid(request)


def test_the_body_is_compact_utf8_with_messages_last() -> None:
    model_input = ModelInput("Über", (UserMessage(content="日本"),), (ToolSpec(name="f", parameters={}),))
    assert (
        encode(model_input, "m", stream=True).body
        == (
            '{"model":"m","stream":true,"stream_options":{"include_usage":true},'
            '"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],'
            '"messages":[{"role":"system","content":"Über"},{"role":"user","content":"日本"}]}'
        ).encode()
    )


def test_a_lone_surrogate_is_escaped_in_its_own_message_only() -> None:
    model_input = ModelInput("", (UserMessage(content="é\ud800"), UserMessage(content="é")))
    sent = encode(model_input, "m").body
    assert b'"content":"\\u00e9\\ud800"' in sent
    assert '"content":"é"'.encode() in sent


def test_a_message_that_was_written_is_not_written_again_and_makes_the_same_body() -> None:
    messages = (UserMessage(content="为什么"), AssistantMessage(content="so"))
    fragments: IdentityMemo[bytes] = IdentityMemo()
    first = encode(ModelInput("", messages), "m1", known=fragments)
    assert first == encode(ModelInput("", messages), "m1")
    assert [fragments.get(message) for message in messages] == [encode_message(message) for message in messages]
    fragments.keep(messages[0], b'{"kept":1}')
    longer = encode(ModelInput("", (*messages, messages[0])), "m1", known=fragments)
    assert json.loads(longer.body)["messages"] == [
        {"kept": 1},
        {"role": "assistant", "content": "so"},
        {"kept": 1},
    ]


def test_an_input_without_messages_has_an_empty_list() -> None:
    assert encode(ModelInput("", ()), "m1").body == b'{"model":"m1","messages":[]}'


def test_an_empty_system_text_is_no_message() -> None:
    assert body(ModelInput("", ()))["messages"] == []


@pytest.mark.parametrize(
    ("dialect", "field"), [(Dialect(), "max_completion_tokens"), (COMPATIBLE, "max_tokens")], ids=str
)
def test_the_output_cap_has_the_name_that_the_server_knows(dialect: Dialect, field: str) -> None:
    request = body(RICH, dialect=dialect)
    assert {name for name in request if name.startswith("max_")} == {field}


def test_the_dialect_chooses_the_role_of_the_system_text_and_whether_usage_is_asked_for() -> None:
    request = body(RICH, stream=True, dialect=Dialect(system_role="developer", include_usage=False))
    assert request["messages"][0] == {"role": "developer", "content": "You tell the weather."}
    assert request["stream"] is True
    assert "stream_options" not in request


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("said", "said"),
        ((TextPart(text="said"),), [{"type": "text", "text": "said"}]),
        ((CALL,), None),
        ((TextPart(text="said"), CALL), "said"),
        ((TextPart(text="a"), CALL, TextPart(text="b")), [{"type": "text", "text": t} for t in "ab"]),
        ((ThinkingPart(text="t", provider=PROTOCOL), TextPart(text="said")), "said"),
        ((ThinkingPart(text="t", provider="anthropic-messages"),), ""),
        ((ThinkingPart(text="cut off", provider=PROTOCOL),), ""),
        ((), ""),
    ],
    ids=str,
)
def test_an_assistants_content_takes_the_form_that_servers_expect(content: Any, expected: Any) -> None:
    assert wire(AssistantMessage(content=content))["content"] == expected


def test_the_arguments_of_a_call_keep_their_exact_text() -> None:
    call = wire(AssistantMessage(content=(CALL,)))["tool_calls"][0]
    assert call == {
        "id": "call_1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"days": 1.0}'},
    }


@pytest.mark.parametrize(
    ("opaque", "field"),
    [({}, "reasoning_content"), ({"field": "reasoning"}, "reasoning"), ({"field": "role"}, "reasoning_content")],
    ids=str,
)
def test_own_reasoning_goes_back_in_the_field_it_came_in(opaque: dict[str, Any], field: str) -> None:
    message = AssistantMessage(content=(ThinkingPart(text="why", provider=PROTOCOL, opaque=opaque),))
    assert wire(message) == {"role": "assistant", "content": "", field: "why"}


@pytest.mark.parametrize("message", [UserMessage(content=()), ToolMessage(call_id="c", content=())], ids=repr)
def test_a_content_without_parts_is_an_empty_text(message: Message) -> None:
    assert wire(message)["content"] == ""


def test_what_results_show_follows_their_row_where_a_result_holds_text_alone() -> None:
    image, file = ImagePart(url="https://a/b.png"), FilePart(file_id="f1")
    history: tuple[Message, ...] = (
        AssistantMessage(content=(CALL, CALL.model_copy(update={"id": "call_2"}))),
        ToolMessage(call_id="call_1", content=(TextPart(text="seen"), image)),
        ToolMessage(call_id="call_2", content=(file, image)),
        AssistantMessage(content="A plot."),
    )
    known: IdentityMemo[bytes] = IdentityMemo()
    requests = [encode(ModelInput("", history), "m", dialect=OPENAI, known=known).body for _ in "ab"]
    assert requests[0] == requests[1]
    request = json.loads(requests[0])
    assert [error.message for error in official().iter_errors(request)] == []
    _, first, second, shown, last = request["messages"]
    assert first["content"] == [{"type": "text", "text": "seen"}]
    assert (second["content"], last["content"]) == ("", "A plot.")
    assert shown == {
        "role": "user",
        "content": [
            {"type": "text", "text": "The result of the call call_1 shows:"},
            {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
            {"type": "text", "text": "The result of the call call_2 shows:"},
            {"type": "file", "file": {"file_id": "f1"}},
            {"type": "image_url", "image_url": {"url": "https://a/b.png"}},
        ],
    }
    kept = body(ModelInput("", history), dialect=COMPATIBLE)
    assert [message["role"] for message in kept["messages"]] == ["assistant", "tool", "tool", "assistant"]
    assert not official().is_valid(kept)


@pytest.mark.parametrize("came", [{}, {"field": "reasoning"}], ids=str)
@pytest.mark.parametrize("known", THINKING_FIELDS)
def test_reasoning_goes_back_once_and_under_the_name_that_the_server_knows(came: Any, known: Any) -> None:
    dialect = Dialect(reasoning_field=known)
    message = AssistantMessage(content=(ThinkingPart(text="why", provider=PROTOCOL, opaque=came), CALL))
    copy = {"reasoning_content": " "} if came else {"reasoning": "why"}
    for each in (message, message.model_copy(update={"extra": {PROTOCOL: copy}})):
        sent = json.loads(encode_message(each, dialect=dialect))
        assert {name: sent[name] for name in THINKING_FIELDS if name in sent} == {known: "why"}
        assert sent["tool_calls"] == wire(message)["tool_calls"]


@pytest.mark.parametrize("filler", ["", " "])
@pytest.mark.parametrize(
    "message",
    [
        AssistantMessage(content="said"),
        AssistantMessage(content=(ThinkingPart(text="t", provider="anthropic-messages"), CALL)),
        AssistantMessage(content="said", extra={PROTOCOL: {"reasoning_content": "\n"}}),
    ],
    ids=repr,
)
def test_a_server_that_demands_reasoning_gets_the_filler_where_there_is_none(
    message: Message, filler: str
) -> None:
    dialect = Dialect(reasoning_field="reasoning_content", reasoning_filler=filler)
    sent = json.loads(encode_message(message, dialect=dialect))
    assert sent["reasoning_content"] == filler
    thinking = AssistantMessage(content=(ThinkingPart(text="why", provider=PROTOCOL),))
    assert json.loads(encode_message(thinking, dialect=dialect))["reasoning_content"] == "why"
    assert "reasoning_content" not in json.loads(encode_message(UserMessage(content="x"), dialect=dialect))


def test_extra_fields_are_written_back_where_they_were_read() -> None:
    message = AssistantMessage(
        content=(
            TextPart(text="said", extra={PROTOCOL: {"cache_control": {"type": "ephemeral"}}}),
            ToolCall(id="c", name="f", extra={PROTOCOL: {"x": 1, "function": {"y": 2}}}),
        ),
        extra={PROTOCOL: {"refusal": None}, "gemini": {"z": 3}},
    )
    assert wire(message) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "said", "cache_control": {"type": "ephemeral"}}],
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}", "y": 2}, "x": 1}
        ],
        "refusal": None,
    }


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(content="x", extra={PROTOCOL: {"role": "system"}}),
        UserMessage(content="x", extra={PROTOCOL: {"content": "other"}}),
        UserMessage(content="x", extra={PROTOCOL: {"name": "ann"}}),
        AssistantMessage(content="x", extra={PROTOCOL: {"reasoning_content": "t"}}),
        AssistantMessage(content="x", extra={PROTOCOL: {"tool_calls": []}}),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"text": "y"}}),)),
        UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"type": "text"}}),)),
        UserMessage(content=(ImagePart(url="u", extra={PROTOCOL: {"image_url": {"url": "v"}}}),)),
        UserMessage(content=(ImagePart(url="u", extra={PROTOCOL: {"image_url": "v"}}),)),
    ],
    ids=repr,
)
def test_an_extra_field_with_a_place_of_its_own_is_refused(message: Message) -> None:
    with pytest.raises(UnencodableInput):
        encode(ModelInput("", (message,)), "m")


@pytest.mark.parametrize(
    "own",
    [{"messages": []}, {"model": "m2"}, {"stream": True}, {"temperature": 1}, {"max_tokens": 3}, {"tools": []}],
)
def test_a_request_field_with_a_place_of_its_own_is_refused_as_extra(own: dict[str, Any]) -> None:
    with pytest.raises(UnencodableInput, match="settings"):
        encode(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: own})), "m")


def test_a_setting_that_the_shapes_cannot_hold_may_ride_as_extra() -> None:
    own = {"tool_choice": {"type": "allowed_tools"}, "tools": [{"type": "web_search"}], "stream_options": {"x": 1}}
    request = body(ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: own})), stream=True)
    assert {name: request[name] for name in own} == own


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (ImagePart(), "either a url or data"),
        (ImagePart(url="u", data="QUJD"), "either a url or data"),
        (ImagePart(data="QUJD"), "media type"),
        (FilePart(filename="a.pdf"), "a file_id, a url or data"),
        (FilePart(url="https://a", data="QUJD"), "either a url or data"),
        (FilePart(url="a.pdf"), "no scheme"),
        (FilePart(data="a:b"), "not base64"),
    ],
    ids=repr,
)
def test_a_part_without_a_wire_form_is_refused_before_anything_is_sent(part: Any, reason: str) -> None:
    with pytest.raises(BadRequest, match=rf"messages\[0\].content\[0\].*{reason}"):
        encode(ModelInput("", (UserMessage(content=(part,)),)), "m")


@pytest.mark.parametrize("choice", ["weather", "tool", "TOOL:x"])
def test_an_unknown_tool_choice_is_refused(choice: str) -> None:
    with pytest.raises(UnencodableInput, match="tool_choice"):
        encode(ModelInput("", (), settings=ModelSettings(tool_choice=choice)), "m")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"], ids=repr)
def test_a_value_that_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(UnencodableInput, match=r"messages\[0\]"):
        encode(ModelInput("", (UserMessage(content="x", extra={PROTOCOL: {"x": value}}),)), "m")
