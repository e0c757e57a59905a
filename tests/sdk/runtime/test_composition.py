"""A whole run out of its parts, against a scripted model."""

import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from copyfit.errors import DuplicateId, InvalidId
from copyfit.ports.contributor import ContextContributor, ContributeRequest, FactoryRequest
from copyfit.runtime.agent import RunResult
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.skills import SkillTexts
from copyfit.runtime.tools import Tool
from copyfit.settings import Settings
from copyfit.shapes.budgets import ContextBudgets, ModelLimits
from copyfit.shapes.contributions import Contribution, Section, Slot
from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, FinishReason, ModelOutput, StreamEvent
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import TurnRecord
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.state.channels import Channel
from copyfit.state.plan import PlanStore
from copyfit.state.skills import SkillReference

pytestmark = pytest.mark.anyio

REQUEST = UserMessage(content="Which line keeps its yield?")
SKILLS = SkillTexts(
    {SkillReference(id="folding", version="1.2", revision=3, description="how to fold"): "FOLD TWICE"}
)
PLAN = '{"items":[{"status":"pending","step":"look"}]}'


@dataclass
class ScriptedClient:
    """Answers each input with the next message, and keeps the inputs."""

    answers: list[AssistantMessage]
    inputs: list[ModelInput] = field(default_factory=list)
    provider: str = "scripted"
    model: str = "m"
    limits: ModelLimits | None = None

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        self.inputs.append(model_input)
        return ModelOutput(message=self.answers.pop(0), finish_reason=FinishReason.STOP)

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        yield Finished(await self.complete(model_input))


@dataclass
class Kept:
    """A trace that keeps its records."""

    records: list[TurnRecord] = field(default_factory=list)

    def write(self, record: TurnRecord) -> None:
        self.records.append(record)


@dataclass
class Probe:
    """A factory of one contributor that gives a section, and counts both."""

    id: str = "probe"
    requests: list[FactoryRequest] = field(default_factory=list)
    contributions: int = 0

    def create(self, request: FactoryRequest) -> ContextContributor:
        self.requests.append(request)
        probe = self

        class Contributor:
            id = "probe.section"
            scopes = tuple(Scope)
            required = True

            async def contribute(self, request: ContributeRequest) -> Contribution:
                probe.contributions += 1
                section = Section(id="probe.section", slot=Slot.FOOTER, content="PROBE TEXT")
                return Contribution(sections=(section,))

        return Contributor()


def calling(*calls: tuple[str, str]) -> AssistantMessage:
    return AssistantMessage(
        content=tuple(
            ToolCall(id=f"{name}-{n}", name=name, arguments=text) for n, (name, text) in enumerate(calls)
        )
    )


DONE = AssistantMessage(content="done")


async def run_of(
    *answers: AssistantMessage, history: Sequence[Message] = (REQUEST,), **parts: Any
) -> tuple[ScriptedClient, RunResult]:
    client = ScriptedClient(list(answers))
    run = compose_run(RunParts(client=client, **parts))
    return client, await run.run(Transcript(history))


def tool_names(model_input: ModelInput) -> list[str]:
    return [tool.name for tool in model_input.tools]


def channel(model_input: ModelInput, name: str) -> str:
    (found,) = [message.text for message in model_input.messages if f'channel="{name}"' in message.text]
    return found


async def test_the_client_alone_makes_a_run() -> None:
    client, result = await run_of(DONE)
    (sent,) = client.inputs
    assert result.output.message == DONE
    assert (sent.system, sent.messages, tool_names(sent)) == ("", (REQUEST,), ["read_tool_output"])


async def test_the_prompt_is_the_same_on_every_turn_and_its_parts_stand_in_the_order_of_their_slots() -> None:
    """Case: NAT-01."""
    client, result = await run_of(
        calling(("look", "{}")),
        DONE,
        prompt={
            "environment.capabilities": "There is a lab.",
            "citation.governance": "Cite.",
            "workspace.identity": "You are a botanist.",
            "specialist.identity": "You know rice.",
        },
        contract="Name one line.",
        tools=[Tool(ToolSpec(name="look"), lambda: "seen")],
    )
    first, second = client.inputs
    assert first.system == second.system
    texts = [
        "You are a botanist.",
        "You know rice.",
        "Cite.",
        "<run_contract>",
        "Name one line.",
        "There is a lab.",
    ]
    places = [first.system.index(text) for text in texts]
    assert places == sorted(places)
    assert second.messages[-1].text == "seen"
    assert [message.role for message in result.history] == ["user", "assistant", "tool", "assistant"]


async def test_factories_are_asked_once_and_told_of_the_run() -> None:
    """Case: NAT-02."""
    probe = Probe()
    client, _ = await run_of(
        calling(("update_plan", PLAN)),
        DONE,
        factories=[probe],
        scope=Scope.SUBAGENT,
        session_id="session-1",
        plan=True,
    )
    (request,) = probe.requests
    assert request.context_id.startswith("session-1:")
    assert request.scope is Scope.SUBAGENT
    assert all("PROBE TEXT" in sent.system for sent in client.inputs)


