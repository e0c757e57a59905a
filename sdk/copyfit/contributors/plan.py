"""Contribute the plan as data at the tail, and observe how far the run has gone since it was updated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from copyfit.contributors.runtime import data_message
from copyfit.contributors.standing import EVERY_SCOPE
from copyfit.ports.contributor import ContributeRequest
from copyfit.shapes.contributions import Contribution, Diagnostic
from copyfit.shapes.running import RunningFact
from copyfit.shapes.scope import Scope
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript
from copyfit.state.plan import PLAN_PROGRESS_CODE, UPDATE_PLAN, PlanSnapshot, PlanStore
from copyfit.state.values import compact_json

PLAN_STATE: Final = "plan_state"
"""The channel name of the plan."""

_REMINDER: Final = (
    f"This is the plan as {UPDATE_PLAN} last stated it. Keep it true: send the whole plan again when a step is "
    "finished, begun or no longer needed."
)


class PlanState:
    """Shows the model the standing plan, which is its own text and so has no authority beyond data."""

    id = "plan.state"
    required = True

    def __init__(self, store: PlanStore, scopes: Sequence[Scope] = EVERY_SCOPE) -> None:
        self.scopes = scopes
        self._store = store
        self._progress = PlanProgress()

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return one data message and one diagnostic, or nothing when there is no plan."""
        snapshot = self._store.snapshot
        if snapshot is None:
            return Contribution()
        line = compact_json({"instruction": _REMINDER, **snapshot.stated()})
        return Contribution(
            messages=(data_message(PLAN_STATE, line),),
            diagnostics=(
                Diagnostic(
                    code=PLAN_PROGRESS_CODE,
                    severity="info",
                    message="The progress of the run since its plan was last updated.",
                    details=self._progress.observe(snapshot, request.history, turn=request.turn),
                ),
            ),
        )


@dataclass(frozen=True, slots=True)
class _Tally:
    """Assistant messages and named results of other tools until here, and how many there were at each update.

    Results that stand in the step of an update come after it.
    """

    model_steps: int = 0
    tool_results: int = 0
    at_updates: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class PlanProgress:
    """Observes how far a run has gone since its plan was updated; it judges nothing and starts nothing."""

    def __init__(self) -> None:
        self._tally = RunningFact(_Tally(), _count)

    def observe(self, snapshot: PlanSnapshot, history: Transcript, *, turn: int) -> dict[str, Any]:
        """Return what a trace keeps of the plan's age, by the names of trace schema v5.

        The counters are left out when the call that set the plan is no longer in `history`; nothing is guessed
        then. Results without a tool name are not counted.
        """
        tally = self._tally.of(history.steps)
        before = tally.at_updates.get(snapshot.tool_call_id)
        progress: dict[str, Any] = {
            "agentId": snapshot.agent_id,
            "toolCallId": snapshot.tool_call_id,
            "updatedAt": snapshot.updated_at,
            "currentModelTurn": turn,
            "anchorFound": before is not None,
        }
        if before is not None:
            progress["modelStepsSinceUpdate"] = tally.model_steps - before[0]
            progress["toolResultsSinceUpdate"] = tally.tool_results - before[1]
        return progress


def _count(tally: _Tally, _: int, step: Step) -> _Tally:
    head = step.messages[0]
    if head.role == "user":
        return tally
    model_steps = tally.model_steps + (head.role == "assistant")
    at_updates = tally.at_updates
    if head.role == "assistant":
        updates = [call.id for call in head.tool_calls if call.name == UPDATE_PLAN]
        if updates:
            at_updates = {**at_updates, **dict.fromkeys(updates, (model_steps, tally.tool_results))}
    results = sum(message.role == "tool" and message.name not in (None, UPDATE_PLAN) for message in step.messages)
    return _Tally(model_steps, tally.tool_results + results, at_updates)
