"""A run that grew turn by turn gives what a fresh one gives for the same history: nothing remembered is stale."""

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit import (
    AssistantMessage,
    ConservativeTokenEstimator,
    ContextAssembler,
    ContextBudgets,
    ContextContributorRegistry,
    Scope,
    SummaryRequest,
    TokenLedger,
    ToolCall,
    ToolMessage,
    Transcript,
    UserMessage,
)
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.sections import HEADINGS, write_sections
from copyfit.errors import WindowCannotFit
from copyfit.shapes.messages import Message, OutputRef
from copyfit.shapes.stages import AssembledTurn, Recovery, TurnRequest

BODIES = ("", "short", "row,12.5,0x1f\n" * 150, "温度升高" * 200)


class Summarizer:
    async def summarize(self, request: SummaryRequest) -> str:
        return write_sections([f"{len(request.prompt)} characters"] * len(HEADINGS))


def assembler() -> ContextAssembler:
    ledger = TokenLedger(ConservativeTokenEstimator())
    return ContextAssembler(
        registry=ContextContributorRegistry(),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=Summarizer()),
    )


def turn_of(corridor: ContextAssembler, history: Transcript, window: int, *, forced: bool) -> AssembledTurn | None:
    request = TurnRequest(
        context_id="t",
        scope=Scope.MAIN,
        turn=1,
        history=history,
        budgets=ContextBudgets(model_max_tokens=window, output_reserve_tokens=500),
        recovery=Recovery() if forced else None,
    )
    try:
        return asyncio.run(corridor.assemble(request))
    except WindowCannotFit:
        return None


def messages(kind: int, body: str) -> Sequence[Message]:
    """Return what one turn adds: a request, an answer, a call, its result, both, or two calls with one result."""
    ref = OutputRef(ref="tool-output-0a", bytes=len(body), lines=1, tool_name="read")
    call = AssistantMessage(content=(ToolCall(id="a", name="read"),))
    two = AssistantMessage(content=(ToolCall(id="a", name="read"), ToolCall(id="b", name="read")))
    result = ToolMessage(call_id="a", name="read", content=body, output_ref=ref)
    added: tuple[list[Message], ...] = (
        [UserMessage(content=body)],
        [AssistantMessage(content=body)],
        [call],
        [result],
        [call, result],
        [two, result],
        [call, result, UserMessage(content="next")],
    )
    return added[kind]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from(BODIES), st.sampled_from([False, False, False, True])),
        min_size=1,
        max_size=25,
    ),
    st.sampled_from([3_000, 8_000, 100_000]),
)
def test_a_grown_run_and_a_fresh_one_agree(turns: list[tuple[int, str, bool]], window: int) -> None:
    corridor, history = assembler(), Transcript([UserMessage(content="begin")])
    for kind, body, forced in turns:
        history = history.append(*messages(kind, body))
        grown = turn_of(corridor, history, window, forced=forced)
        fresh = turn_of(assembler(), Transcript(history.messages), window, forced=forced)
        if grown is None or fresh is None:
            assert grown is fresh
            continue
        assert grown.model_input.canonical_bytes == fresh.model_input.canonical_bytes
        assert grown.estimated_tokens == fresh.estimated_tokens
        assert grown.compaction == fresh.compaction
        assert grown.history.steps == fresh.history.steps == Transcript(list(grown.history)).steps
        history = grown.history
