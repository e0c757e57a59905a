"""Records of every kind that a trace keeps."""

from dataclasses import replace

import pytest

from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Attachment, Contribution, Diagnostic, Section, Slot, Trust
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import (
    AssistantMessage,
    Origin,
    OutputRef,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import (
    Admitted,
    AssembledTurn,
    Collected,
    CompactionStatistics,
    ContributorReport,
    PlacedAttachment,
    PlacedMessage,
    PlacedSection,
    Pressure,
    Recovery,
    RenderedPrompt,
    TurnRecord,
    TurnRequest,
    Windowed,
    WindowStatistics,
)
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript

TOOL = ToolSpec(name="search", parameters={"type": "object", "properties": {"q": {"default": None}}})
SETTINGS = ModelSettings(max_output_tokens=100, stop=("END",))
HISTORY = Transcript(
    [
        UserMessage(content="so far", origin=Origin.CHECKPOINT),
        UserMessage(content=(TextPart(text="frage"), TextPart(text="新しい"))),
        AssistantMessage(
            content=(
                ThinkingPart(text="hm", provider="anthropic-messages", opaque={"n": 1.0}),
                ToolCall(id="call-1", name="search", arguments='{"q": 1.0}'),
            )
        ),
        ToolMessage(
            call_id="call-1",
            name="search",
            content="head … tail",
            projected=True,
            output_ref=OutputRef(ref="tool-output-0a", bytes=9, lines=1, tool_name="search"),
        ),
    ]
)
SECTION = Section(id="workspace.identity", slot=Slot.IDENTITY, content="You.", protected=True, revision="r1")
NOTE = UserMessage(content="note", origin=Origin.CONTRIBUTED, source="memory")
DATA = Attachment(id="data.one", source="s", trust=Trust.UNTRUSTED, content="facts")
PROGRESS = {
    "agentId": "main",
    "toolCallId": "plan-1",
    "updatedAt": "2026-11-30T00:00:00.000+00:00",
    "currentModelTurn": 2,
    "anchorFound": False,
}
DIAGNOSTICS = (
    Diagnostic(
        code="PLAN_PROGRESS_OBSERVATION", severity="info", message="m", details=PROGRESS, contributor_id="p"
    ),
    Diagnostic(code="ODD", message="m", details={"object": object(), "nan": float("nan"), "none": None}),
)


@pytest.fixture
def request_of_turn_two() -> TurnRequest:
    return TurnRequest(
        context_id="session:run",
        scope=Scope.MAIN,
        turn=2,
        history=HISTORY,
        budgets=ContextBudgets(window_rounds=3),
        tools=(TOOL,),
        settings=SETTINGS,
    )


@pytest.fixture
def dynamic(request_of_turn_two: TurnRequest) -> TurnRecord:
    """A dynamic turn that went through every stage."""
    reports = (
        ContributorReport(
            contributor_id="workspace.identity",
            required=True,
            status="contributed",
            duration_ms=0.25,
            contribution=Contribution(
                sections=(SECTION,), messages=(NOTE,), attachments=(DATA,), diagnostics=DIAGNOSTICS
            ),
        ),
        ContributorReport(
            contributor_id="memory", required=False, status="failed", duration_ms=1.5, error="offline"
        ),
    )
    sections = (PlacedSection(SECTION, "workspace.identity"),)
    messages = (PlacedMessage(NOTE, "memory"),)
    attachments = (PlacedAttachment(DATA, "memory"),)
    sent = ModelInput("You.", (*HISTORY.messages, NOTE), (TOOL,), SETTINGS)
    turn = AssembledTurn(
        request=request_of_turn_two,
        model_input=sent,
        history=HISTORY,
        estimated_tokens=30,
        abandoned_calls=("call-0",),
        collected=Collected(
            sections=sections,
            messages=messages,
            attachments=attachments,
            diagnostics=DIAGNOSTICS,
            reports=reports,
        ),
        admitted=Admitted(sections=sections, messages=messages, attachments=attachments, diagnostics=DIAGNOSTICS),
        prompt=RenderedPrompt("You.", ("workspace.identity",)),
        pressure=Pressure(limit=100, line=80, retain=16, reserved=3, contributed=2, history=90),
        compaction=CompactionStatistics(
            reason="token-pressure",
            before_tokens=90,
            after_tokens=20,
            pruned_tool_results=1,
            tool_output_refs=("tool-output-0a",),
        ),
        windowed=Windowed(
            messages=Growing(sent.messages),
            statistics=WindowStatistics(estimated_input_tokens=30, input_messages=9, output_messages=5),
            diagnostics=(
                Diagnostic(
                    code="CONTEXT_HISTORY_WINDOWED",
                    message="m",
                    severity="info",
                    contributor_id="context.window",
                ),
            ),
        ),
    )
    return TurnRecord(
        mode=Mode.DYNAMIC, selected_path="dynamic", request=request_of_turn_two, sent=sent, candidate=turn
    )


@pytest.fixture
def shadow(dynamic: TurnRecord) -> TurnRecord:
    """A shadow turn: the static prompt and the canonical history go out, the candidate is traced."""
    legacy = ModelInput("Static.", HISTORY.messages, (TOOL,), SETTINGS)
    return replace(dynamic, mode=Mode.SHADOW, selected_path="legacy", sent=legacy)


@pytest.fixture
def legacy(shadow: TurnRecord) -> TurnRecord:
    """A legacy turn, which has no candidate."""
    return replace(shadow, mode=Mode.LEGACY, candidate=None)


@pytest.fixture
def failed(dynamic: TurnRecord) -> TurnRecord:
    """A dynamic turn whose assembly failed, so that nothing was sent."""
    return replace(dynamic, sent=None, candidate=None, error="Protected context sections require 9 characters.")


@pytest.fixture
def recovery(dynamic: TurnRecord) -> TurnRecord:
    """The second assembly of the dynamic turn, after an overflow."""
    return replace(dynamic, request=replace(dynamic.request, recovery=Recovery()))


@pytest.fixture(params=["dynamic", "shadow", "legacy", "failed", "recovery"])
def any_record(request: pytest.FixtureRequest) -> TurnRecord:
    record: TurnRecord = request.getfixturevalue(request.param)
    return record
