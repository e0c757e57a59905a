from functools import partial

import pytest

from copyfit.errors import InvalidContext
from copyfit.shapes.contributions import Section, Slot
from copyfit.shapes.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.stages import PlacedSection
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.window.validate import ContextValidator

PROTECTED = PlacedSection(Section(id="rules", slot=Slot.GOVERNANCE, content="Cite sources.", protected=True), "g")
CALL = AssistantMessage(content=(TextPart(text="so"), ToolCall(id="call-1", name="search")))
RESULT = ToolMessage(call_id="call-1", content="found")
SEARCH = ToolSpec(name="search")


def validate(
    *messages: Message,
    system: str = "",
    protected: tuple[PlacedSection, ...] = (),
    tools: tuple[ToolSpec, ...] = (),
    governed: tuple[ToolSpec, ...] = (),
) -> None:
    ContextValidator().validate(ModelInput(system, messages, tools), protected=protected, tools=governed)


def broken(rule: str, where: str, *messages: Message, **parts: object) -> None:
    with pytest.raises(InvalidContext, match=rule) as caught:
        validate(*messages, **parts)  # type: ignore[arg-type]
    assert (caught.value.rule, caught.value.where) == (rule, where)


def test_a_sound_input_is_accepted() -> None:
    """Case: VAL-01."""
    validate(
        UserMessage(content="go"),
        CALL,
        RESULT,
        system="You.\nCite sources.\nMore.",
        protected=(PROTECTED,),
        tools=(SEARCH,),
        governed=(SEARCH,),
    )


def test_a_protected_section_may_not_be_missing() -> None:
    """Case: VAL-02."""
    broken("dropped protected section", "rules", protected=(PROTECTED,))


def test_the_tools_are_the_governed_ones() -> None:
    """Case: VAL-03."""
    broken("governed tool set changed", "search", governed=(SEARCH,))
    broken("governed tool set changed", "search", tools=(SEARCH,))


def test_a_result_needs_a_declared_call() -> None:
    """Case: VAL-04."""
    broken("orphan tool result", "call-1", RESULT)
    broken("orphan tool result", "call-1", AssistantMessage(content="no call"), RESULT)


def test_a_call_may_wait_for_its_result() -> None:
    """Case: VAL-20."""
    validate(CALL)


def test_a_tool_may_not_be_listed_twice() -> None:
    """Case: VAL-21."""
    broken("governed tool set changed", "search", tools=(SEARCH, SEARCH), governed=(SEARCH, SEARCH))


def test_a_result_may_follow_long_after_its_call() -> None:
    validate(CALL, UserMessage(content="go on"), RESULT)


def test_a_history_that_was_sound_is_checked_from_where_it_grew() -> None:
    validator = ContextValidator()
    sound = Transcript([CALL, RESULT])
    check = partial(validator.validate, protected=(), tools=())
    check(ModelInput("", sound.messages))
    check(ModelInput("", sound.append(RESULT).messages.followed_by([UserMessage(content="note")])))
    orphan = ToolMessage(call_id="call-9", content="found")
    for unsound in (
        sound.append(orphan).messages,
        sound.messages.followed_by([orphan]),
        Transcript([RESULT]).messages,
        (RESULT, CALL),
    ):
        with pytest.raises(InvalidContext, match="orphan tool result"):
            check(ModelInput("", unsound))
        check(ModelInput("", sound.messages))


def test_a_result_may_not_come_before_its_call() -> None:
    """Case: VAL-22."""
    broken("orphan tool result", "call-1", RESULT, CALL)
