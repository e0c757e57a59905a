"""A call and its results are one step, and a step is open while a result is missing."""

from copyfit.shapes.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.steps import split_steps

USER = UserMessage(content="next")


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id=each, name="read") for each in ids))


def answer(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=call_id, name="read", content="read")


def sizes(*messages: Message) -> list[tuple[int, tuple[str, ...]]]:
    """Return how many messages each step has, and its open calls."""
    return [(len(step.messages), step.open_calls) for step in split_steps(messages)]


def test_results_may_come_in_any_order() -> None:
    """Case: UNT-01."""
    text = AssistantMessage(content="both read")
    assert sizes(asks("a", "b"), answer("b"), answer("a"), text) == [(3, ()), (1, ())]


def test_a_step_is_open_while_a_result_is_missing() -> None:
    """Case: UNT-02."""
    assert sizes(asks("a", "b"), answer("a"), USER) == [(2, ("b",)), (1, ())]


def test_text_beside_a_call_changes_nothing() -> None:
    message = AssistantMessage(content=(TextPart(text="let me see"), ToolCall(id="a", name="read")))
    assert sizes(message, answer("a")) == [(2, ())]


def test_a_result_that_answers_nothing_is_a_step_of_its_own() -> None:
    assert sizes(asks("a"), answer("b"), answer("a")) == [(1, ("a",)), (1, ()), (1, ())]


def test_a_second_result_of_one_call_is_a_step_of_its_own() -> None:
    """Case: UNT-04."""
    assert sizes(asks("a"), answer("a"), answer("a")) == [(2, ()), (1, ())]


def test_an_id_that_two_calls_share_is_answered_twice() -> None:
    assert sizes(asks("a", "a"), answer("a")) == [(2, ("a",))]
    assert sizes(asks("a", "a"), answer("a"), answer("a"), answer("a")) == [(3, ()), (1, ())]


def test_nothing_has_no_steps() -> None:
    assert sizes() == []
