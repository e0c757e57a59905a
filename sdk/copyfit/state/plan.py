"""Keep the plan that a model maintains through `update_plan`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, cast, get_args

from copyfit.errors import ToolError
from copyfit.shapes.messages import ToolCall
from copyfit.shapes.tools import ToolSpec
from copyfit.state.values import compact_json

UPDATE_PLAN: Final = "update_plan"
PLAN_PROGRESS_CODE: Final = "PLAN_PROGRESS_OBSERVATION"
"""The code of the diagnostic that says how far the run has gone since the plan was last updated."""
MAX_ITEMS: Final = 20
MAX_STEP_CHARS: Final = 1_000
MAX_EXPLANATION_CHARS: Final = 2_000
"""Items, and code points after trimming (behaviour.md section 1.3)."""

PlanStatus = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One step of a plan and how far it is."""

    step: str
    status: PlanStatus

    def as_data(self) -> dict[str, str]:
        """Return the item as JSON data."""
        return {"status": self.status, "step": self.step}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSnapshot:
    """The whole plan as one call set it; `updated_at` is an ISO 8601 time in UTC."""

    agent_id: str
    items: tuple[PlanItem, ...]
    explanation: str | None = None
    tool_call_id: str
    turn: int
    updated_at: str

    def stated(self) -> dict[str, Any]:
        """Return what the model stated, as JSON data: the explanation where there is one, and the items."""
        explained = {} if self.explanation is None else {"explanation": self.explanation}
        return {**explained, "items": [item.as_data() for item in self.items]}

    @property
    def json(self) -> str:
        """The snapshot as one line of JSON: what the call answers."""
        return compact_json(
            {
                "agentId": self.agent_id,
                **self.stated(),
                "toolCallId": self.tool_call_id,
                "turn": self.turn,
                "updatedAt": self.updated_at,
            }
        )


class PlanStore:
    """The plan of one agent; every update replaces it whole, and one without items clears it."""

    def __init__(self, *, agent_id: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._agent_id = agent_id
        self._now = now
        self._snapshot: PlanSnapshot | None = None

    @property
    def snapshot(self) -> PlanSnapshot | None:
        """The plan as it stands; None before the first update and after a clearing one."""
        return self._snapshot

    def update(self, arguments: Mapping[str, Any], *, tool_call_id: str, turn: int) -> PlanSnapshot:
        """Replace the plan by what the call `tool_call_id` says, and return the new snapshot.

        Raises:
            ToolError: the arguments are not a plan within the limits; the old plan stands.

        """
        snapshot = PlanSnapshot(
            agent_id=self._agent_id,
            items=_items(arguments.get("items")),
            explanation=_explanation(arguments.get("explanation")),
            tool_call_id=tool_call_id,
            turn=turn,
            updated_at=self._now().astimezone(UTC).isoformat(timespec="milliseconds"),
        )
        self._snapshot = snapshot if snapshot.items else None
        return snapshot


def superseded_updates(calls: Sequence[ToolCall]) -> dict[str, str]:
    """Return, for each `update_plan` call of one batch but the last, the id of that last one.

    A superseded call is answered with `superseded_result` and not run.
    """
    updates = [call.id for call in calls if call.name == UPDATE_PLAN]
    return dict.fromkeys(updates[:-1], updates[-1]) if updates else {}


def superseded_result(last_call_id: str) -> str:
    """Return the successful result of an update that the call `last_call_id` of the same batch replaces."""
    return compact_json({"ok": True, "superseded": True, "supersededBy": last_call_id})


def update_plan_spec() -> ToolSpec:
    """Return what the model is told about `update_plan`."""
    return ToolSpec(
        name=UPDATE_PLAN,
        description="Replace the whole plan of this task; an empty list clears it.",
        parameters={
            "type": "object",
            "properties": {
                "explanation": {"type": "string", "maxLength": MAX_EXPLANATION_CHARS},
                "items": {
                    "type": "array",
                    "maxItems": MAX_ITEMS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "status": {"type": "string", "enum": list(get_args(PlanStatus))},
                            "step": {"type": "string", "minLength": 1, "maxLength": MAX_STEP_CHARS},
                        },
                        "required": ["status", "step"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["items"],
            "additionalProperties": False,
        },
    )


def _items(value: Any) -> tuple[PlanItem, ...]:
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise _refused(f"items must be a list of at most {MAX_ITEMS}")
    return tuple(_item(item, number) for number, item in enumerate(value, start=1))


def _item(value: Any, number: int) -> PlanItem:
    if not isinstance(value, dict):
        raise _refused(f"item {number} must be an object with status and step")
    status, step = value.get("status"), value.get("step")
    if status not in get_args(PlanStatus):
        raise _refused(f"the status of item {number} must be one of {', '.join(get_args(PlanStatus))}")
    if not isinstance(step, str) or not 1 <= len(step.strip()) <= MAX_STEP_CHARS:
        raise _refused(f"the step of item {number} must be a text of 1 to {MAX_STEP_CHARS} characters")
    return PlanItem(step.strip(), cast("PlanStatus", status))


def _explanation(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value.strip()) > MAX_EXPLANATION_CHARS:
        raise _refused(f"explanation must be a text of at most {MAX_EXPLANATION_CHARS} characters")
    return value.strip() or None


def _refused(rule: str) -> ToolError:
    return ToolError(UPDATE_PLAN, f"{UPDATE_PLAN} refused the plan: {rule}. Send the whole plan again.")
