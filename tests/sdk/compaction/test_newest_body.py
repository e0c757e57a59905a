"""The newest tool body, which the model has not seen yet, is cut last of all."""

from collections.abc import Sequence

import pytest

from copyfit.compaction.compactor import HistoryCompactor
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
from copyfit.shapes.stages import Compacted, Pressure
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger

pytestmark = pytest.mark.anyio

BODY = 2_000
"""Code points of a body; cut, it has about 500."""


class LengthEstimator:
    """A token a character."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text)

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


class Summarizer:
    """Always writes the same short checkpoint."""

    calls = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.calls += 1
        return "## Completed work and verified findings\nThe first plots are dry."


def run_of(steps: int, *, answers: int = 0) -> Transcript:
    """Return a task and `steps` of one stored body each, with `answers` code points of prose between them."""
    messages: list[Message] = [UserMessage(content="Compare the plots.")]
    for number in range(steps):
        call = ToolCall(id=f"c{number}", name="read")
        ref = OutputRef(ref=f"tool-output-{number:016x}", bytes=BODY, lines=1, tool_name="read")
        messages += [
            AssistantMessage(content=(call,)),
            ToolMessage(call_id=call.id, name="read", content="x" * BODY, output_ref=ref),
            AssistantMessage(content="y" * answers),
        ]
    return Transcript(messages[:-1])


async def compacted(
    history: Transcript, line: int, summarizer: Summarizer | None, *, forced: bool = False
) -> Compacted:
    compactor = HistoryCompactor(ledger=TokenLedger(LengthEstimator()), summarizer=summarizer)
    pressure = Pressure(limit=10**6, line=line, retain=line // 4, reserved=0, contributed=0, history=0)
    budgets = ContextBudgets(compaction_tool_preview_bytes=256)
    return await compactor.compact(history, pressure=pressure, budgets=budgets, forced=forced)


def newest(done: Compacted) -> ToolMessage:
    (last,) = [message for message in done.history.steps[-1].messages if isinstance(message, ToolMessage)]
    return last


async def test_it_is_whole_while_cutting_the_older_ones_is_enough() -> None:
    summarizer = Summarizer()
    done = await compacted(run_of(3), 3_500, summarizer)
    assert not newest(done).projected
    assert (done.statistics.pruned_tool_results, summarizer.calls) == (2, 0)


async def test_it_is_whole_while_a_summary_is_enough() -> None:
    summarizer = Summarizer()
    done = await compacted(run_of(4, answers=300), 3_500, summarizer)
    assert not newest(done).projected
    assert summarizer.calls == 1
    assert done.history.steps[0].messages[0].origin is Origin.CHECKPOINT
    assert TokenLedger(LengthEstimator()).transcript(done.history) <= 3_500


async def test_it_is_cut_when_a_summary_was_not_enough() -> None:
    class Silent(Summarizer):
        async def summarize(self, request: SummaryRequest) -> str:
            self.calls += 1
            return ""

    summarizer = Silent()
    done = await compacted(run_of(4, answers=300), 3_500, summarizer)
    assert summarizer.calls > 0
    assert newest(done).projected
    assert done.statistics.pruned_tool_results == len(done.statistics.tool_output_refs) == 4


async def test_it_is_cut_at_once_when_nothing_else_can_help() -> None:
    summarizer = Summarizer()
    done = await compacted(run_of(2), 1_500, summarizer)
    assert newest(done).projected
    assert summarizer.calls == 0


async def test_it_is_cut_without_a_summarizer_and_after_a_refusal() -> None:
    assert newest(await compacted(run_of(4, answers=300), 3_500, None)).projected
    assert newest(await compacted(run_of(4), 3_500, Summarizer(), forced=True)).projected
