"""The corridor: which stage sees what the one before it made."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from copyfit import (
    AssistantMessage,
    ConservativeTokenEstimator,
    ContextAssembler,
    ContextBudgets,
    ContextContributorRegistry,
    ContributeRequest,
    Contribution,
    Scope,
    SummaryRequest,
    TokenLedger,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Transcript,
    UserMessage,
)
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.sections import HEADINGS
from copyfit.errors import InvalidContext
from copyfit.history.abandoned import is_no_result
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import Message, Origin, OutputRef
from copyfit.shapes.model_input import ModelSettings, ResponseSchema
from copyfit.shapes.stages import AssembledTurn, Composed, Recovery, TurnRequest, Windowed
from copyfit.window.atomic import AtomicHistoryWindowPolicy

pytestmark = pytest.mark.anyio


class Summarizer:
    async def summarize(self, request: SummaryRequest) -> str:
        return "\n\n".join(f"## {heading}\nnoted" for heading in HEADINGS)


@dataclass
class Observer:
    """Keeps the history that each collection shows, and tells the model how long it is."""

    seen: list[Transcript] = field(default_factory=list)
    id: str = "observer"
    scopes: tuple[Scope, ...] = tuple(Scope)
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        self.seen.append(request.history)
        return Contribution(messages=(UserMessage(content=f"{len(request.history)} messages"),))


async def assembled(history: Transcript, observer: Observer, **budgets: int) -> AssembledTurn:
    ledger = TokenLedger(ConservativeTokenEstimator())
    assembler = ContextAssembler(
        registry=ContextContributorRegistry([observer]),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=Summarizer()),
    )
    limits = {"model_max_tokens": 8_000, "output_reserve_tokens": 1_000} | budgets
    request = TurnRequest(
        context_id="t", scope=Scope.MAIN, turn=1, history=history, budgets=ContextBudgets(**limits)
    )
    return await assembler.assemble(request)


def rounds(count: int, *, words: int = 1) -> Transcript:
    messages: list[Message] = []
    for number in range(count):
        messages += [
            UserMessage(content=f"question {number}"),
            AssistantMessage(content=f"answer {number} " * words),
        ]
    return Transcript(messages)


async def test_contributions_come_from_the_history_once_when_nothing_is_cut() -> None:
    observer = Observer()
    history = rounds(3)
    turn = await assembled(history, observer)
    assert observer.seen == [history]
    assert turn.model_input.messages == (*history, turn.model_input.messages[-1])
    assert turn.history == history


async def test_contributors_are_asked_again_about_the_history_that_a_compaction_left() -> None:
    observer = Observer()
    history = rounds(10, words=100)
    turn = await assembled(history, observer)
    first, second = observer.seen
    assert first == history
    assert second == turn.history
    assert turn.compaction.summarized_messages > 0
    assert turn.model_input.messages[-1].text == f"{len(turn.history)} messages"


async def test_contributors_are_asked_again_about_what_the_window_lets_the_model_see() -> None:
    """A skill that the window left out is as unreadable as one that a compaction took."""
    observer = Observer()
    history = rounds(4)
    turn = await assembled(history, observer, window_rounds=2)
    assert observer.seen == [history, Transcript(history[4:])]
    assert turn.model_input.messages[:-1] == history[4:]
    assert turn.model_input.messages[-1].text == "4 messages"
    assert turn.history == history


async def test_contributions_never_enter_the_history() -> None:
    turn = await assembled(rounds(2), Observer())
    assert {message.origin for message in turn.history} == {Origin.CANONICAL}
    assert turn.model_input.messages[-1].origin is Origin.CONTRIBUTED


async def test_a_call_that_the_run_went_on_without_is_closed_in_the_history_and_named_in_the_record() -> None:
    history = Transcript(
        [
            UserMessage(content="go"),
            AssistantMessage(content=(ToolCall(id="lost", name="read"),)),
            UserMessage(content="go on"),
        ]
    )
    turn = await assembled(history, Observer())
    assert turn.abandoned_calls == ("lost",)
    assert is_no_result(turn.history[2])
    assert turn.model_input.messages[:4] == turn.history.messages


class SplittingWindow(AtomicHistoryWindowPolicy):
    """Leaves out every message but the last."""

    def select(self, composed: Composed, **budget: Any) -> Windowed:
        windowed = super().select(composed, **budget)
        return replace(windowed, messages=Growing(windowed.messages[-1:]))


async def test_a_window_that_parts_a_result_from_its_call_is_refused() -> None:
    ledger = TokenLedger(ConservativeTokenEstimator())
    assembler = ContextAssembler(
        registry=ContextContributorRegistry(),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=None),
        window=SplittingWindow(),
    )
    call = AssistantMessage(content=(ToolCall(id="c", name="read"),))
    history = Transcript([UserMessage(content="go"), call, ToolMessage(call_id="c", content="x")])
    request = TurnRequest(context_id="t", scope=Scope.MAIN, turn=1, history=history, budgets=ContextBudgets())
    with pytest.raises(InvalidContext, match="orphan tool result"):
        await assembler.assemble(request)


async def test_the_history_given_is_not_changed() -> None:
    history = rounds(30)
    before = history.messages
    await assembled(history, Observer())
    assert history.messages is before


async def test_tools_and_settings_go_through_unchanged() -> None:
    ledger = TokenLedger(ConservativeTokenEstimator())
    assembler = ContextAssembler(
        registry=ContextContributorRegistry(),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=None),
    )
    tools = (ToolSpec(name="b"), ToolSpec(name="a"))
    turn = await assembler.assemble(
        TurnRequest(
            context_id="t", scope=Scope.MAIN, turn=1, history=rounds(1), budgets=ContextBudgets(), tools=tools
        )
    )
    assert turn.model_input.tools == tools


async def test_an_input_after_a_refusal_is_smaller_though_cut_bodies_would_let_older_steps_back_in() -> None:
    steps: list[Message] = []
    for number in range(6):
        body = f"row {number} " * 900
        ref = OutputRef(ref=f"tool-output-{number:x}", bytes=len(body), lines=1, tool_name="read")
        steps += [
            AssistantMessage(content=(ToolCall(id=f"c{number}", name="read"),)),
            ToolMessage(call_id=f"c{number}", name="read", content=body, output_ref=ref),
        ]
    history = Transcript([UserMessage(content="go"), *steps, AssistantMessage(content="later " * 300)])
    ledger = TokenLedger(ConservativeTokenEstimator())
    assembler = ContextAssembler(
        registry=ContextContributorRegistry(),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=None),
    )
    budgets = ContextBudgets(model_max_tokens=200_000, output_reserve_tokens=1_000)
    refused = ledger.system("") + ledger.message(history[0]) + ledger.message(history[-1]) + 200
    request = TurnRequest(context_id="t", scope=Scope.MAIN, turn=1, history=history, budgets=budgets)
    forced = await assembler.assemble(replace(request, recovery=Recovery()))
    smaller = await assembler.assemble(replace(request, recovery=Recovery(), refused_tokens=refused))
    assert forced.estimated_tokens > refused >= smaller.estimated_tokens
    assert smaller.history == forced.history


async def test_a_response_schema_takes_room_as_one_more_tool_would() -> None:
    ledger = TokenLedger(ConservativeTokenEstimator())
    assembler = ContextAssembler(
        registry=ContextContributorRegistry(),
        ledger=ledger,
        compactor=HistoryCompactor(ledger=ledger, summarizer=None),
    )
    schema = {"type": "object", "properties": {f"plot_{number}": {"type": "number"} for number in range(200)}}

    async def turn_of(settings: ModelSettings, tools: tuple[ToolSpec, ...] = ()) -> AssembledTurn:
        return await assembler.assemble(
            TurnRequest(
                context_id="t",
                scope=Scope.MAIN,
                turn=1,
                history=rounds(1),
                budgets=ContextBudgets(),
                tools=tools,
                settings=settings,
            )
        )

    plain = await turn_of(ModelSettings())
    answered = await turn_of(ModelSettings(response_schema=ResponseSchema(name="plots", json_schema=schema)))
    offered = await turn_of(ModelSettings(), (ToolSpec(name="plots", parameters=schema),))
    assert answered.estimated_tokens == offered.estimated_tokens > plain.estimated_tokens + 1_000
    assert answered.pressure.reserved == offered.pressure.reserved
    assert answered.model_input.tools == ()
