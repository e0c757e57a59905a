"""Marks for the cache stand at the ends of the stable prefix, where the API takes them, and are not too many."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    Message,
    Origin,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.bedrock_converse.dialect import MAX_MARKS, PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode

TOOL = ToolSpec(name="get_soil")
THOUGHT = ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL)
PLAN = FilePart(data="JVBERg==", media_type="application/pdf", filename="plan.pdf")
TABLE = FilePart(data="QUJD", media_type="text/csv")
OWN = TextPart(text="", extra={PROTOCOL: {"cachePoint": {"type": "default"}}})
HISTORY: tuple[Message, ...] = (
    UserMessage(content="Compare the plots."),
    AssistantMessage(content=(ToolCall(id="c1", name="get_soil"), ToolCall(id="c2", name="get_soil"))),
    ToolMessage(call_id="c1", content="8.41 dS/m"),
    ToolMessage(call_id="c2", content="no such plot", is_error=True),
    UserMessage(content="And now?"),
)


def body_of(model_input: ModelInput, model: str = "m", **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(model_input, model, **options).body)
    return body


def marked(body: dict[str, Any]) -> list[tuple[int, int]]:
    return [
        (at, index)
        for at, message in enumerate(body["messages"])
        for index, block in enumerate(message["content"])
        if "cachePoint" in block
    ]


def test_marks_stand_at_the_ends_of_the_stable_prefix() -> None:
    passing = UserMessage(content="It is noon.", origin=Origin.CONTRIBUTED)
    more = (*HISTORY, passing, UserMessage(content="And later?"))
    body = body_of(ModelInput("Be brief.", more, (ToolSpec(name="a"), TOOL)), cache="1h")
    mark = {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert body["system"] == [{"text": "Be brief."}, mark]
    assert [entry.get("cachePoint") for entry in body["toolConfig"]["tools"]] == [None, None, mark["cachePoint"]]
    assert marked(body) == [(2, 3)]
    assert [block.get("text") for block in body["messages"][2]["content"]][2:] == [
        "And now?",
        None,
        "It is noon.",
        "And later?",
    ]


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ((TextPart(text="x"), THOUGHT, TABLE), [(0, 1)]),
        ((TextPart(text="x"), PLAN), [(0, 2)]),
        ((THOUGHT, TABLE), []),
    ],
)
def test_a_mark_stands_where_the_api_takes_one(parts: tuple[Any, ...], place: list[tuple[int, int]]) -> None:
    assert marked(body_of(ModelInput("", (AssistantMessage(content=parts),)), cache="5m")) == place


def test_a_mark_of_ones_own_is_the_only_one_in_its_message_and_never_stands_alone() -> None:
    said = UserMessage(content=(TextPart(text="x"), OWN, TextPart(text="y")))
    assert marked(body_of(ModelInput("", (said,)), cache="1h")) == [(0, 1)]
    assert body_of(ModelInput("", (UserMessage(content=(OWN,)),)))["messages"] == []


@pytest.mark.parametrize("own", range(6))
def test_marks_of_the_input_and_ours_are_no_more_than_the_api_takes(own: int) -> None:
    first = UserMessage(content=(TextPart(text="x"), OWN) * own)
    body = body_of(ModelInput("Be brief.", (first, *HISTORY), (TOOL,)), cache="5m")
    places = [
        "cachePoint" in entries[-1]
        for entries in (body["messages"][-1]["content"], body["system"], body["toolConfig"]["tools"])
    ]
    assert str(body).count("'cachePoint'") == max(own, min(own + 3, MAX_MARKS))
    assert places == sorted(places, reverse=True)


def test_a_word_in_a_text_is_no_mark() -> None:
    said = '"cachePoint":{}' * MAX_MARKS
    body = body_of(ModelInput(said, (UserMessage(content=said),), (TOOL,)), cache="5m")
    assert str(body).count("'cachePoint'") == 3


@pytest.mark.parametrize(
    "model", ["amazon.nova-pro-v1:0", "arn:aws:bedrock:eu-west-1::foundation-model/amazon.nova-2"]
)
def test_nova_gets_no_mark_among_tools_and_behind_results(model: str) -> None:
    sent = ModelInput("Be brief.", HISTORY[:-1], (TOOL,))
    body = body_of(sent, model, cache="5m")
    assert "cachePoint" in body["system"][-1]
    assert "cachePoint" not in str(body["toolConfig"])
    assert marked(body) == [(0, 1)]
    assert marked(body_of(sent, "us.anthropic.claude-v1:0", cache="5m")) == [(2, 2)]
