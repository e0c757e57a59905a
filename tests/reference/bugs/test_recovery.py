"""An overflow is recognised, answered by one smaller attempt in each turn, and typed when that fails too."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from copyfit import (
    AssistantMessage,
    ContextBudgets,
    ContextContributorRegistry,
    ContextOverflow,
    Mode,
    Scope,
    Transcript,
    Turn,
    open_mode,
)
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, ModelOutput, StreamEvent
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.refusal import Asked, refusal

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio

NAMES_A_LIMIT = '{"error": {"message": "Range of input length should be [1, 6000]"}}'
NAMES_NONE = '{"error": {"message": "The prompt is too long."}}'


@dataclass
class Provider:
    """Refuses the inputs whose place is marked, with the body that a server sends, and keeps what came."""

    refusals: list[bool]
    body: str = NAMES_NONE
    inputs: list[ModelInput] = field(default_factory=list)
    provider: str = "scripted"
    model: str = "m"
    limits: ModelLimits | None = None

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        self.inputs.append(model_input)
        if self.refusals.pop(0):
            raise refusal(lift(400, self.body), Asked(provider="scripted"))
        return ModelOutput(message=AssistantMessage(content="fine"), finish_reason=FinishReason.STOP)

    def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        raise NotImplementedError


def turn_of(bench: "Bench", provider: Provider, *, window: int = 20_000, scope: Scope = Scope.MAIN) -> Turn:
    mode = open_mode(Mode.DYNAMIC, registry=ContextContributorRegistry(), ledger=bench.ledger, summarizer=bench)
    budgets = ContextBudgets(model_max_tokens=window, output_reserve_tokens=1_000)
    return Turn(mode=mode, client=provider, budgets=budgets, context_id="run", scope=scope)


async def test_a_refusal_in_a_servers_own_words_is_answered_by_one_smaller_attempt(bench: "Bench") -> None:
    """Case: opencode-50574."""
    provider = Provider([True, False], NAMES_A_LIMIT)
    turn = turn_of(bench, provider)
    result = await turn.run(Transcript([bench.user("t"), *bench.steps(20, 1_500)]), turn=1)
    assert result.recovered
    first, second = (len(model_input.canonical_bytes) for model_input in provider.inputs)
    assert second < first
    assert turn.budgets.model_max_tokens == 6_000


async def test_each_turn_may_recover_once(bench: "Bench") -> None:
    """Case: omo-8411."""
    provider = Provider([True, True, True, False])
    turn = turn_of(bench, provider)
    history = Transcript([bench.user("t"), *bench.steps(20, 1_500)])
    with pytest.raises(ContextOverflow):
        await turn.run(history, turn=1)
    assert len(provider.inputs) == 2
    grown = history.append(bench.user("smaller please"), *bench.steps(8, 3_000, prefix="d"))
    assert (await turn.run(grown, turn=2)).recovered
    assert len(provider.inputs) == 4


async def test_a_second_refusal_is_a_typed_error_with_both_attempts(bench: "Bench") -> None:
    """Case: crewai-3774, opencode-25187."""
    provider = Provider([True, True])
    turn = turn_of(bench, provider, window=8_000, scope=Scope.SUBAGENT)
    with pytest.raises(ContextOverflow) as caught:
        await turn.run(Transcript([bench.user("t"), *bench.steps(20, 1_200)]), turn=1)
    assert isinstance(caught.value, Exception)
    assert len(caught.value.attempts) == len(provider.inputs) == 2
