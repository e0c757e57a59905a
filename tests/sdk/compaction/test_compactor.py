from collections.abc import Sequence

import pytest

from copyfit.compaction.checkpoint import read_checkpoint
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.sections import write_sections
from copyfit.errors import ContextOverflow
from copyfit.ports.summarizer import SummaryRequest
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import (
    AssistantMessage,
    Message,
    Origin,
    OutputRef,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.stages import Compacted, Pressure, SummaryPlan
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger

pytestmark = pytest.mark.anyio

REF = "tool-output-abcdef1234567890"


class LengthEstimator:
    """A token a character, and one more a message."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


class Scripted:
    """Gives its answers in turn, the last one for ever, and counts the calls."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.calls += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Narrow(Scripted):
    """Refuses every request over `window` tokens, and names its window only if it `tells`."""

    def __init__(self, *answers: str, window: int, tells: bool) -> None:
        super().__init__(*answers)
        self.window, self.tells = window, tells
        self.refused = 0

    async def summarize(self, request: SummaryRequest) -> str:
        if len(request.system) + len(request.prompt) > self.window:
            self.refused += 1
            limit = self.window if self.tells else None
            raise ContextOverflow("too long", provider="narrow", limit_tokens=limit)
        return await super().summarize(request)


def answer(words: str) -> str:
    return f"## Completed work and verified findings\n{words}"


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=text)


def asks(call_id: str) -> AssistantMessage:
    return AssistantMessage(content=(ToolCall(id=call_id, name="read"),))


def stored(call_id: str, content: str) -> ToolMessage:
    ref = OutputRef(ref=REF, bytes=len(content), lines=1, tool_name="read")
    return ToolMessage(call_id=call_id, name="read", content=content, output_ref=ref)


def line(history_line: int, retain: int) -> Pressure:
    return Pressure(limit=10**6, line=history_line, retain=retain, reserved=0, contributed=0, history=0)


def plan_of(history: Transcript, summarized: int) -> SummaryPlan:
    return SummaryPlan(summarize=history.steps[:summarized], keep=history.steps[summarized:])


async def compact(
    history: Transcript,
    summarizer: Scripted | None,
    *,
    pressure: Pressure,
    preview: int = 2_048,
    retries: int = 1,
    count_plan: SummaryPlan | None = None,
    forced: bool = False,
) -> Compacted:
    compactor = HistoryCompactor(ledger=TokenLedger(LengthEstimator()), summarizer=summarizer)
    budgets = ContextBudgets(compaction_tool_preview_bytes=preview, compaction_summary_retries=retries)
    return await compactor.compact(
        history, pressure=pressure, budgets=budgets, count_plan=count_plan, forced=forced
    )


async def test_cutting_an_old_body_may_be_enough() -> None:
    """Case: HCP-01."""
    summarizer = Scripted(answer("never asked"))
    result = stored("call-1", "x" * 10_057)
    history = Transcript([UserMessage(content="task"), asks("call-1"), result, said("continue")])
    done = await compact(history, summarizer, pressure=line(500, 10), preview=256)
    statistics = done.statistics
    assert (statistics.reason, statistics.before_tokens) == ("token-pressure", 10_073)
    assert (statistics.pruned_tool_results, statistics.tool_output_refs) == (1, (REF,))
    assert (statistics.summarized_messages, statistics.summary_attempts, summarizer.calls) == (0, 0, 0)
    assert statistics.after_tokens == TokenLedger(LengthEstimator()).transcript(done.history)
    cut = done.history[2]
    assert isinstance(cut, ToolMessage)
    assert (cut.call_id, REF in cut.text) == ("call-1", True)
    assert done.changed


async def test_old_closed_steps_become_a_checkpoint_in_front() -> None:
    history = Transcript(
        [
            UserMessage(content="task"),
            said("first finding " * 200),
            said("second finding " * 200),
            said("current reasoning"),
        ]
    )
    done = await compact(history, Scripted(answer("a plain fragment")), pressure=line(60, 20))
    first, *_, last = done.history
    assert isinstance(first, UserMessage)
    assert first.origin is Origin.CHECKPOINT
    assert "## Pending requirements\n(none)" in read_checkpoint(first)
    assert "a plain fragment" in read_checkpoint(first)
    assert last == said("current reasoning")
    assert done.history[1] == UserMessage(content="task")
    assert done.statistics.summarized_messages == 1
    assert len(done.statistics.summary_warnings) == 7


