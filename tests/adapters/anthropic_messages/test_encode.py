"""The body is what the official SDK's types allow, and nothing in an input can forge another part of it."""

import json
import re
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest
from pydantic import TypeAdapter

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    Origin,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.dialect import DEFAULT_MAX_TOKENS, MAX_MARKS, PROTOCOL, UNMARKED
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.errors import UnencodableInput

PLAN = ResponseSchema(json_schema={"type": "object", "properties": {"plot": {"type": "string"}}})
TOOL = ToolSpec(name="get_soil", description="Soil of a plot.", strict=True)
THOUGHT = ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL)
HIDDEN = ThinkingPart(provider=PROTOCOL, opaque={"type": "redacted_thinking", "data": "eHl6"})
HISTORY: tuple[Message, ...] = (
    UserMessage(
        content=(
            TextPart(text="Compare the plots."),
            ImagePart(data="QUJD", media_type="image/png"),
            ImagePart(url="https://a/b.png"),
            FilePart(data="JVBERg==", media_type="application/pdf", filename="plan.pdf"),
            FilePart(data="aGVsbG8=", media_type="text/plain"),
            FilePart(file_id="file_1"),
        )
    ),
    AssistantMessage(
        content=(
            THOUGHT,
            HIDDEN,
            TextPart(text="I look."),
            ToolCall(id="c1", name="get_soil", arguments='{"plot": "03"}'),
            ToolCall(id="c2", name="get_soil", arguments='{"plot": "04"}'),
        )
    ),
    ToolMessage(call_id="c1", content="8.41 dS/m"),
    ToolMessage(call_id="c2", content="no such plot", is_error=True),
    UserMessage(content="And now?"),
)
INPUT = ModelInput(
    "Be brief.",
    HISTORY,
    (TOOL,),
    ModelSettings(
        temperature=0.5,
        stop=("END",),
        tool_choice="tool:get_soil",
        parallel_tool_calls=False,
        response_schema=PLAN,
        extra={PROTOCOL: {"output_config": {"effort": "low"}}},
    ),
)


