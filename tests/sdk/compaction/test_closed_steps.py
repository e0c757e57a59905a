from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.closed_steps import plan_closed_steps
from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.stages import SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


class LengthEstimator:
    """A token a character, and one more a message."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


USER = UserMessage(content="task")


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=text)


def exchange(call_id: str, result: str | None) -> list[Message]:
    calls = (ToolCall(id=call_id, name="read"),)
    answer = [] if result is None else [ToolMessage(call_id=call_id, content=result)]
    return [AssistantMessage(content=calls), *answer]


def plan(*messages: Message, retain: int) -> SummaryPlan | None:
    return plan_closed_steps(Transcript(messages), ledger=TokenLedger(LengthEstimator()), retain=retain)


def parts(found: SummaryPlan | None) -> tuple[list[Message], list[Message]]:
    assert found is not None
    return flat(found.summarize), flat(found.keep)


def flat(steps: Sequence[Step]) -> list[Message]:
    return [message for step in steps for message in step.messages]


def test_the_recent_suffix_stays_and_the_rest_is_summarised() -> None:
    messages = [said(f"{number:09d}") for number in range(10)]
    summarize, keep = parts(plan(*messages, retain=30))
    assert (summarize, keep) == (messages[:7], messages[7:])


def test_the_step_that_crosses_the_line_is_kept_whole() -> None:
    """Case: PLN-T7."""
    old, new = said("old"), exchange("c", "x" * 50)
    assert parts(plan(old, *new, said("last"), retain=10)) == ([old], [*new, said("last")])


def test_only_what_is_before_the_first_open_call_may_go() -> None:
    waiting, rest = exchange("open", None), [said("x" * 100) for _ in range(10)]
    summarize, keep = parts(plan(said("before"), USER, *waiting, *rest, retain=10))
    assert (summarize, keep) == ([said("before")], [USER, *waiting, *rest])


def test_an_open_call_at_the_beginning_leaves_nothing_to_summarise() -> None:
    """Case: PLN-T5."""
    assert plan(*exchange("open", None), *(said("x" * 100) for _ in range(10)), retain=1) is None


def test_one_step_is_never_summarised() -> None:
    """Case: PLN-T6."""
    assert plan(said("x" * 1_000), retain=1) is None
    assert plan(retain=1) is None


def test_the_active_request_is_kept_verbatim_before_the_suffix() -> None:
    earlier, work, last = UserMessage(content="earlier"), [said(f"w{n}" * 50) for n in range(5)], said("last")
    summarize, keep = parts(plan(earlier, USER, *work, last, retain=1))
    assert (summarize, keep) == ([earlier, *work], [USER, last])


def test_a_standing_checkpoint_is_neither_summarised_nor_kept() -> None:
    checkpoint = UserMessage(content="so far", name="summary", origin=Origin.CHECKPOINT)
    assert parts(plan(checkpoint, said("old"), USER, said("last"), retain=1)) == (
        [said("old")],
        [USER, said("last")],
    )
    assert plan(checkpoint, USER, said("last"), retain=1) is None


SHAPES = st.lists(
    st.one_of(
        st.builds(lambda n: [UserMessage(content="u" * n)], st.integers(0, 40)),
        st.builds(lambda n: [said("a" * n)], st.integers(0, 40)),
        st.builds(lambda n: [UserMessage(content="c" * n, origin=Origin.CHECKPOINT)], st.integers(0, 40)),
        st.builds(lambda n, key: exchange(f"c{key}", "r" * n), st.integers(0, 40), st.integers()),
        st.builds(lambda key: exchange(f"c{key}", None), st.integers()),
    ),
    max_size=20,
).map(lambda groups: Transcript(message for group in groups for message in group))


@given(history=SHAPES, retain=st.integers(1, 200))
def test_a_plan_parts_the_history_into_whole_steps_and_loses_none(history: Transcript, retain: int) -> None:
    ledger = TokenLedger(LengthEstimator())
    found = plan_closed_steps(history, ledger=ledger, retain=retain)
    if found is None:
        return
    steps = [step for step in history.steps if step.messages[0].origin is not Origin.CHECKPOINT]
    assert sorted(map(id, found.summarize + found.keep)) == sorted(map(id, steps))
    assert not any(step.is_open for step in found.summarize)
    anchor = history.anchor
    assert anchor is None or any(step.messages[0] is anchor for step in found.keep)
    if history.steps[-1].messages[0].origin is not Origin.CHECKPOINT:
        assert found.keep[-1] is history.steps[-1]
    assert plan_closed_steps(history, ledger=ledger, retain=retain) == found
