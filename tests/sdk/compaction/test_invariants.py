"""What holds for every history, whatever the summarizer answers."""

import asyncio
import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.compactor import HistoryCompactor
from copyfit.history.abandoned import close_abandoned_calls
from copyfit.history.count_compaction import plan_by_count
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

ANSWERS = (
    "",
    "prose",
    "## Next step\ngo on",
    "## Next step\n" + "long " * 2_000,
    "## Optional leads\n" + "l" * 90,
)


class LengthEstimator:
    """A token a character, and one more a message."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


class Cycling:
    """Gives its answers round and round; None is a failure."""

    def __init__(self, answers: Sequence[str | None]) -> None:
        self.answers = itertools.cycle(answers)
        self.calls = 0
        self.longest = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.calls += 1
        self.longest = max(self.longest, len(request.system) + len(request.prompt))
        answer = next(self.answers)
        if answer is None:
            raise LookupError("no answer")
        return answer


def group(kind: int, size: int, key: int) -> list[Message]:
    if kind == 0:
        return [UserMessage(content=f"request {key} " * size)]
    if kind == 1:
        return [AssistantMessage(content=f"said {key} " * size)]
    body, call_id = f"row {key}\n" * size * 20, f"call-{key}"
    ref = OutputRef(ref=f"tool-output-{key:x}", bytes=len(body), lines=size, tool_name="read")
    results = [ToolMessage(call_id=call_id, content=body, output_ref=ref if kind > 3 else None)]
    calls = (ToolCall(id=call_id, name="read"),)
    return [AssistantMessage(content=calls), *(results if kind > 2 else [])]


HISTORIES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=30).map(
    lambda shape: Transcript(
        message for key, (kind, size) in enumerate(shape) for message in group(kind, size, key)
    )
)
WORLD = {
    "history": HISTORIES,
    "answers": st.lists(st.sampled_from([*ANSWERS, None]), min_size=1, max_size=3),
    "history_line": st.integers(1, 20_000),
    "retain": st.integers(1, 5_000),
    "window": st.one_of(st.none(), st.integers(1, 20_000)),
    "forced": st.booleans(),
}


def compact(
    history: Transcript,
    answers: Sequence[str | None],
    history_line: int,
    retain: int,
    window: int | None,
    forced: bool,
) -> tuple[Compacted, int]:
    summarizer = Cycling(answers)
    compactor = HistoryCompactor(
        ledger=TokenLedger(LengthEstimator()), summarizer=summarizer, summarizer_window_tokens=window
    )
    pressure = Pressure(limit=10**6, line=history_line, retain=retain, reserved=0, contributed=0, history=0)
    done = asyncio.run(
        compactor.compact(
            history,
            pressure=pressure,
            budgets=ContextBudgets(compaction_tool_preview_bytes=256),
            count_plan=plan_by_count(history),
            forced=forced,
        )
    )
    assert window is None or summarizer.longest <= window
    return done, summarizer.calls


@given(**WORLD)
def test_a_compaction_never_makes_a_history_dearer_and_says_what_it_did(
    history: Transcript,
    answers: list[str | None],
    history_line: int,
    retain: int,
    window: int | None,
    forced: bool,
) -> None:
    done, calls = compact(history, answers, history_line, retain, window, forced)
    ledger, statistics = TokenLedger(LengthEstimator()), done.statistics
    assert statistics.before_tokens == ledger.transcript(history)
    assert statistics.after_tokens == ledger.transcript(done.history) <= statistics.before_tokens
    assert statistics.summary_attempts == calls
    assert done.changed == (done.history != history)
    assert (statistics.summarized_messages > 0) == (done.history.checkpoint is not None)
    assert len(statistics.tool_output_refs) == statistics.pruned_tool_results


@given(**WORLD)
def test_a_compaction_keeps_whole_steps_the_request_the_newest_step_and_every_open_call(
    history: Transcript,
    answers: list[str | None],
    history_line: int,
    retain: int,
    window: int | None,
    forced: bool,
) -> None:
    done, _ = compact(history, answers, history_line, retain, window, forced)
    kept = [step for step in done.history.steps if step.messages[0].origin is not Origin.CHECKPOINT]
    before = {id(step.messages[0]): step for step in history.steps}
    for step in kept:
        original = before[id(step.messages[0])]
        assert len(step.messages) == len(original.messages)
        assert step.open_calls == original.open_calls
        assert step == original or not step.is_open
    assert Transcript(done.history.messages).steps == done.history.steps
    kept_firsts = {id(step.messages[0]) for step in kept}
    assert kept_firsts >= {id(step.messages[0]) for step in history.steps if step.is_open}
    assert id(history.steps[-1].messages[0]) in kept_firsts
    assert history.anchor is None or id(history.anchor) in kept_firsts
    assert sum(message.origin is Origin.CHECKPOINT for message in done.history) <= 1


@given(**WORLD)
def test_the_same_history_is_compacted_the_same_way(
    history: Transcript,
    answers: list[str | None],
    history_line: int,
    retain: int,
    window: int | None,
    forced: bool,
) -> None:
    first = compact(history, answers, history_line, retain, window, forced)
    assert compact(history, answers, history_line, retain, window, forced) == first


@given(history=HISTORIES, history_line=st.integers(1, 5_000), retain=st.integers(1, 500))
def test_compacting_again_and_again_ends(history: Transcript, history_line: int, retain: int) -> None:
    settled, _ = close_abandoned_calls(history)
    for _ in range(6):
        done, _ = compact(settled, ["## Next step\ngo on"], history_line, retain, None, True)
        if not done.changed:
            break
        settled = done.history
    assert not done.changed