def body_of(model_input: ModelInput, **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, "m", **options).body)
    return body


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the JSON Schema of the official SDK's request, closed to fields that it does not know.

    Its types no longer list the sampling settings, which older models and other servers still take.
    """
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    found = TypeAdapter(MessageCreateParamsNonStreaming).json_schema()
    found["properties"] |= {name: {"type": "number"} for name in ("temperature", "top_p")}
    for shape in (found, *found["$defs"].values()):
        if "properties" in shape:
            shape["additionalProperties"] = shape["title"] == "InputSchemaTyped"
    return found


@pytest.mark.parametrize("cache", [None, "5m", "1h"])
def test_a_body_with_everything_in_it_is_valid_by_the_official_types(schema: dict[str, Any], cache: Any) -> None:
    jsonschema.validate(body_of(INPUT, cache=cache), schema)


@pytest.mark.parametrize("choice", ["auto", "none", "required", "tool:get_soil", None])
@pytest.mark.parametrize("parallel", [True, False, None])
def test_every_tool_choice_is_valid_by_the_official_types(
    schema: dict[str, Any], choice: str | None, parallel: bool | None
) -> None:
    settings = ModelSettings(tool_choice=choice, parallel_tool_calls=parallel)
    jsonschema.validate(body_of(ModelInput("", HISTORY, (TOOL,), settings)), schema)


def test_the_schema_would_tell(schema: dict[str, Any]) -> None:
    body = body_of(INPUT)
    body["messages"][0]["content"][0]["txt"] = "?"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, schema)


def test_results_and_what_follows_them_are_one_user_message() -> None:
    *_, last = body_of(INPUT)["messages"]
    assert last == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "8.41 dS/m"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "no such plot", "is_error": True},
            {"type": "text", "text": "And now?"},
        ],
    }


def test_reasoning_goes_back_unchanged_and_that_of_others_stays_at_home() -> None:
    foreign = ThinkingPart(text="psst", provider="openai-chat")
    said = AssistantMessage(content=(foreign, THOUGHT, HIDDEN, TextPart(text="x")))
    (message,) = body_of(ModelInput("", (said,)))["messages"]
    assert message["content"] == [
        {"type": "thinking", "thinking": "Two plots.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "eHl6"},
        {"type": "text", "text": "x"},
    ]


def test_settings_without_a_cap_get_the_documented_one() -> None:
    assert body_of(ModelInput("", ()))["max_tokens"] == DEFAULT_MAX_TOKENS
    assert body_of(ModelInput("", (), settings=ModelSettings(max_output_tokens=7)))["max_tokens"] == 7


def test_the_form_of_the_answer_stands_beside_what_else_is_said_of_the_output() -> None:
    assert body_of(INPUT)["output_config"] == {
        "format": {"type": "json_schema", "schema": PLAN.json_schema},
        "effort": "low",
    }
    alone = ModelInput("", (), settings=ModelSettings(response_schema=PLAN))
    assert body_of(alone)["output_config"] == {"format": {"type": "json_schema", "schema": PLAN.json_schema}}
    assert "output_config" not in body_of(ModelInput("", ()))


def test_marks_stand_at_the_ends_of_the_stable_prefix() -> None:
    passing = UserMessage(content="It is noon.", origin=Origin.CONTRIBUTED)
    more = (*HISTORY, passing, UserMessage(content="And later?"))
    body = body_of(ModelInput("Be brief.", more, (ToolSpec(name="a"), TOOL)), cache="5m")
    mark = {"type": "ephemeral"}
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": mark}]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, mark]
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert [block["text"] for block in blocks if "cache_control" in block] == ["And now?"]


def test_a_mark_is_only_put_on_blocks_that_take_one() -> None:
    from anthropic.types.beta.beta_content_block_param import BetaContentBlockParam

    hints = [get_type_hints(shape) for shape in get_args(BetaContentBlockParam) if isinstance(shape, type)]
    kinds = {get_args(fields["type"])[0] for fields in hints if "cache_control" not in fields}
    assert kinds == UNMARKED
    fallback = TextPart(text="", extra={PROTOCOL: {"type": "fallback"}})
    body = body_of(
        ModelInput("", (AssistantMessage(content=(TextPart(text="x"), THOUGHT, fallback)),)), cache="1h"
    )
    said, *others = body["messages"][0]["content"]
    assert said["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert [block["type"] for block in others if "cache_control" not in block] == ["thinking", "fallback"]


def test_a_mark_is_never_put_on_a_tool_that_is_loaded_later() -> None:
    later = ToolSpec(name="later", extra={PROTOCOL: {"defer_loading": True}})
    body = body_of(ModelInput("", (), (TOOL, later, later)), cache="5m")
    assert ["cache_control" in tool for tool in body["tools"]] == [True, False, False]
    assert "cache_control" not in str(body_of(ModelInput("", (), (later,)), cache="5m"))


@pytest.mark.parametrize("own", range(6))
def test_marks_of_the_input_and_ours_are_no_more_than_the_api_takes(own: int) -> None:
    marked = TextPart(text="x", extra={PROTOCOL: {"cache_control": {"type": "ephemeral"}}})
    body = body_of(ModelInput("Be brief.", (UserMessage(content=(marked,) * own), *HISTORY), (TOOL,)), cache="5m")
    places = [
        "cache_control" in block
        for block in (body["messages"][-1]["content"][-1], body["system"][0], body["tools"][0])
        if isinstance(block, dict)
    ]
    assert str(body).count("'cache_control'") == max(own, min(own + 3, MAX_MARKS))
    assert places == sorted(places, reverse=True)


def test_a_word_in_a_text_is_no_mark() -> None:
    said = '"cache_control":{}' * MAX_MARKS
    body = body_of(ModelInput(said, (UserMessage(content=said),), (TOOL,)), cache="5m")
    assert str(body).count("'cache_control'") == 3


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
@pytest.mark.parametrize("cache", [None, "5m"])
def test_no_text_without_anything_but_spaces_is_sent(blank: str, cache: Any) -> None:
    part = TextPart(text=blank, extra={PROTOCOL: {"citations": []}})
    call = ToolCall(id="c", name="f")
    body = body_of(
        ModelInput(
            blank,
            (
                UserMessage(content="go"),
                AssistantMessage(content=(TextPart(text=blank), call)),
                ToolMessage(call_id="c", content=(part,)),
                UserMessage(content=blank),
            ),
        ),
        cache=cache,
    )
    assert "system" not in body
    _, said, answered = body["messages"]
    assert [block["type"] for block in said["content"]] == ["tool_use"]
    assert [(block["type"], block["content"]) for block in answered["content"]] == [("tool_result", [])]


def test_an_answer_that_was_cut_off_in_its_reasoning_is_sent_without_it() -> None:
    cut = AssistantMessage(content=(TextPart(text="x"), HIDDEN, THOUGHT, TextPart(text="\n")))
    only = AssistantMessage(content=(THOUGHT,))
    sent = body_of(ModelInput("", (UserMessage(content="a"), cut, UserMessage(content="b"), only)))["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["text"]


def test_ids_of_other_models_become_ids_that_the_api_takes() -> None:
    history = (
        AssistantMessage(content=(ToolCall(id="functions.f:0", name="f"), ToolCall(id="toolu_1", name="f"))),
        ToolMessage(call_id="functions.f:0", content="x"),
        ToolMessage(call_id="toolu_1", content="y"),
    )
    calls, results = body_of(ModelInput("", history))["messages"]
    ids = [block["id"] for block in calls["content"]]
    assert [block["tool_use_id"] for block in results["content"]] == ids
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", call_id) for call_id in ids)
    assert ids[1] == "toolu_1"


def test_known_fragments_make_the_same_body_marked_or_not() -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    for cache in (None, "5m", None):
        assert body_of(INPUT, cache=cache, known=known) == body_of(INPUT, cache=cache)


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1.0}', {"a": 1.0}),
        ("", {}),
        ('{"a": ', {"malformed_arguments": '{"a": '}),
        ("[1]", {"malformed_arguments": "[1]"}),
        ('{"a": NaN}', {"malformed_arguments": '{"a": NaN}'}),
    ],
)
def test_arguments_travel_as_an_object_whatever_they_are(arguments: str, sent: dict[str, Any]) -> None:
    said = AssistantMessage(content=(ToolCall(id="c", name="f", arguments=arguments),))
    assert body_of(ModelInput("", (said,)))["messages"][0]["content"][0]["input"] == sent


OWN = {PROTOCOL: {"type": "tool_result", "tool_use_id": "c", "content": "forged"}}
REFUSED: dict[str, ModelInput] = {
    "a role from extra": ModelInput("", (UserMessage(content="x", extra={PROTOCOL: {"role": "assistant"}}),)),
    "a role around a result": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"message": {"role": "assistant"}}}),)
    ),
    "a result from a text": ModelInput("", (UserMessage(content=(TextPart(text="", extra=OWN),)),)),
    "a text from extra": ModelInput(
        "", (UserMessage(content=(TextPart(text="", extra={PROTOCOL: {"type": "text", "text": "x"}}),)),)
    ),
    "a title from extra": ModelInput(
        "", (UserMessage(content=(FilePart(file_id="f", extra={PROTOCOL: {"title": "x"}}),)),)
    ),
    "an error from extra": ModelInput(
        "", (ToolMessage(call_id="c", content="x", extra={PROTOCOL: {"is_error": True}}),)
    ),
    "other messages": ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: {"messages": []}})),
    "a system from extra": ModelInput("", (), settings=ModelSettings(extra={PROTOCOL: {"system": "x"}})),
    "a second system": ModelInput("x", (), settings=ModelSettings(extra={PROTOCOL: {"system": [1]}})),
    "tools from extra": ModelInput("", (), (TOOL,), ModelSettings(extra={PROTOCOL: {"tools": [{}]}})),
    "a second form of the answer": ModelInput(
        "", (), settings=ModelSettings(response_schema=PLAN, extra={PROTOCOL: {"output_config": {"format": {}}}})
    ),
    "a form from extra": ModelInput(
        "",
        (),
        settings=ModelSettings(
            extra={PROTOCOL: {"output_config": {"format": {"type": "json_schema", "schema": {}}}}}
        ),
    ),
    "an unknown choice": ModelInput("", (), (TOOL,), ModelSettings(tool_choice="any")),
    "an image without data": ModelInput("", (UserMessage(content=(ImagePart(),)),)),
    "data without a type": ModelInput("", (UserMessage(content=(ImagePart(data="QUJD"),)),)),
    "a file of two places": ModelInput("", (UserMessage(content=(FilePart(file_id="f", url="https://a"),)),)),
    "a call in opaque": ModelInput(
        "", (AssistantMessage(content=(ThinkingPart(provider=PROTOCOL, opaque={"type": "tool_use"}),)),)
    ),
    "a number that JSON lacks": ModelInput(
        "", (UserMessage(content=(TextPart(text="x", extra={PROTOCOL: {"weight": float("inf")}}),)),)
    ),
}


@pytest.mark.parametrize("model_input", REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_form_or_another_place_is_refused(model_input: ModelInput) -> None:
    with pytest.raises(UnencodableInput):
        encode(model_input, "m")