async def test_a_ref_of_the_source_is_no_unverified_one() -> None:
    """Case: HCP-03."""
    sections = [f"about section {number}" for number in range(8)]
    sections[2] = f"see {REF}"
    request, latest = UserMessage(content="request " * 20), said("latest reasoning")
    orphan = stored("gone", "y" * 1_160)
    history = Transcript([request, orphan, latest])
    done = await compact(history, Scripted(write_sections(sections)), pressure=line(100, 10), preview=4_096)
    assert done.statistics.before_tokens == 1_339
    assert done.statistics.summary_warnings == ()
    assert done.history.checkpoint is done.history[0]
    assert list(done.history)[1:] == [request, latest]


async def test_an_open_call_survives_a_forced_pass() -> None:
    """Case: HCP-04."""
    history = Transcript([UserMessage(content="task"), said("older work"), asks("pending")])
    done = await compact(history, Scripted(answer("x")), pressure=line(10, 1), forced=True)
    assert done.statistics.reason == "forced"
    assert done.history.steps[-1].open_calls == ("pending",)


async def test_a_too_long_checkpoint_is_asked_for_once_more() -> None:
    """Case: HCP-05."""
    summarizer = Scripted(answer("first " * 10_000), answer("short"))
    history = Transcript(
        [
            UserMessage(content="research objective " * 100),
            said("completed observation " * 100),
            said("latest decision"),
        ]
    )
    done = await compact(history, summarizer, pressure=line(100, 10))
    assert done.statistics.summary_source_tokens == 2_201  # the request, of 1,901, is not summarised
    assert summarizer.calls == 2
    assert (done.statistics.summary_attempts, done.statistics.summary_rejected) == (2, 1)
    assert done.history.checkpoint is done.history[0]


async def test_the_newest_step_keeps_its_call_and_its_cut_result() -> None:
    """Case: HCP-06."""
    history = Transcript(
        [
            UserMessage(content="task " * 1_000),
            said("old finding " * 1_000),
            asks("latest-call"),
            stored("latest-call", "latest result " * 1_000),
        ]
    )
    done = await compact(history, Scripted(answer("found")), pressure=line(100, 1), preview=256)
    assert done.statistics.before_tokens == 31_004
    call, result = done.history[-2:]
    assert call == asks("latest-call")
    assert isinstance(result, ToolMessage)
    assert all(part in result.text for part in ("[head preview]", "[tail preview]", REF))
    assert done.statistics.summarized_messages == 1


@pytest.mark.parametrize(("size", "reason"), [(99, "none"), (100, "token-pressure")])
async def test_only_more_than_the_line_is_pressure(size: int, reason: str) -> None:
    """Case: HCP-20, HCP-21."""
    history = Transcript([said("x" * size)])
    done = await compact(history, Scripted(answer("x")), pressure=line(100, 10))
    assert done.statistics.reason == reason
    assert done.history == history
    assert not done.changed
    assert done.statistics.before_tokens == done.statistics.after_tokens == size + 1


async def test_a_result_that_cannot_be_cut_goes_to_the_summarizer() -> None:
    """Case: HCP-22."""
    history = Transcript(
        [UserMessage(content="task"), asks("a"), ToolMessage(call_id="a", content="x" * 9_000), said("later" * 10)]
    )
    done = await compact(history, Scripted(answer("read it")), pressure=line(100, 10))
    assert (done.statistics.pruned_tool_results, done.statistics.summarized_messages) == (0, 2)


async def test_a_failed_summary_leaves_the_cut_bodies() -> None:
    """Case: HCP-32."""
    history = Transcript(
        [UserMessage(content="task"), asks("a"), stored("a", "x" * 9_000), said("y" * 500), said("later" * 10)]
    )
    done = await compact(history, Scripted(answer("z" * 9_000)), pressure=line(100, 10), preview=256)
    assert (done.statistics.summarized_messages, done.statistics.summary_rejected) == (0, 2)
    assert done.statistics.pruned_tool_results == 1
    assert done.history.checkpoint is None
    assert len(done.history) == len(history)


@pytest.mark.parametrize(("size", "tells"), [(40_000, True), (9_000, False)])
async def test_a_summarizer_that_refuses_a_source_as_too_long_gets_it_in_parts(size: int, tells: bool) -> None:
    summarizer = Narrow(answer("read it"), window=8_000, tells=tells)
    compactor = HistoryCompactor(ledger=TokenLedger(LengthEstimator()), summarizer=summarizer)
    history = Transcript(
        [UserMessage(content="task"), asks("a"), ToolMessage(call_id="a", content="x" * size), said("later" * 10)]
    )
    for _ in range(2):
        done = await compactor.compact(history, pressure=line(100, 10), budgets=ContextBudgets())
        assert done.statistics.summarized_messages == 2
    assert summarizer.refused == 1
    assert done.statistics.summary_attempts == summarizer.calls // 2