async def test_two_runs_of_one_session_have_ids_of_their_own_unless_they_are_given() -> None:
    client = ScriptedClient([])
    parts = RunParts(client=client, session_id="s")
    assert compose_run(parts).turn.context_id != compose_run(parts).turn.context_id
    assert compose_run(replace(parts, context_id="given")).turn.context_id == "given"


def test_two_factories_of_one_id_are_refused() -> None:
    with pytest.raises(DuplicateId, match="probe"):
        compose_run(RunParts(client=ScriptedClient([]), factories=[Probe(), Probe()]))


async def test_shadow_asks_every_contributor_and_sends_the_static_prompt() -> None:
    """Case: NAT-03."""
    probe, trace = Probe(), Kept()
    client, _ = await run_of(
        DONE,
        mode=Mode.SHADOW,
        factories=[probe],
        trace=trace,
        prompt="You are a botanist.",
        contract="Name one line.",
        skills=SKILLS,
        tools=[Tool(ToolSpec(name="rare"), lambda: "x", deferred=True)],
    )
    (sent,) = client.inputs
    assert probe.contributions == 1
    assert "PROBE TEXT" not in sent.system
    assert sent.system.startswith("You are a botanist.\n")
    assert "\n\n<run_contract>" in sent.system
    assert '"id":"folding"' in sent.system
    assert sent.system.endswith(": rare")
    (record,) = trace.records
    assert record.candidate is not None
    assert "PROBE TEXT" in record.candidate.model_input.system


async def test_legacy_sends_what_shadow_sends() -> None:
    sent: list[list[ModelInput]] = []
    for mode in (Mode.SHADOW, Mode.LEGACY):
        client, _ = await run_of(
            calling(("update_plan", PLAN)),
            DONE,
            mode=mode,
            prompt="You are a botanist.",
            contract="Name one line.",
            plan=PlanStore(agent_id="a", now=lambda: datetime(2026, 1, 1, tzinfo=UTC)),
        )
        sent.append(client.inputs)
    assert sent[0] == sent[1]
    assert len(sent[0]) == 2


async def test_a_skill_is_catalogued_read_once_and_known_to_be_visible() -> None:
    """Case: NAT-04."""
    client, _ = await run_of(calling(("read_skill", '{"skillId":"folding"}')), DONE, skills=SKILLS)
    first, second = client.inputs
    assert "how to fold" in first.system
    assert "FOLD TWICE" not in first.system + second.system
    assert sum("FOLD TWICE" in message.text for message in second.messages) == 1
    shown = channel(second, "active_skills")
    assert '"instructionsVisibleInHistory":true' in shown
    assert '"revision":3,"version":"1.2"' in shown


async def test_of_two_plans_in_a_step_the_last_one_is_kept_and_shown_at_the_tail() -> None:
    """Case: NAT-10."""
    store = PlanStore(agent_id="a")
    client, result = await run_of(
        calling(
            ("update_plan", '{"items":[{"status":"pending","step":"early"}]}'),
            ("read_skill", '{"skillId":"folding"}'),
            ("update_plan", PLAN),
        ),
        DONE,
        plan=store,
        skills=SKILLS,
    )
    assert store.snapshot is not None
    assert (store.snapshot.tool_call_id, store.snapshot.turn) == ("update_plan-2", 1)
    assert '"superseded":true' in result.history[2].text
    assert '"step":"look"' in channel(client.inputs[1], "plan_state")
    assert any("FOLD TWICE" in message.text for message in client.inputs[1].messages)


@pytest.mark.parametrize("scope", list(Scope))
async def test_what_is_not_asked_for_is_not_there(scope: Scope) -> None:
    """Case: NAT-18."""
    client, _ = await run_of(DONE, scope=scope, tools=[Tool(ToolSpec(name="list_files"), lambda: "")])
    (sent,) = client.inputs
    assert tool_names(sent) == ["list_files", "read_tool_output"]
    assert "available_skills" not in sent.system


async def test_a_long_history_is_summarised_by_the_client_itself_without_tools() -> None:
    """Case: NAT-08, NAT-09, RUN-04."""
    old = [
        UserMessage(content=f"question {n // 2}") if n % 2 == 0 else AssistantMessage(content=f"answer {n // 2}")
        for n in range(60)
    ]
    sections = "## Primary request and intent\n- THE SUMMARY\n## Next step\n- answer"
    client, result = await run_of(AssistantMessage(content=sections), DONE, history=[*old, REQUEST])
    summary, sent = client.inputs
    assert summary.tools == ()
    assert "<new_messages>" in summary.messages[0].text
    assert sent.messages[0].origin is Origin.CHECKPOINT
    assert "THE SUMMARY" in sent.messages[0].text
    assert "authority contract" in sent.messages[0].text
    assert result.history[0] == sent.messages[0]
    assert len(sent.messages) == 1 + 20


