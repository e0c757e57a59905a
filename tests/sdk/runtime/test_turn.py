"""One turn and its one recovery."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from copyfit.errors import AssemblyError, ContextOverflow, MalformedReply, Unavailable, WindowCannotFit
from copyfit.modes import Selected
from copyfit.runtime.turn import Turn
from copyfit.shapes.budgets import ContextBudgets, ModelLimits
from copyfit.shapes.messages import AssistantMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, FinishReason, ModelOutput, StreamEvent, TextDelta
from copyfit.shapes.scope import Mode
from copyfit.shapes.stages import CompactionStatistics, Pressure, Recovery, TurnRecord, TurnRequest
from copyfit.shapes.transcript import Transcript

pytestmark = pytest.mark.anyio

HISTORY = Transcript([UserMessage(content="first"), UserMessage(content="second")])
ANSWER = ModelOutput(message=AssistantMessage(content="fine"), finish_reason=FinishReason.STOP)


def overflow(limit: int | None = None) -> ContextOverflow:
    return ContextOverflow("too long", provider="scripted", limit_tokens=limit)


@dataclass
class ScriptedClient:
    """Answers each input with the next outcome, and keeps the inputs."""

    outcomes: list[ModelOutput | Exception]
    inputs: list[ModelInput] = field(default_factory=list)
    provider: str = "scripted"
    model: str = "m"
    limits: ModelLimits | None = None

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        self.inputs.append(model_input)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        yield TextDelta("fi")
        output = await self.complete(model_input)
        yield TextDelta("ne")
        yield Finished(output)


@dataclass
class HalvingMode:
    """Sends the history as it is, and on recovery its newer half; keeps the requests."""

    requests: list[TurnRequest] = field(default_factory=list)
    failure: AssemblyError | None = None
    shrinks: bool = True

    async def select(self, request: TurnRequest) -> Selected:
        self.requests.append(request)
        history = request.history
        if request.recovery:
            if self.failure:
                raise self.failure
            if self.shrinks:
                history = Transcript(history[len(history) // 2 :])
        model_input = ModelInput(system="", messages=history.messages, settings=request.settings)
        record = TurnRecord(mode=Mode.DYNAMIC, selected_path="dynamic", request=request, sent=model_input)
        return Selected(
            model_input=model_input,
            history=history,
            estimated_tokens=len(history),
            pressure=Pressure(limit=1, line=1, retain=1, reserved=0, contributed=0, history=0),
            compaction=CompactionStatistics(),
            record=record,
        )


def a_turn(outcomes: Sequence[ModelOutput | Exception], mode: HalvingMode | None = None) -> Turn:
    return Turn(
        mode=mode or HalvingMode(),
        client=ScriptedClient(list(outcomes)),
        budgets=ContextBudgets(model_max_tokens=1_000, output_reserve_tokens=400),
        context_id="test",
    )


def inputs_of(turn: Turn) -> list[ModelInput]:
    assert isinstance(turn.client, ScriptedClient)
    return turn.client.inputs


async def test_an_accepted_input_is_sent_once() -> None:
    turn = a_turn([ANSWER])
    result = await turn.run(HISTORY, turn=1)
    assert result.output == ANSWER
    assert result.history == HISTORY
    assert not result.recovered
    assert len(inputs_of(turn)) == 1


async def test_an_overflow_is_recovered_by_one_forced_assembly_and_one_smaller_input() -> None:
    """Case: RUN-01."""
    mode = HalvingMode()
    turn = a_turn([overflow(), ANSWER], mode)
    result = await turn.run(HISTORY, turn=3)
    assert result.recovered
    assert [request.recovery for request in mode.requests] == [None, Recovery()]
    assert [request.turn for request in mode.requests] == [3, 3]
    first, second = inputs_of(turn)
    assert len(second.messages) < len(first.messages)
    assert result.history == Transcript(second.messages)
    assert [attempt.overflow is None for attempt in result.attempts] == [False, True]


async def test_a_second_overflow_surfaces_with_both_attempts() -> None:
    """Case: RUN-02."""
    turn = a_turn([overflow(), overflow(), ANSWER])
    with pytest.raises(ContextOverflow) as raised:
        await turn.run(HISTORY, turn=1)
    assert [attempt.selected.model_input for attempt in raised.value.attempts] == inputs_of(turn)
    assert len(inputs_of(turn)) == 2


async def test_nothing_is_sent_again_when_the_forced_pass_found_nothing_to_cut() -> None:
    turn = a_turn([overflow(), ANSWER], HalvingMode(shrinks=False))
    with pytest.raises(ContextOverflow) as raised:
        await turn.run(HISTORY, turn=1)
    assert len(inputs_of(turn)) == 1
    assert len(raised.value.attempts) == 1


async def test_an_error_of_the_forced_assembly_surfaces_with_the_overflow_behind_it() -> None:
    turn = a_turn([overflow()], HalvingMode(failure=WindowCannotFit(900, 600)))
    with pytest.raises(WindowCannotFit) as raised:
        await turn.run(HISTORY, turn=1)
    assert isinstance(raised.value.__context__, ContextOverflow)


async def test_another_error_of_the_second_attempt_surfaces_as_it_is() -> None:
    turn = a_turn([overflow(), Unavailable("down", provider="scripted")])
    with pytest.raises(Unavailable):
        await turn.run(HISTORY, turn=1)


async def test_an_error_that_is_no_overflow_is_not_recovered() -> None:
    """Case: RUN-14."""
    turn = a_turn([Unavailable("down", provider="scripted"), ANSWER])
    with pytest.raises(Unavailable):
        await turn.run(HISTORY, turn=1)
    assert len(inputs_of(turn)) == 1


async def test_the_limit_that_the_provider_named_holds_for_the_rest_of_the_run() -> None:
    mode = HalvingMode()
    turn = a_turn([overflow(limit=500), ANSWER, ANSWER], mode)
    await turn.run(HISTORY, turn=1)
    await turn.run(HISTORY, turn=2)
    assert [request.budgets.model_max_tokens for request in mode.requests] == [1_000, 500, 500]
    assert mode.requests[-1].budgets.input_limit_tokens == 250


async def test_a_larger_limit_than_the_configured_one_teaches_nothing() -> None:
    mode = HalvingMode()
    await a_turn([overflow(limit=9_000), ANSWER], mode).run(HISTORY, turn=1)
    assert [request.budgets.model_max_tokens for request in mode.requests] == [1_000, 1_000]


async def test_a_listener_gets_the_stream_and_the_turn_gets_the_whole_answer() -> None:
    events: list[StreamEvent] = []
    result = await a_turn([ANSWER]).run(HISTORY, turn=1, on_event=events.append)
    assert events == [TextDelta("fi"), TextDelta("ne"), Finished(ANSWER)]
    assert result.output == ANSWER


async def test_an_overflow_in_mid_stream_is_recovered_like_any_other() -> None:
    events: list[StreamEvent] = []
    result = await a_turn([overflow(), ANSWER]).run(HISTORY, turn=1, on_event=events.append)
    assert result.recovered
    assert events[0] == TextDelta("fi")
    assert events[-1] == Finished(ANSWER)


async def test_a_stream_without_an_end_is_an_error() -> None:
    class Endless(ScriptedClient):
        async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
            yield TextDelta("fi")

    turn = a_turn([])
    turn.client = Endless([])
    with pytest.raises(MalformedReply, match="without a finished answer"):
        await turn.run(HISTORY, turn=1, on_event=lambda _: None)


async def test_every_turn_has_a_recovery_of_its_own() -> None:
    """Case: RUN-15."""
    turn = a_turn([overflow(), ANSWER, overflow(), ANSWER])
    results = [await turn.run(HISTORY, turn=number) for number in (1, 2)]
    assert [result.recovered for result in results] == [True, True]
    assert len(inputs_of(turn)) == 4


async def test_a_run_that_is_cancelled_meanwhile_gets_no_second_attempt() -> None:
    """Case: RUN-13."""

    class Cancelling(ScriptedClient):
        async def complete(self, model_input: ModelInput) -> ModelOutput:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            return await super().complete(model_input)

    turn = a_turn([])
    turn.client = Cancelling([overflow(), ANSWER])
    with pytest.raises(asyncio.CancelledError) as raised:
        await asyncio.create_task(turn.run(HISTORY, turn=1))
    assert isinstance(raised.value.__context__, ContextOverflow)
    assert len(inputs_of(turn)) == 1


async def test_a_listener_that_fails_does_not_end_the_turn() -> None:
    def deaf(event: StreamEvent) -> None:
        raise LookupError(str(event))

    result = await a_turn([ANSWER]).run(HISTORY, turn=1, on_event=deaf)
    assert result.output == ANSWER


@dataclass
class Kept:
    """A trace that keeps its records."""

    records: list[TurnRecord] = field(default_factory=list)

    def write(self, record: TurnRecord) -> None:
        self.records.append(record)


def combined_overflow(requested: int | None = None) -> ContextOverflow:
    return ContextOverflow(
        "too long together", provider="scripted", limit_tokens=1_000, requested_tokens=requested, combined=True
    )


def asking(turn: Turn, tokens: int) -> Turn:
    turn.settings = ModelSettings(max_output_tokens=tokens)
    turn.trace = Kept()
    return turn


async def test_an_input_refused_for_its_answer_goes_out_whole_with_a_shorter_answer() -> None:
    mode = HalvingMode()
    turn = asking(a_turn([combined_overflow(1_200), ANSWER], mode), 500)
    result = await turn.run(HISTORY, turn=3)
    first, second = inputs_of(turn)
    assert result.recovered
    assert result.history == HISTORY
    assert second.messages == first.messages
    assert (first.settings.max_output_tokens, second.settings.max_output_tokens) == (500, 300)
    assert [request.recovery for request in mode.requests] == [None]


async def test_the_retry_with_a_shorter_answer_is_traced_as_a_recovery() -> None:
    turn = asking(a_turn([combined_overflow(1_200), ANSWER]), 500)
    await turn.run(HISTORY, turn=3)
    assert isinstance(turn.trace, Kept)
    (record,) = turn.trace.records
    assert record.sent == inputs_of(turn)[1]
    assert record.request.recovery == Recovery(reason="combined-overflow")
    assert record.request.settings.max_output_tokens == 300


async def test_the_next_turn_asks_for_the_whole_answer_again() -> None:
    turn = asking(a_turn([combined_overflow(1_200), ANSWER, ANSWER]), 500)
    for number in (1, 2):
        await turn.run(HISTORY, turn=number)
    assert inputs_of(turn)[-1].settings.max_output_tokens == 500


async def test_where_no_answer_worth_having_would_fit_the_history_is_cut() -> None:
    mode = HalvingMode()
    turn = asking(a_turn([combined_overflow(1_400), ANSWER], mode), 500)
    await turn.run(HISTORY, turn=1)
    first, second = inputs_of(turn)
    assert len(second.messages) < len(first.messages)
    assert second.settings.max_output_tokens == 500
    assert [request.recovery for request in mode.requests] == [None, Recovery()]


async def test_a_shorter_answer_that_is_refused_too_is_the_last_attempt() -> None:
    turn = asking(a_turn([combined_overflow(1_200), combined_overflow(1_100), ANSWER]), 500)
    with pytest.raises(ContextOverflow) as raised:
        await turn.run(HISTORY, turn=1)
    assert [attempt.selected.model_input for attempt in raised.value.attempts] == inputs_of(turn)
    assert len(inputs_of(turn)) == 2
