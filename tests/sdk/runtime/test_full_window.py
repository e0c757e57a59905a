"""An answer that ran into the end of the window is asked for once more, with a smaller input before it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from copyfit.errors import ContextOverflow
from copyfit.modes import Selected
from copyfit.runtime.turn import Turn
from copyfit.shapes.budgets import ContextBudgets, ModelLimits
from copyfit.shapes.messages import AssistantMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, FinishReason, ModelOutput, StreamEvent
from copyfit.shapes.scope import Mode
from copyfit.shapes.stages import CompactionStatistics, Pressure, TurnRecord, TurnRequest
from copyfit.shapes.transcript import Transcript

pytestmark = pytest.mark.anyio

HISTORY = Transcript([UserMessage(content="first"), UserMessage(content="second")])
WHOLE = ModelOutput(message=AssistantMessage(content="all of it"), finish_reason=FinishReason.STOP)
CUT = ModelOutput(message=AssistantMessage(content="half of"), finish_reason=FinishReason.CONTEXT_WINDOW)


@dataclass
class Client:
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
        yield Finished(await self.complete(model_input))


@dataclass
class Halving:
    """Sends the history, and on recovery its newer half if it can be halved."""

    shrinks: bool = True

    async def select(self, request: TurnRequest) -> Selected:
        history = request.history
        if request.recovery and self.shrinks:
            history = Transcript(history[len(history) // 2 :])
        model_input = ModelInput(system="", messages=history.messages)
        return Selected(
            model_input=model_input,
            history=history,
            estimated_tokens=len(history),
            pressure=Pressure(limit=1, line=1, retain=1, reserved=0, contributed=0, history=0),
            compaction=CompactionStatistics(),
            record=TurnRecord(mode=Mode.DYNAMIC, selected_path="dynamic", request=request, sent=model_input),
        )


def turn(client: Client, *, shrinks: bool = True) -> Turn:
    return Turn(mode=Halving(shrinks), client=client, budgets=ContextBudgets(), context_id="t")


@pytest.mark.parametrize("streamed", [False, True])
async def test_it_is_asked_for_again_with_a_smaller_input(streamed: bool) -> None:
    client, seen = Client([CUT, WHOLE]), list[StreamEvent]()
    result = await turn(client).run(HISTORY, turn=1, on_event=seen.append if streamed else None)
    assert result.output is WHOLE
    assert [len(each.messages) for each in client.inputs] == [2, 1]
    first, second = result.attempts
    assert isinstance(first.overflow, ContextOverflow)
    assert (first.overflow.rule, second.overflow) == ("finish-reason", None)
    assert result.recovered


async def test_a_second_answer_that_is_cut_off_stands() -> None:
    second = replace(CUT, message=AssistantMessage(content="more of"))
    result = await turn(Client([CUT, second])).run(HISTORY, turn=1)
    assert result.output is second
    assert len(result.attempts) == 2


async def test_it_stands_where_nothing_is_left_to_cut() -> None:
    client = Client([CUT])
    result = await turn(client, shrinks=False).run(HISTORY, turn=1)
    assert result.output is CUT
    assert len(client.inputs) == 1
    assert not result.recovered


async def test_a_refusal_of_the_smaller_input_surfaces_with_both_attempts() -> None:
    refused = ContextOverflow("too long", provider="scripted")
    with pytest.raises(ContextOverflow) as caught:
        await turn(Client([CUT, refused])).run(HISTORY, turn=1)
    assert caught.value is refused
    assert len(refused.attempts) == 2
