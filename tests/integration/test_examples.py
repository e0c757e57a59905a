"""The three examples of docs/examples.md; SCIENCE_AGENT_CONTEXT_EXAMPLE_DIR names the folder to leave them in.

Each is the traces of a whole run, with a fixed clock and fixed ids, so that every export is the same to the byte.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from copyfit import (
    AgentRun,
    Mode,
    ProviderModelClient,
    Scope,
    Settings,
    ToolCall,
    ToolSpec,
    Transcript,
    UserMessage,
)
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.tools import Tool
from copyfit_harness.scripted.chat_replies import Say

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parents[2] / "docs" / "examples.md"
FILES = {
    "dynamic-main/turn-0001.json",
    "dynamic-main/turn-0002.json",
    "dynamic-main/turn-0003.json",
    "dynamic-main/turn-0004.json",
    "shadow-subagent/turn-0001.json",
    "shadow-subagent/turn-0002.json",
    "compaction/turn-0001.json",
}


def subagent(client: ProviderModelClient, traces: Any) -> AgentRun:
    parts = RunParts(
        client=client,
        mode=Mode.SHADOW,
        scope=Scope.SUBAGENT,
        prompt={
            "workspace.identity": "You work in a folder.",
            "subagent.identity": "You are Method Specialist.",
            "subagent.governance": "Report to the main agent and to no one else.",
        },
        contract="Name the method of the trial and nothing else.",
        tools=[
            Tool(ToolSpec(name="list_files"), lambda: "a.txt\nb.txt"),
            Tool(ToolSpec(name="query_graph"), lambda: '{"method":"split plot"}'),
        ],
        trace=traces,
        context_id="shadow-subagent",
    )
    return compose_run(parts)


async def export(stage: Any, literature: Any, folder: Path) -> None:
    """Play the three examples and leave their traces in `folder`."""
    await stage.play(
        literature.script,
        literature.agent(context_id="dynamic-main"),
        literature.request,
        name="dynamic-main",
        traces=folder,
    )
    await stage.play(
        [Say(calls=(ToolCall(id="call-graph", name="query_graph"),)), Say("A split plot.")],
        subagent,
        Transcript([UserMessage(content="Which method was used?")]),
        name="shadow-subagent",
        traces=folder,
    )
    await stage.play(
        [Say(literature.checkpoint), Say("The third.")],
        literature.resumed(context_id="compaction"),
        literature.resumed_history().append(UserMessage(content="And which of them is newest?")),
        name="compaction",
        traces=folder,
    )


def destination(otherwise: Path) -> Path:
    """Return the folder that the environment names for examples, or `otherwise`."""
    return Settings.from_environment().example_dir or otherwise


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.json")}


async def test_the_examples_are_exported(stage: Any, literature: Any, tmp_path: Path) -> None:
    folder = destination(tmp_path / "examples")
    await export(stage, literature, folder)
    assert contents(folder).keys() >= FILES


async def test_the_variable_names_the_folder(
    stage: Any, literature: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIENCE_AGENT_CONTEXT_EXAMPLE_DIR", str(tmp_path / "named"))
    await export(stage, literature, destination(tmp_path / "other"))
    assert contents(tmp_path / "named").keys() == FILES
    assert not (tmp_path / "other").exists()


async def test_two_exports_are_the_same_to_the_byte(stage: Any, literature: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    await export(stage, literature, first)
    await export(stage, literature, second)
    assert contents(first) == contents(second)
    assert not any(str(tmp_path).encode() in content for content in contents(first).values())


async def test_the_examples_are_for_their_owner_alone(stage: Any, literature: Any, tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    await export(stage, literature, folder)
    rights = {path.name: path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}
    assert {right for name, right in rights.items() if name.endswith(".json")} == {0o600}
    assert {right for name, right in rights.items() if not name.endswith(".json")} == {0o700}


async def test_each_example_shows_what_its_page_says(stage: Any, literature: Any, tmp_path: Path) -> None:
    await export(stage, literature, tmp_path / "examples")
    shown = {name: json.loads(content) for name, content in contents(tmp_path / "examples").items()}
    first, last = shown["dynamic-main/turn-0001.json"], shown["dynamic-main/turn-0004.json"]
    promoted = {tool["name"] for tool in last["llmInput"]["tools"]}
    assert promoted - {tool["name"] for tool in first["llmInput"]["tools"]} == {"mcp_archive_search"}
    assert last["planProgress"]["anchorFound"] is True
    shadow = shown["shadow-subagent/turn-0002.json"]
    assert shadow["selectedPath"] == "legacy"
    sent, candidate = shadow["llmInput"]["history"], shadow["renderedContext"]["history"]
    assert candidate[:-1] == sent
    assert candidate[-1]["source"] == "memory"
    assert "split plot" in candidate[-1]["content"]
    compacted = shown["compaction/turn-0001.json"]
    assert compacted["renderedContext"]["compaction"]["summarizedMessages"] > 0
    assert compacted["planProgress"]["anchorFound"] is False
    tail = "".join(message["content"] for message in compacted["llmInput"]["history"][-2:])
    assert "Read first, judge later." in tail
    assert '"instructionsVisibleInHistory":false' in tail


def test_the_page_names_every_example_and_the_variable() -> None:
    page = PAGE.read_text()
    assert all(name.partition("/")[0] in page for name in FILES)
    assert "SCIENCE_AGENT_CONTEXT_EXAMPLE_DIR" in page
