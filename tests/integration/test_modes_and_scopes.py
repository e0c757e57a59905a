"""Three modes by three scopes, with a package that registers a contributor for the run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from copyfit import (
    AgentRun,
    ContributeRequest,
    Contribution,
    Mode,
    ProviderModelClient,
    Scope,
    Section,
    Slot,
    ToolCall,
    ToolSpec,
    Transcript,
    UserMessage,
)
from copyfit.ports.contributor import FactoryRequest
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.tools import Tool
from copyfit_harness.scripted.chat_replies import Reply, Say

pytestmark = pytest.mark.anyio

REQUEST = Transcript([UserMessage(content="Which files are there?")])
CONTRACT = "List the files and nothing else."
PRESETS = {Scope.SUBAGENT: "Method Specialist", Scope.REVIEWER: "Reviewer Specialist"}
LOOK: Reply = Say(calls=(ToolCall(id="call-1", name="list_files"),))
DONE: Reply = Say("Two files.")
MATRIX = pytest.mark.parametrize("scope", list(Scope))


@dataclass(frozen=True, slots=True)
class Probe:
    """Gives one section a turn, and counts how often it was asked."""

    asked: list[int]
    scopes: Sequence[Scope]
    id: str = "package.probe"
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        self.asked.append(request.turn)
        text = f"The probe serves {request.scope}."
        return Contribution(sections=(Section(id=self.id, slot=Slot.WORKING_CONTEXT, content=text),))


@dataclass(slots=True)
class ProbePackage:
    """The factory of a package that knows nothing of the agent."""

    id: str = "package"
    requests: list[FactoryRequest] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def create(self, request: FactoryRequest) -> Probe:
        self.requests.append(request)
        return Probe(self.asked, (request.scope,))


def agent(mode: Mode, scope: Scope, package: ProbePackage | None = None, **changes: Any) -> Any:
    """Return how the agent of `scope` is composed: a reviewer has no tools of its own, a subagent has two."""

    def compose(client: ProviderModelClient, traces: Any) -> AgentRun:
        prompt = {"workspace.identity": "You work in a folder."}
        if scope in PRESETS:
            prompt["subagent.identity"] = f"You are {PRESETS[scope]}."
        names = {Scope.MAIN: ("list_files",), Scope.SUBAGENT: ("list_files", "read_file"), Scope.REVIEWER: ()}
        wiring: dict[str, Any] = {
            "mode": mode,
            "scope": scope,
            "prompt": prompt,
            "contract": CONTRACT,
            "tools": [Tool(ToolSpec(name=name), lambda: "a.txt\nb.txt") for name in names[scope]],
            "factories": (package or ProbePackage(),),
            "trace": traces,
            "context_id": f"{scope}-run",
        }
        return compose_run(RunParts(client=client, **(wiring | changes)))

    return compose


def script(scope: Scope) -> list[Reply]:
    return [DONE] if scope is Scope.REVIEWER else [LOOK, DONE]


@MATRIX
@pytest.mark.parametrize("mode", list(Mode))
async def test_each_mode_serves_each_scope(stage: Any, mode: Mode, scope: Scope) -> None:
    """Case: INT-07, INT-08, INT-09."""
    played = await stage.play(script(scope), agent(mode, scope), REQUEST)
    assert played.result.output.message.text == "Two files."
    for number, document in enumerate(played.traces.documents(), start=1):
        system = played.sent[number - 1].system
        assert CONTRACT in system
        assert all((preset in system) is (key is scope) for key, preset in PRESETS.items())
        assert (f"The probe serves {scope}." in system) is (mode is Mode.DYNAMIC)
        assert document["selectedPath"] == ("dynamic" if mode is Mode.DYNAMIC else "legacy")
        assert (document["contextConfig"]["mode"], document["contextConfig"]["scope"]) == (mode, scope)
        assert document["llmInput"]["systemPrompt"] == system
        assert ("renderedContext" in document) is (mode is not Mode.LEGACY)
    assert len(played.traces.records) == len(script(scope))


@MATRIX
async def test_shadow_sends_byte_for_byte_what_legacy_sends(stage: Any, scope: Scope) -> None:
    legacy, shadow = [
        await stage.play(script(scope), agent(mode, scope), REQUEST, name=mode.value)
        for mode in (Mode.LEGACY, Mode.SHADOW)
    ]
    assert shadow.bodies == legacy.bodies


@MATRIX
async def test_the_candidate_of_shadow_is_what_dynamic_sends(stage: Any, scope: Scope) -> None:
    dynamic, shadow = [
        await stage.play(script(scope), agent(mode, scope), REQUEST, name=mode.value)
        for mode in (Mode.DYNAMIC, Mode.SHADOW)
    ]
    candidates = [record.candidate.model_input for record in shadow.traces.records]
    assert candidates == [record.sent for record in dynamic.traces.records]


async def test_a_package_is_asked_once_for_the_contributors_of_a_run(stage: Any) -> None:
    """Case: NAT-02."""
    packages: list[ProbePackage] = []

    def compose(client: ProviderModelClient, traces: Any) -> AgentRun:
        packages.append(ProbePackage())
        compose_it = agent(
            Mode.DYNAMIC, Scope.SUBAGENT, packages[-1], trace=None, session_id="session-1", context_id=None
        )
        run: AgentRun = compose_it(client, traces)
        return run

    played = await stage.play(script(Scope.SUBAGENT), compose, REQUEST)
    assert "The probe serves subagent." in played.sent[0].system
    for package in packages:
        (request,) = package.requests
        assert request.scope is Scope.SUBAGENT
        assert request.context_id.startswith("session-1:")
        assert package.asked == [1, 2]


async def test_shadow_asks_the_package_and_sends_nothing_of_it(stage: Any) -> None:
    """Case: NAT-03."""
    packages: list[ProbePackage] = []

    def compose(client: ProviderModelClient, traces: Any) -> AgentRun:
        packages.append(ProbePackage())
        run: AgentRun = agent(Mode.SHADOW, Scope.REVIEWER, packages[-1])(client, traces)
        return run

    played = await stage.play([DONE], compose, REQUEST)
    assert [package.asked for package in packages] == [[1], [1]]
    assert "The probe" not in played.seen(1)
    assert "The probe serves reviewer." in played.traces.documents()[0]["renderedContext"]["systemPrompt"]


async def test_the_prompt_of_two_turns_is_one_prompt_with_the_contract_behind_the_identity(stage: Any) -> None:
    """Case: NAT-01."""
    played = await stage.play(script(Scope.MAIN), agent(Mode.DYNAMIC, Scope.MAIN), REQUEST)
    first, second = played.sent
    assert first.system == second.system
    assert first.system.index("You work in a folder.") < first.system.index("<run_contract>")
    assert second.messages[-1].text == "a.txt\nb.txt"