async def test_an_output_of_200000_lines_is_shown_bounded_and_read_back_by_its_ref() -> None:
    """Case: NAT-13."""
    output = "".join(f"line {n}\n" for n in range(1, 200_001)) + "4 more\n" * 4
    client = ScriptedClient([calling(("run_shell", "{}"))])
    kept: list[ToolMessage] = []

    def read_next(number: int, _: object) -> None:
        if number == 1:
            ref = kept[0].output_ref
            assert ref is not None
            read = json.dumps({"ref": ref.ref, "offset": 1, "limit": 3})
            client.answers += [calling(("read_tool_output", read)), DONE]

    run = compose_run(
        RunParts(
            client=client,
            tools=[Tool(ToolSpec(name="run_shell"), lambda: output)],
            on_result=lambda call, message: kept.append(message),
            on_turn=read_next,
        )
    )
    await run.run(Transcript([REQUEST]))
    bounded, page = kept
    assert "produced 200004 lines" in bounded.text.splitlines()[0]
    assert bounded.text.endswith("4 more\n")
    assert len(bounded.text.encode()) < 60 * 1024
    assert "line 1\nline 2\nline 3\n" in page.text
    assert "line 4" not in page.text
    assert "200004" in page.text


async def test_the_durable_state_takes_in_the_history_and_shows_it() -> None:
    call = ToolCall(id="t1", name="task", arguments='{"goal":"dig"}')
    history: list[Message] = [
        REQUEST,
        AssistantMessage(content=(call,)),
        ToolMessage(call_id="t1", name="task", content='{"found":"root"}'),
        UserMessage(content="and now?"),
    ]
    client = ScriptedClient([DONE])
    run = compose_run(RunParts(client=client, contract='{"objective":"dig"}'))
    await run.run(Transcript(history))
    assert run.tools.state is not None
    assert run.tools.state.goal is not None
    assert run.tools.state.goal.objective == "dig"
    assert [record.call_id for record in run.tools.state.records(Channel.DELEGATIONS)] == ["t1"]
    assert '"found":"root"' in channel(client.inputs[0], "delegations")


async def test_settings_say_what_is_not_given() -> None:
    settings = Settings.from_environment(
        {
            "SCIENCE_AGENT_CONTEXT_MODE": "legacy",
            "SCIENCE_AGENT_LLM_MAX_TOKENS": "300",
            "SCIENCE_AGENT_TOOL_OUTPUT_MAX_LINES": "1",
        }
    )
    client = ScriptedClient([calling(("look", "{}")), DONE], limits=ModelLimits(context_tokens=9_000))
    trace = Kept()
    look = Tool(ToolSpec(name="look"), lambda: "one\ntwo\nthree\n")
    run = compose_run(RunParts(client=client, settings=settings, trace=trace, tools=[look]))
    await run.run(Transcript([REQUEST]))
    assert {record.mode for record in trace.records} == {Mode.LEGACY}
    assert run.turn.budgets.input_limit_tokens == 8_700
    assert {sent.settings.max_output_tokens for sent in client.inputs} == {300}
    assert client.inputs[1].messages[-1].text.startswith("[bounded tool output] look")


async def test_what_is_given_goes_before_the_settings() -> None:
    settings = Settings.from_environment({"SCIENCE_AGENT_CONTEXT_MODE": "legacy"})
    client = ScriptedClient([DONE])
    trace = Kept()
    budgets = ContextBudgets(model_max_tokens=5_000, output_reserve_tokens=1_000)
    parts = RunParts(
        client=client,
        settings=settings,
        mode=Mode.DYNAMIC,
        budgets=budgets,
        model_settings=ModelSettings(temperature=0.5),
        trace=trace,
    )
    run = compose_run(parts)
    await run.run(Transcript([REQUEST]))
    assert [record.mode for record in trace.records] == [Mode.DYNAMIC]
    assert run.turn.budgets == budgets
    assert client.inputs[0].settings == ModelSettings(temperature=0.5)


@pytest.mark.parametrize("id", ["workspace", "workspace.footer", "identity.Workspace"])
def test_a_text_of_the_prompt_says_by_its_id_where_it_belongs(id: str) -> None:
    with pytest.raises(InvalidId):
        compose_run(RunParts(client=ScriptedClient([]), prompt={id: "text"}))


async def test_each_input_is_logged_by_its_figures(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "copyfit"):
        await run_of(calling(("update_plan", PLAN)), DONE, plan=True, prompt="You are a botanist.")
    lines = [json.loads(record.getMessage().partition(" ")[2]) for record in caplog.records]
    assert [line["turn"] for line in lines] == [1, 2]
    assert lines[1]["planProgress"] == {
        "anchorFound": True,
        "modelStepsSinceUpdate": 0,
        "toolResultsSinceUpdate": 0,
    }
    assert lines[1]["contributedMessages"] == 1
    assert "botanist" not in caplog.text
