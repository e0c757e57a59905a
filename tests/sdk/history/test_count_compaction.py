from hypothesis import given
from hypothesis import strategies as st

from copyfit.history.count_compaction import KEPT_MESSAGES, plan_by_count
from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.stages import SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript


def plain(count: int) -> list[Message]:
    """Plain messages; the last of them is the user's."""
    return [
        UserMessage(content=f"u{n}") if (count - n) % 2 else AssistantMessage(content=f"a{n}")
        for n in range(count)
    ]


def batch(name: str, results: int, *, answered: int | None = None) -> list[Message]:
    calls = tuple(ToolCall(id=f"{name}-{n}", name="read") for n in range(results))
    answers = [ToolMessage(call_id=call.id, content="r") for call in calls[:answered]]
    return [AssistantMessage(content=calls), *answers]


def size(steps: tuple[Step, ...]) -> int:
    return sum(len(step.messages) for step in steps)


def plan(messages: list[Message]) -> SummaryPlan:
    found = plan_by_count(Transcript(messages))
    assert found is not None
    return found


def test_forty_nine_messages_are_left_alone() -> None:
    """Case: HCP-20."""
    assert plan_by_count(Transcript(plain(49))) is None


def test_of_fifty_plain_messages_thirty_are_summarised() -> None:
    """Case: PLN-T1."""
    found = plan(plain(50))
    assert (size(found.summarize), size(found.keep)) == (30, 20)


def test_a_step_across_the_line_is_summarised_whole() -> None:
    """Case: PLN-T2."""
    messages = [*plain(30), *batch("b", 5), *plain(18)]
    assert len(messages) == 54
    found = plan(messages)
    assert (size(found.summarize), size(found.keep)) == (36, 18)
    assert not isinstance(found.keep[0].messages[0], ToolMessage)


def test_the_newest_step_is_kept_whole_however_many_results_it_has() -> None:
    found = plan([*plain(29), *batch("b", 25)])
    assert size(found.summarize) == 28
    assert found.keep[-1].messages == tuple(batch("b", 25))


def test_everything_from_the_first_open_call_on_is_kept() -> None:
    found = plan([*plain(10), *batch("open", 3, answered=2), *plain(45)])
    assert size(found.summarize) == 10
    assert found.keep[0].open_calls == ("open-2",)
    assert size(found.keep) == 3 + 45


def test_the_active_request_is_kept_verbatim_in_front() -> None:
    request = UserMessage(content="the task")
    found = plan([*plain(2), request, *(AssistantMessage(content=f"w{n}") for n in range(60))])
    assert found.keep[0].messages == (request,)
    assert size(found.keep) == 1 + KEPT_MESSAGES
    assert request not in [message for step in found.summarize for message in step.messages]


def test_a_standing_checkpoint_counts_and_is_neither_summarised_nor_kept() -> None:
    checkpoint = UserMessage(content="so far", name="summary", origin=Origin.CHECKPOINT)
    found = plan([checkpoint, *plain(49)])
    assert (size(found.summarize), size(found.keep)) == (29, 20)


def test_nothing_but_the_request_before_the_line_makes_no_plan() -> None:
    assert plan_by_count(Transcript([UserMessage(content="task"), *batch("b", 55)])) is None


STEPS = st.lists(
    st.one_of(
        st.just("user"),
        st.just("assistant"),
        st.tuples(st.integers(1, 6), st.integers(0, 6)),
        st.just("checkpoint"),
    ),
    max_size=60,
)


def build(shape: list[str | tuple[int, int]]) -> Transcript:
    messages: list[Message] = []
    for place, kind in enumerate(shape):
        match kind:
            case "user":
                messages.append(UserMessage(content=f"u{place}"))
            case "assistant":
                messages.append(AssistantMessage(content=f"a{place}"))
            case "checkpoint":
                messages.append(UserMessage(content=f"c{place}", name="summary", origin=Origin.CHECKPOINT))
            case (int(calls), int(answered)):
                messages += batch(f"b{place}", calls, answered=min(calls, answered))
    return Transcript(messages)


@given(STEPS.map(build))
def test_a_plan_parts_the_history_into_whole_steps_and_loses_none(history: Transcript) -> None:
    found = plan_by_count(history)
    if found is None:
        return
    steps = [step for step in history.steps if step.messages[0].origin is not Origin.CHECKPOINT]
    assert sorted(map(id, found.summarize + found.keep)) == sorted(map(id, steps))
    assert not any(step.is_open for step in found.summarize)
    anchor = history.anchor
    assert anchor is None or any(step.messages[0] is anchor for step in found.keep)
    if history.steps[-1].messages[0].origin is not Origin.CHECKPOINT:
        assert found.keep[-1] is history.steps[-1]
    assert plan_by_count(history) == found
