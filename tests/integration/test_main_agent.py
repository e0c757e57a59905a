"""The main agent of the reference: a skill is read, a plan is set, a deferred tool is promoted, then an answer.

Two things differ on purpose (DESIGN section 8): turns count from 1, and the plan is a data_only message at the
tail instead of a protected section.
"""

import json
from typing import Any

import jsonschema
import pytest

from copyfit import AssistantMessage, Mode, ModelInput, ToolMessage
from copyfit.shapes.messages import Message, Origin
from copyfit.trace.schema import sent_input, trace_schema
from copyfit_harness.proof.exact import assert_exact
from copyfit_harness.proof.protocols import OPENAI_CHAT

pytestmark = pytest.mark.anyio

SKILL_BODY = "Weigh the methods of a paper before its abstract"
DEFERRED = "mcp_archive_search"


async def test_four_scripted_turns_are_four_model_calls(stage: Any, literature: Any) -> None:
    """Case: INT-01."""
    played = await stage.play(literature.script, literature.agent(), literature.request)
    assert len(played.sent) == played.result.turns == 4
    assert played.result.output.message.text == "The ones whose methods can be checked."


async def test_the_skill_body_comes_once_and_never_into_the_prompt(stage: Any, literature: Any) -> None:
    """Case: INT-02, NAT-04."""
    played = await stage.play(literature.script, literature.agent(), literature.request)
    assert not any(SKILL_BODY in sent.system for sent in played.sent)
    assert all("literature-review" in sent.system for sent in played.sent)
    assert [played.seen(number).count(SKILL_BODY) for number in (1, 2, 3, 4)] == [0, 1, 1, 1]


async def test_a_skill_that_was_read_is_named_at_the_tail_as_visible(stage: Any, literature: Any) -> None:
    """Case: INT-03, NAT-04."""
    played = await stage.play(literature.script, literature.agent(), literature.request)
    assert _channels(played.sent[0]) == []
    tail = played.sent[1].messages[-1].text
    assert 'authority="data_only" channel="active_skills"' in tail
    assert '"id":"literature-review"' in tail
    assert '"instructionsVisibleInHistory":true' in tail


async def test_the_plan_is_data_at_the_tail_from_the_turn_after_it_was_set(stage: Any, literature: Any) -> None:
    played = await stage.play(literature.script, literature.agent(), literature.request)
    assert [_channels(sent) for sent in played.sent] == [
        [],
        ["active_skills"],
        ["plan_state", "active_skills"],
        ["plan_state", "active_skills"],
    ]
    plan = next(message.text for message in played.sent[2].messages if _channel(message) == "plan_state")
    assert "Read first, judge later." in plan
    assert "Read first, judge later." not in played.sent[2].system


async def test_a_deferred_tool_appears_on_the_turn_after_it_was_found(stage: Any, literature: Any) -> None:
    """Case: INT-05, NAT-05."""
    played = await stage.play(literature.script, literature.agent(), literature.request)
    offered = [{tool.name for tool in sent.tools} for sent in played.sent]
    assert [DEFERRED in names for names in offered] == [False, False, False, True]
    assert all("tool_search" in names for names in offered[:3])
    assert DEFERRED in played.sent[0].system


async def test_legacy_has_the_same_conversation_and_tools_without_the_run_state(
    stage: Any, literature: Any
) -> None:
    """Case: INT-06."""
    dynamic, legacy = [
        await stage.play(literature.script, literature.agent(mode), literature.request, name=mode.value)
        for mode in (Mode.DYNAMIC, Mode.LEGACY)
    ]
    assert [_canonical(sent) for sent in dynamic.sent] == [_canonical(sent) for sent in legacy.sent]
    assert [sent.tools for sent in dynamic.sent] == [sent.tools for sent in legacy.sent]
    for number, channel in ((2, "active_skills"), (3, "plan_state")):
        assert channel in dynamic.seen(number)
        assert channel not in legacy.seen(number)


async def test_the_run_state_of_a_turn_never_enters_the_history(stage: Any, literature: Any) -> None:
    played = await stage.play(literature.script, literature.agent(), literature.request)
    assert {message.origin for message in played.result.history} == {Origin.CANONICAL}
    kinds = [type(message).__name__ for message in played.result.history]
    step = [AssistantMessage.__name__, ToolMessage.__name__]
    assert kinds == ["UserMessage", *step, *step, *step, "AssistantMessage"]


async def test_every_turn_leaves_a_trace_of_every_phase(stage: Any, literature: Any) -> None:
    """Case: INT-10."""
    played = await stage.play(literature.script, literature.agent(), literature.request)
    documents = played.traces.documents()
    assert [document["turn"] for document in documents] == [1, 2, 3, 4]
    for document in documents:
        jsonschema.validate(document, trace_schema())
        assert document["schemaVersion"] == 5
        assert {"collection", "admitted", "renderedContext", "llmInput"} <= document.keys()
        assert {each["status"] for each in document["collection"]["contributors"]} == {"contributed"}
    reports = [report for record in played.traces.records for report in record.candidate.collected.reports]
    assert all(report.duration_ms >= 0 for report in reports)
    assert any(report.duration_ms > 0 for report in reports)


async def test_the_trace_names_exactly_what_the_provider_received(stage: Any, literature: Any) -> None:
    played = await stage.play(literature.script, literature.agent(), literature.request)
    documents = played.traces.documents()
    for document, sent, exchange in zip(documents, played.sent, played.exchanges, strict=True):
        traced = sent_input(document)
        assert traced is not None
        assert traced.canonical_bytes == sent.canonical_bytes
        assert_exact(traced, exchange, OPENAI_CHAT)


async def test_the_trace_says_how_far_the_run_has_gone_since_the_plan(stage: Any, literature: Any) -> None:
    played = await stage.play(literature.script, literature.agent(), literature.request)
    documents = played.traces.documents()
    assert [("planProgress" in document) for document in documents] == [False, False, True, True]
    progress = documents[3]["planProgress"]
    assert progress.pop("updatedAt").startswith("2026-01-01T00:00:00")
    assert progress == {
        "agentId": "main",
        "toolCallId": "call-update_plan",
        "currentModelTurn": 4,
        "anchorFound": True,
        "modelStepsSinceUpdate": 1,
        "toolResultsSinceUpdate": 1,
    }


async def test_a_streamed_run_is_the_same_run(stage: Any, literature: Any) -> None:
    whole = await stage.play(literature.script, literature.agent(), literature.request)
    streamed = await stage.play(
        literature.script, literature.agent(on_event=lambda event: None), literature.request, name="streamed"
    )
    assert streamed.result.history == whole.result.history
    assert streamed.sent == whole.sent
    assert all(json.loads(body)["stream"] is True for body in streamed.bodies)


def _channel(message: Message) -> str | None:
    return message.source if message.role == "user" and message.origin is Origin.CONTRIBUTED else None


def _channels(sent: ModelInput) -> list[str]:
    return [channel for message in sent.messages if (channel := _channel(message)) is not None]


def _canonical(sent: ModelInput) -> list[Message]:
    return [message for message in sent.messages if message.origin is Origin.CANONICAL]