async def test_exactly_one_checkpoint_stands() -> None:
    """Case: HCP-34."""
    task = UserMessage(content="task")
    history = Transcript([task, *(said(f"w{number}" * 200) for number in range(6))])
    summarizer = Scripted(answer("one"), answer("two"))
    once = await compact(history, summarizer, pressure=line(100, 10))
    grown = once.history.append(*(said(f"v{number}" * 200) for number in range(6)))
    twice = await compact(grown, summarizer, pressure=line(100, 10))
    checkpoints = [message for message in twice.history if message.origin is Origin.CHECKPOINT]
    assert len(checkpoints) == 1
    assert "two" in checkpoints[0].text
    assert twice.history[0] is checkpoints[0]
    assert twice.history[1] == task


async def test_without_pressure_only_the_count_plan_is_carried_out() -> None:
    """Case: HCP-35."""
    messages: list[Message] = [
        UserMessage(content="task"),
        asks("a"),
        stored("a", "x" * 9_000),
        said("y" * 500),
        said("z"),
    ]
    history = Transcript(messages)
    done = await compact(
        history, Scripted(answer("ok")), pressure=line(100_000, 10), count_plan=plan_of(history, 3)
    )
    assert done.statistics.reason == "message-count"
    assert (done.statistics.pruned_tool_results, done.statistics.summarized_messages) == (0, 4)


async def test_with_a_count_plan_enough_is_not_enough() -> None:
    """Case: HCP-36."""
    summarizer = Scripted(answer("ok"))
    messages: list[Message] = [
        UserMessage(content="task"),
        said("y" * 2_000),
        asks("a"),
        stored("a", "x" * 9_000),
        said("z" * 20),
    ]
    history = Transcript(messages)
    done = await compact(
        history, summarizer, pressure=line(3_000, 10), preview=256, count_plan=plan_of(history, 1)
    )
    assert done.statistics.reason == "token-pressure"
    assert (done.statistics.pruned_tool_results, summarizer.calls) == (1, 1)


async def test_a_forced_pass_cuts_down_to_what_is_retained_and_summarises_without_pressure() -> None:
    """Case: HCP-37."""
    summarizer = Scripted(answer("ok"))
    messages: list[Message] = [
        UserMessage(content="task"),
        said("y" * 2_000),
        asks("a"),
        stored("a", "x" * 9_000),
        said("z" * 20),
    ]
    done = await compact(Transcript(messages), summarizer, pressure=line(100_000, 10), preview=256, forced=True)
    assert done.statistics.reason == "forced"
    assert (done.statistics.pruned_tool_results, summarizer.calls) == (1, 1)
    assert list(done.history)[1:] == [UserMessage(content="task"), said("z" * 20)]


async def test_without_a_summarizer_the_steps_stay_and_the_trace_says_why() -> None:
    history = Transcript([UserMessage(content="task"), said("y" * 2_000), said("z" * 20)])
    done = await compact(history, None, pressure=line(100, 10))
    assert done.history is history
    assert done.statistics.summary_warnings == ("No summarizer is given; the old steps stay.",)


async def test_the_count_pass_leaves_bodies_alone_and_asks_twice_at_most() -> None:
    history = Transcript([UserMessage(content="task"), asks("a"), stored("a", "x" * 9_000), said("z")])
    summarizer = Scripted("")
    compactor = HistoryCompactor(ledger=TokenLedger(LengthEstimator()), summarizer=summarizer)
    done = await compactor.compact_count(history, plan_of(history, 2))
    assert (done.statistics.reason, summarizer.calls, done.changed) == ("message-count", 2, False)
    assert done.history is history


async def test_the_count_pass_without_a_plan_does_nothing() -> None:
    history = Transcript([said("x" * 9)])
    compactor = HistoryCompactor(ledger=TokenLedger(LengthEstimator()), summarizer=Scripted(""))
    done = await compactor.compact_count(history, None)
    assert done.history is history
    assert (done.statistics.reason, done.statistics.before_tokens, done.statistics.after_tokens) == (
        "none",
        10,
        10,
    )
