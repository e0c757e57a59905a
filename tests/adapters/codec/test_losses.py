"""Losses are data that plain functions apply; what a wire can carry stays."""

from copyfit.shapes.messages import AssistantMessage, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.codec.known_losses import foreign_extras_dropped, results_named, surrogates_joined
from copyfit_adapters.codec.losses import (
    Effect,
    Loss,
    in_messages,
    incurred,
    own_extra,
    with_own_extra,
    without_losses,
)
from copyfit_adapters.codec.request import WireRequest


def test_losses_are_applied_in_order_and_leave_the_data_that_was_given_alone() -> None:
    def suffix(mark: str) -> Loss:
        return Loss(
            name=mark,
            where="messages[].content",
            effect=Effect.REWRITTEN,
            reason="a test",
            rewrite=in_messages(lambda message: {**message, "content": message["content"] + mark}),
        )

    data = ModelInput("s", (UserMessage(content="x"),)).as_data()
    assert without_losses(data, (suffix("1"), suffix("2")))["messages"][0]["content"] == "x12"
    assert data["messages"][0]["content"] == "x"
    assert without_losses(data, ()) == data


def test_extras_of_other_protocols_go_wherever_they_stand() -> None:
    both = {"mine": {"a": 1}, "other": {"b": 2}}
    data = ModelInput(
        "",
        (UserMessage(content=(TextPart(text="x", extra=both),), extra={"other": {"c": 3}}),),
        (ToolSpec(name="f", extra=both, parameters={"extra": {"other": "an argument"}}),),
        ModelSettings(extra={"mine": {}}),
    ).as_data()
    kept = without_losses(data, (foreign_extras_dropped("mine"),))
    assert kept["messages"][0]["content"][0]["extra"] == {"mine": {"a": 1}}
    assert "extra" not in kept["messages"][0]
    assert kept["tools"][0]["extra"] == {"mine": {"a": 1}}
    assert kept["tools"][0]["parameters"] == {"extra": {"other": "an argument"}}
    assert "extra" not in kept["settings"]


def test_a_protocol_changes_its_own_extra_alone() -> None:
    holder = {"type": "text", "extra": {"mine": {"a": 1}, "other": {"b": 2}}}
    assert own_extra(holder, "mine") == {"a": 1}
    assert with_own_extra(holder, "mine", {"c": 3})["extra"] == {"mine": {"c": 3}, "other": {"b": 2}}
    assert with_own_extra(holder, "mine", {})["extra"] == {"other": {"b": 2}}
    assert with_own_extra({"extra": {"mine": {"a": 1}}}, "mine", {}) == {}


def test_a_result_gets_the_name_of_the_call_before_it_unless_it_has_one() -> None:
    call = ToolCall(id="\ud83d\ude00", name="read", arguments="{}")
    results = (
        ToolMessage(call_id="\U0001f600", content="x"),
        ToolMessage(call_id=call.id, name="own", content="x"),
    )
    data = ModelInput("", (results[0], AssistantMessage(content=(call,)), *results)).as_data()
    named = results_named(reason="a test").rewrite(data)["messages"]
    assert [message.get("name") for message in named] == [None, None, "read", "own"]


def test_only_surrogates_in_a_row_become_a_character() -> None:
    assert join_surrogates("a\ud83d\ude00b") == "a\U0001f600b"
    assert join_surrogates("\ude00\ud83d") == "\ude00\ud83d"
    data = {"system": "\ud83d\ude00", "messages": [["\ud83d", 1, None]]}
    assert surrogates_joined().rewrite(data) == {"system": "\U0001f600", "messages": [["\ud83d", 1, None]]}


def test_a_request_does_not_show_its_body() -> None:
    assert "secret" not in repr(WireRequest(path="/p", body=b"secret plans"))


def test_only_the_losses_that_change_something_are_incurred() -> None:
    plain = ModelInput("", (UserMessage(content="x"),)).as_data()
    paired = ModelInput("", (UserMessage(content="\ud83d\ude00", extra={"other": {"a": 1}}),)).as_data()
    losses = (foreign_extras_dropped("mine"), surrogates_joined())
    assert [loss.name for loss in incurred(paired, losses)] == ["foreign-extra", "surrogate-pairs"]
    # An `extra` without anything in it is dropped too, which is a loss in form alone.
    assert [loss.name for loss in incurred(plain, losses[1:])] == []
