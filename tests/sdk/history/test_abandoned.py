from hypothesis import given
from hypothesis import strategies as st

from copyfit.history.abandoned import NO_RESULT, close_abandoned_calls, is_no_result
from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.transcript import Transcript

USER = UserMessage(content="go on")


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id=each, name="read") for each in ids))


def answer(call_id: str, content: str = "real") -> ToolMessage:
    return ToolMessage(call_id=call_id, name="read", content=content)


def no_result(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=call_id, name="read", content=NO_RESULT, is_error=True)


def closed(*messages: Message) -> tuple[list[Message], tuple[str, ...]]:
    history, ids = close_abandoned_calls(Transcript(messages))
    return list(history), ids


def test_a_tidy_history_is_returned_as_it_is() -> None:
    history = Transcript([USER, asks("a", "b"), answer("b"), answer("a"), USER])
    settled, ids = close_abandoned_calls(history)
    assert settled is history
    assert ids == ()


def test_the_calls_of_the_last_step_are_not_abandoned() -> None:
    history = Transcript([USER, asks("a", "b"), answer("b")])
    assert close_abandoned_calls(history)[0] is history


def test_a_call_the_run_went_on_without_gets_a_marked_result_in_its_step() -> None:
    messages, ids = closed(USER, asks("a", "b"), answer("b"), USER)
    assert messages == [USER, asks("a", "b"), answer("b"), no_result("a"), USER]
    assert ids == ("a",)
    assert [is_no_result(message) for message in messages] == [False, False, False, True, False]


def test_a_late_result_goes_home_to_its_call() -> None:
    messages, ids = closed(asks("a"), USER, answer("a"))
    assert messages == [asks("a"), answer("a"), USER]
    assert ids == ()


def test_a_late_result_takes_the_place_of_the_marker() -> None:
    before, _ = closed(asks("a", "b"), answer("b"), USER)
    messages, ids = closed(*before, answer("a", "late"))
    assert messages == [asks("a", "b"), answer("b"), answer("a", "late"), USER]
    assert ids == ()


def test_a_second_result_of_one_call_is_dropped() -> None:
    assert closed(asks("a"), answer("a", "first"), answer("a", "second"), USER)[0] == [
        asks("a"),
        answer("a", "first"),
        USER,
    ]


def test_a_result_belongs_to_the_latest_declaration_before_it() -> None:
    messages, _ = closed(asks("a"), answer("a", "one"), asks("a"), USER, answer("a", "two"))
    assert messages == [asks("a"), answer("a", "one"), asks("a"), answer("a", "two"), USER]


def test_a_result_that_no_message_declares_has_its_call_declared_again() -> None:
    messages, ids = closed(USER, answer("nobody"), USER, answer("nobody", "again"))
    assert messages == [USER, asks("nobody"), answer("nobody"), USER]
    assert ids == ("nobody",)


def test_a_result_without_a_name_has_an_unnamed_tool() -> None:
    (call, _), _ = closed(ToolMessage(call_id="a", content="late"))
    assert call == AssistantMessage(content=(ToolCall(id="a", name="unknown_tool"),))


def test_a_last_step_whose_late_result_came_home_may_still_wait_for_another() -> None:
    messages, ids = closed(USER, asks("a", "b"), answer("a"), answer("a", "again"))
    assert messages == [USER, asks("a", "b"), answer("a")]
    assert ids == ()


IDS = st.sampled_from(["a", "b", "c", "d"])
MESSAGES = st.lists(
    st.one_of(
        st.just(USER),
        st.lists(IDS, min_size=1, max_size=3, unique=True).map(lambda ids: asks(*ids)),
        st.builds(answer, IDS, st.text(max_size=3)),
    ),
    max_size=14,
)


def speaks(message: Message) -> bool:
    return isinstance(message, AssistantMessage)


@given(MESSAGES)
def test_closing_leaves_only_the_last_step_open_and_is_done_at_once(messages: list[Message]) -> None:
    settled, ids = close_abandoned_calls(Transcript(messages))
    assert not any(step.is_open for step in settled.steps[:-1])
    again = sum(map(speaks, settled)) - sum(map(speaks, messages))
    assert len(ids) == again + sum(map(is_no_result, settled))
    assert not any(isinstance(step.messages[0], ToolMessage) for step in settled.steps)
    assert close_abandoned_calls(settled) == (settled, ())


@given(MESSAGES)
def test_no_call_and_no_first_result_is_lost(messages: list[Message]) -> None:
    settled, _ = close_abandoned_calls(Transcript(messages))
    kept = [id(message) for message in settled]
    spoken = [id(message) for message in messages if not isinstance(message, ToolMessage)]
    assert [each for each in kept if each in spoken] == spoken
    answered: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            answered -= {call.id for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.call_id not in answered:
            assert id(message) in kept
            answered.add(message.call_id)
