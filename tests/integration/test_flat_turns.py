"""A turn looks at what is new, however much stands before it; `make bench` shows what that is worth."""

from collections.abc import Iterator
from typing import Any

import pytest

from copyfit.contributors.plan import PlanState
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.contributors.runtime import runtime_contributors
from copyfit.contributors.standing import identity
from copyfit.modes import AssemblyMode, open_mode
from copyfit.ports.contributor import ContextContributor
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import TurnRequest
from copyfit.shapes.transcript import Transcript
from copyfit.state.channels import DurableState
from copyfit.state.plan import PlanStore
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger

pytestmark = pytest.mark.anyio


class Looks:
    """Counts the items that anybody takes out of a growing sequence, and the messages that are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        one, every, count = Growing.__getitem__, Growing.__iter__, ConservativeTokenEstimator.count_message

        def get(growing: Growing[Any], index: Any) -> Any:
            found = one(growing, index)
            self.number += len(found) if isinstance(index, slice) else 1
            return found

        def walk(growing: Growing[Any]) -> Iterator[Any]:
            self.number += len(growing)
            return every(growing)

        def counted(estimator: ConservativeTokenEstimator, message: Message) -> int:
            self.number += 1
            return count(estimator, message)

        monkeypatch.setattr(Growing, "__getitem__", get)
        monkeypatch.setattr(Growing, "__iter__", walk)
        monkeypatch.setattr(ConservativeTokenEstimator, "count_message", counted)

    def taken(self) -> int:
        number, self.number = self.number, 0
        return number


def step(number: int) -> tuple[Message, Message]:
    call = ToolCall(id=f"c{number}", name="read")
    return AssistantMessage(content=(call,)), ToolMessage(call_id=call.id, name="read", content="found")


def opened(mode: Mode) -> AssemblyMode:
    plan = PlanStore(agent_id="main")
    plan.update({"items": [{"step": "read", "status": "pending"}]}, tool_call_id="c1", turn=1)
    contributors: list[ContextContributor] = [
        identity("You read."),
        PlanState(plan),
        *runtime_contributors(DurableState()),
    ]
    return open_mode(
        mode,
        registry=ContextContributorRegistry(contributors),
        ledger=TokenLedger(ConservativeTokenEstimator()),
        static_system="You read.",
    )


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_turn_takes_as_many_looks_after_a_thousand_steps_as_after_fifty(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    select, budgets = opened(mode).select, ContextBudgets(model_max_tokens=10_000_000)
    history, looks, taken = Transcript([UserMessage(content="task")]), Looks(monkeypatch), []
    for turn in range(1, 1_001):
        history = history.append(*step(turn))
        selected = await select(
            TurnRequest(context_id="t", scope=Scope.MAIN, turn=turn, history=history, budgets=budgets)
        )
        history = selected.history
        taken.append(looks.taken())
    assert len(history) == 2_001
    assert set(taken[50:]) == {taken[50]}
    assert taken[50] < 50
