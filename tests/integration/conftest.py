"""A stage on which whole runs are recorded, replayed and proven, and the agent that most of them are of."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from copyfit import (
    AgentRun,
    AssistantMessage,
    ContextBudgets,
    CopyfitError,
    Mode,
    ModelInput,
    ModelLimits,
    ProviderModelClient,
    RunResult,
    ToolCall,
    ToolMessage,
    ToolSpec,
    TraceWriter,
    Transcript,
    UserMessage,
)
from copyfit.compaction.sections import HEADINGS
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.skills import SkillTexts
from copyfit.runtime.tools import Tool
from copyfit.shapes.messages import Message
from copyfit.shapes.model_output import ModelOutput
from copyfit.shapes.stages import TurnRecord
from copyfit.state.plan import PlanStore
from copyfit.state.skills import SkillReference
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_harness.proof.exact import prove
from copyfit_harness.proof.protocols import OPENAI_CHAT
from copyfit_harness.proof.witness import Witness
from copyfit_harness.scripted.chat_replies import Reply, Say
from copyfit_harness.scripted.chat_server import ScriptedChatServer
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.wire.exchange import Exchange

ORIGIN = "http://scripted-provider.invalid"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Traces:
    """Keeps every record as it is, and writes it with a fixed clock and no durations, the same bytes each time."""

    root: Path
    records: list[TurnRecord] = field(default_factory=list)

    def write(self, record: TurnRecord) -> None:
        self.records.append(record)
        TraceWriter(self.root, now=lambda: NOW).write(_without_durations(record))

    def documents(self) -> list[dict[str, Any]]:
        """Return the documents of the run in the order of writing."""
        return [json.loads(TraceWriter(self.root).path_of(record).read_bytes()) for record in self.records]


@dataclass(frozen=True, slots=True)
class Played:
    """One run: how it ended, what was sent, and what was traced."""

    outcome: RunResult | CopyfitError
    sent: tuple[ModelInput, ...]
    exchanges: tuple[Exchange, ...]
    traces: Traces

    @property
    def result(self) -> RunResult:
        assert isinstance(self.outcome, RunResult), self.outcome
        return self.outcome

    @property
    def bodies(self) -> list[bytes]:
        """The request bodies as they crossed the wire, in order."""
        return [exchange.request.body for exchange in self.exchanges]

    def seen(self, number: int) -> str:
        """Return all texts of input `number` (from 1), the system prompt first."""
        model_input = self.sent[number - 1]
        return "\n".join([model_input.system, *(message.text for message in model_input.messages)])


Compose = Callable[[ProviderModelClient, Traces], AgentRun]


@dataclass(frozen=True, slots=True)
class Stage:
    """Plays runs of the real client, runtime and recorder; only the server behind the transport is scripted."""

    folder: Path

    async def play(
        self,
        script: Sequence[Reply],
        compose: Compose,
        history: Transcript,
        *,
        name: str = "run",
        limits: ModelLimits | None = None,
        traces: Path | None = None,
        **server_options: Any,
    ) -> Played:
        """Record the run, replay it, check that both are the same and exact, and return it.

        `compose` is called for each of the two, so it must make everything that a run changes. The traces of the
        replay go to `traces`, if that is given.
        """
        cassette = self.folder / f"{name}.yaml"
        description = "copyfit's scripted chat completions server"
        with ScriptedChatServer(script, **server_options) as server:
            with Recorder(cassette, mode=RecordMode.ALL, description=description) as recorder:
                recorded = await self._run(
                    compose, history, recorder, self._traces(name, "recorded"), limits, server
                )
            assert recorded.bodies == server.bodies
        with Recorder(cassette, mode=RecordMode.NONE) as recorder:
            replayed = await self._run(
                compose, history, recorder, traces or self._traces(name, "replayed"), limits
            )
        _check_same(recorded, replayed)
        return replayed

    def _traces(self, name: str, pass_: str) -> Path:
        return self.folder / "traces" / f"{name}-{pass_}"

    async def _run(
        self,
        compose: Compose,
        history: Transcript,
        recorder: Recorder,
        trace_root: Path,
        limits: ModelLimits | None,
        server: ScriptedChatServer | None = None,
    ) -> Played:
        sent: list[ModelInput] = []
        traces = Traces(trace_root)
        async with httpx.AsyncClient(transport=recorder.transport(server and server.transport())) as http:
            client = OpenAIChatClient(
                "scripted-model", base_url=f"{ORIGIN}/v1", api_key="", http=http, limits=limits, max_retries=0
            )
            run = compose(Witness(client, sent.append), traces)
            outcome: RunResult | CopyfitError
            try:
                outcome = await run.run(history)
            except CopyfitError as error:
                outcome = error
        findings = prove(sent, recorder.exchanges, OPENAI_CHAT)
        assert [finding for finding in findings if not finding.is_exact] == []
        return Played(outcome, tuple(sent), recorder.exchanges, traces)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def _check_same(recorded: Played, replayed: Played) -> None:
    assert _told(recorded.outcome) == _told(replayed.outcome)
    assert recorded.sent == replayed.sent
    assert recorded.bodies == replayed.bodies
    assert _files(recorded.traces) == _files(replayed.traces)


def _told(outcome: RunResult | CopyfitError) -> tuple[object, ...]:
    if isinstance(outcome, RunResult):
        output: ModelOutput = outcome.output
        return tuple(outcome.history), output, outcome.turns, outcome.stop
    return type(outcome), str(outcome)


def _files(traces: Traces) -> dict[str, bytes]:
    paths = [TraceWriter(traces.root).path_of(record) for record in traces.records]
    return {path.relative_to(traces.root).as_posix(): path.read_bytes() for path in paths}


def _without_durations(record: TurnRecord) -> TurnRecord:
    candidate = record.candidate
    if candidate is None:
        return record
    reports = tuple(replace(report, duration_ms=0.0) for report in candidate.collected.reports)
    return replace(record, candidate=replace(candidate, collected=replace(candidate.collected, reports=reports)))


SKILL = SkillReference(
    id="literature-review",
    name="Literature review",
    description="Find papers and weigh them.",
    revision=3,
    version="1.2.0",
)
SKILL_BODY = "Weigh the methods of a paper before its abstract, and say which of its figures you could not check."
PLAN_EXPLANATION = "Read first, judge later."
PLAN = {
    "explanation": PLAN_EXPLANATION,
    "items": [{"status": "in_progress", "step": "find papers"}, {"status": "pending", "step": "weigh them"}],
}
CONTRACT = "Objective: say which line keeps its yield. Constraints: cite every figure."
DEFERRED = "mcp_archive_search"


def fillers(pairs: int) -> list[Message]:
    """Return `pairs` of a question and its answer, all different."""
    said: list[Message] = []
    for number in range(pairs):
        said += [
            UserMessage(content=f"question {number} about plot {number}"),
            AssistantMessage(content=f"answer {number}: the plot was read and nothing was odd"),
        ]
    return said


@dataclass(frozen=True, slots=True)
class Literature:
    """The main agent of the reference's integration test: a skill, a plan, and a tool that waits for promotion."""

    checkpoint: str
    request: Transcript
    script: tuple[Reply, ...]

    def agent(self, mode: Mode = Mode.DYNAMIC, **changes: Any) -> Compose:
        """Return how the agent is composed in `mode`; `changes` replace arguments of `compose_run`."""

        def compose(client: ProviderModelClient, traces: Traces) -> AgentRun:
            plan = PlanStore(agent_id="main", now=lambda: NOW)
            wiring: dict[str, Any] = {
                "mode": mode,
                "budgets": ContextBudgets(prompt_budget_chars=5_000),
                "prompt": {
                    "workspace.identity": "You are a research assistant.",
                    "citation.governance": "Cite every figure.",
                },
                "contract": CONTRACT,
                "tools": (
                    Tool(ToolSpec(name=DEFERRED, description="Search the archive."), lambda: "[]", deferred=True),
                ),
                "skills": SkillTexts({SKILL: SKILL_BODY}),
                "plan": plan,
                "trace": traces,
                "context_id": f"main-{mode}",
            }
            return compose_run(RunParts(client=client, **(wiring | changes)))

        return compose

    def resumed_history(self) -> Transcript:
        """Return 60 messages: a skill was read and the plan set in the first step, and 28 rounds followed."""
        calls = tuple(call for reply in self.script[:2] if isinstance(reply, Say) for call in reply.calls)
        body = f"Selected skill {SKILL.id}@{SKILL.version} (revision {SKILL.revision})\n\n{SKILL_BODY}"
        return Transcript(
            [
                *self.request,
                AssistantMessage(content=calls),
                ToolMessage(call_id=calls[0].id, name=calls[0].name, content=body),
                ToolMessage(call_id=calls[1].id, name=calls[1].name, content='{"ok":true}'),
                *fillers(28),
            ]
        )

    def resumed(self, **changes: Any) -> Compose:
        """Return how the agent is composed with the plan that its session holds."""

        def compose(client: ProviderModelClient, traces: Traces) -> AgentRun:
            plan = PlanStore(agent_id="main", now=lambda: NOW)
            plan.update(PLAN, tool_call_id="call-update_plan", turn=1)
            return self.agent(plan=plan, **changes)(client, traces)

        return compose


@pytest.fixture
def literature() -> Literature:
    return Literature(
        checkpoint="\n\n".join(f"## {heading}\n- noted under {heading.lower()}" for heading in HEADINGS),
        request=Transcript([UserMessage(content="Which papers should I trust?")]),
        script=(
            _calling("read_skill", skillId=SKILL.id),
            _calling("update_plan", **PLAN),
            _calling("tool_search", query=f"select:{DEFERRED}"),
            Say("The ones whose methods can be checked."),
        ),
    )


def _calling(tool: str, **arguments: Any) -> Say:
    return Say(calls=(ToolCall(id=f"call-{tool}", name=tool, arguments=json.dumps(arguments)),))
