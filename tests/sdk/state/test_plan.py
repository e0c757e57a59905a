import json
from datetime import UTC, datetime
from typing import Any

import pytest

from copyfit.errors import ToolError
from copyfit.shapes.messages import ToolCall
from copyfit.state.plan import PlanItem, PlanStore, superseded_result, superseded_updates, update_plan_spec

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def store() -> PlanStore:
    return PlanStore(agent_id="main", now=lambda: NOON)


def items(*steps: str) -> list[dict[str, str]]:
    return [{"status": "pending", "step": step} for step in steps]


def test_an_update_replaces_the_whole_plan_and_answers_with_it() -> None:
    """Case: PLN-01."""
    plan = store()
    plan.update({"items": items("old")}, tool_call_id="call-0", turn=1)
    arguments = {
        "explanation": " two steps ",
        "items": [{"status": "completed", "step": " read "}, {"status": "in_progress", "step": "write"}],
    }
    snapshot = plan.update(arguments, tool_call_id="call-1", turn=2)
    assert plan.snapshot == snapshot
    assert snapshot.items == (PlanItem("read", "completed"), PlanItem("write", "in_progress"))
    assert json.loads(snapshot.json) == {
        "agentId": "main",
        "explanation": "two steps",
        "items": [{"status": "completed", "step": "read"}, {"status": "in_progress", "step": "write"}],
        "toolCallId": "call-1",
        "turn": 2,
        "updatedAt": "2026-11-30T12:00:00.000+00:00",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"items": items(*"abcdefghijklmnopqrstu")},
        {"items": items("   ")},
        {"items": items("x" * 1_001)},
        {"items": [{"status": "done", "step": "x"}]},
        {"items": [{"status": ["pending"], "step": "x"}]},
        {"items": [{"step": "x"}]},
        {"items": ["x"]},
        {"items": "x"},
        {},
        {"items": [], "explanation": "x" * 2_001},
        {"items": [], "explanation": 5},
    ],
)
def test_a_plan_outside_the_limits_is_refused_and_the_old_one_stands(arguments: dict[str, Any]) -> None:
    """Case: PLN-20."""
    plan = store()
    old = plan.update({"items": items("old")}, tool_call_id="call-0", turn=1)
    with pytest.raises(ToolError, match="Send the whole plan again"):
        plan.update(arguments, tool_call_id="call-1", turn=2)
    assert plan.snapshot == old


def test_the_limits_themselves_are_allowed() -> None:
    snapshot = store().update(
        {"items": items(*["x" * 1_000] * 20), "explanation": "y" * 2_000}, tool_call_id="c", turn=1
    )
    assert len(snapshot.items) == 20


def test_an_empty_list_clears_the_plan() -> None:
    """Case: PLN-21."""
    plan = store()
    plan.update({"items": items("old")}, tool_call_id="call-0", turn=1)
    assert plan.update({"items": []}, tool_call_id="call-1", turn=2).items == ()
    assert plan.snapshot is None


def test_of_one_batch_only_the_last_update_counts() -> None:
    """Case: PLN-02."""
    batch = [
        ToolCall(id="first", name="update_plan"),
        ToolCall(id="search", name="web_search"),
        ToolCall(id="last", name="update_plan"),
    ]
    assert superseded_updates(batch) == {"first": "last"}
    assert superseded_updates(batch[1:]) == {}
    assert superseded_updates([]) == {}
    assert json.loads(superseded_result("last")) == {"ok": True, "superseded": True, "supersededBy": "last"}


def test_the_tool_spec_accepts_what_the_store_accepts() -> None:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(update_plan_spec().parameters)
    assert validator.is_valid({"items": items("x"), "explanation": "y"})
    assert not validator.is_valid({"items": items(*"abcdefghijklmnopqrstu")})
    assert not validator.is_valid({"items": [{"status": "done", "step": "x"}]})
