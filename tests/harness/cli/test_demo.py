"""The demo as a user meets it: the recorded cassettes that the project ships, played by the command."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from copyfit import ModelInput
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.openai_chat.encode import encode
from copyfit_harness.cassettes.matching import ignoring
from copyfit_harness.cli.app import app
from copyfit_harness.scenarios.recordings import demo_folder
from copyfit_harness.transport.recorder import Recorder

MODES = ("dynamic", "shadow", "legacy")


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner().invoke(app, ["demo", *arguments], env=environment)

    return run


@pytest.fixture
def cassettes(tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_folder(), tmp_path / "cassettes"))


@pytest.mark.parametrize("mode", MODES)
def test_every_request_of_a_recorded_run_is_exact(demo: Callable[..., Result], mode: str) -> None:
    result = demo("--mode", mode)
    assert result.exit_code == 0, result.output
    exact, total = re.search(r"(\d+) of (\d+) exact", result.output).groups()  # type: ignore[union-attr]
    assert exact == total
    assert int(total) >= 18


def test_the_dynamic_run_passes_through_every_phase(demo: Callable[..., Result]) -> None:
    document = json.loads(demo("--json").stdout)
    assert document["phases"] == [
        "below pressure",
        "tool bodies projected",
        "read_tool_output used",
        "closed steps summarized",
        "overflow recovered",
    ]
    assert len(document["turns"]) >= 15
    assert document["exact"] == document["total"] == len(document["requests"])
    refused = [turn["refused"] for turn in document["turns"] if turn["refused"]]
    assert len(refused) == 1
    assert refused[0]["requestedTokens"] > refused[0]["limitTokens"]


def test_each_turn_leaves_a_private_trace(demo: Callable[..., Result], tmp_path: Path) -> None:
    demo("--traces", str(tmp_path / "traces"))
    files = sorted((tmp_path / "traces" / "demo-dynamic").iterdir())
    turns = [file.name for file in files]
    assert turns[0] == "turn-0001.json"
    assert any(re.fullmatch(r"turn-\d{4}-recovery-1\.json", name) for name in turns)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_the_mode_comes_from_the_environment_unless_it_is_given(demo: Callable[..., Result]) -> None:
    assert json.loads(demo("--json", SCIENCE_AGENT_CONTEXT_MODE="legacy").stdout)["mode"] == "legacy"
    result = demo("--json", "--mode", "dynamic", SCIENCE_AGENT_CONTEXT_MODE="legacy")
    assert json.loads(result.stdout)["mode"] == "dynamic"


def flip(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


def test_a_flipped_byte_in_a_recorded_request_fails_and_names_turn_and_path(
    demo: Callable[..., Result], cassettes: Path
) -> None:
    flip(cassettes / "dynamic.yaml", "yield at 12 dS/m, cite", "yield at 13 dS/m, cite")
    result = demo("--cassettes", str(cassettes))
    assert result.exit_code == 1
    assert "turn 1:" in result.output
    assert "messages[1].content" in result.output
    assert "12 dS/m" in result.output
    assert "13 dS/m" in result.output


def test_a_request_that_lost_something_on_its_way_fails_the_proof(
    demo: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A faulty codec drops the temperature, and a recorder that overlooks it plays on: the proof still sees it."""

    def forgetful(model_input: ModelInput, model: str, **options: Any) -> WireRequest:
        kept = model_input.settings.model_copy(update={"temperature": None})
        return encode(dataclasses.replace(model_input, settings=kept), model, **options)

    overlooked = ignoring("temperature", reason="the test plants a fault there")
    monkeypatch.setattr("copyfit_adapters.openai_chat.client.encode", forgetful)
    monkeypatch.setattr("copyfit_harness.cli.demo.Recorder", partial(Recorder, loosenings=[overlooked]))
    result = demo()
    assert result.exit_code == 1
    assert "turn 1, agent: not exact" in result.output
    assert "settings.temperature: only in assembled" in result.output
    assert "exact: the others differ as shown." in result.output
    assert json.loads(demo("--json").stdout)["requests"][0]["paths"] == ["settings.temperature"]


@pytest.mark.parametrize(
    ("damage", "code", "sentence"),
    [
        (lambda path: path.unlink(), 3, "No cassette at"),
        (lambda path: path.write_text("interactions: ["), 1, "cannot be read"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), 1, "cannot be read"),
        (lambda path: path.write_text(""), 1, "cannot be read"),
    ],
    ids=["missing", "cut off", "no text", "empty"],
)
def test_a_cassette_that_cannot_be_used_is_one_clear_sentence(
    demo: Callable[..., Result], cassettes: Path, damage: Callable[[Path], object], code: int, sentence: str
) -> None:
    damage(cassettes / "dynamic.yaml")
    result = demo("--cassettes", str(cassettes))
    assert result.exit_code == code
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_an_unknown_mode_is_misuse_and_names_what_is_allowed(demo: Callable[..., Result]) -> None:
    result = demo("--mode", "fast")
    assert result.exit_code == 2
    assert "SCIENCE_AGENT_CONTEXT_MODE is 'fast'; it must be dynamic, legacy, or shadow." in result.output


def test_an_unknown_setting_value_in_the_environment_is_misuse(demo: Callable[..., Result]) -> None:
    result = demo(SCIENCE_AGENT_CONTEXT_WINDOW_TOKENS="many")
    assert result.exit_code == 2
    assert "SCIENCE_AGENT_CONTEXT_WINDOW_TOKENS is 'many'; it must be a positive integer." in result.output


def test_the_help_names_the_extra_that_recording_needs(demo: Callable[..., Result]) -> None:
    """Brackets would be taken for markup, and what stands in them would be gone."""
    assert "needs the extra local" in " ".join(demo("--help", COLUMNS="200").output.split())


def test_an_unknown_option_is_misuse(demo: Callable[..., Result]) -> None:
    assert demo("--fast").exit_code == 2


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_a_path_that_the_output_cannot_spell_is_escaped(tmp_path: Path, options: list[str]) -> None:
    command = [sys.executable, "-c", "from copyfit_harness.cli import main; main()", "demo", *options]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    traces = ["--traces", str(tmp_path / "记录")]
    answer = subprocess.run([*command, *traces], capture_output=True, text=True, check=False, env=environment)
    assert answer.returncode == 0, answer.stderr
    assert r"\u8bb0\u5f55" in answer.stdout


def test_a_narrow_terminal_shows_every_number(demo: Callable[..., Result]) -> None:
    output = demo(COLUMNS="60").output
    assert "…" not in output
    assert re.search(r"^ +18 +[\d,]+ +[\d,]+ +\d+ % +\d+ %", output, re.MULTILINE)


@pytest.mark.parametrize("package", ["typer", "rich", "yaml"])
def test_a_missing_extra_names_what_to_install(package: str) -> None:
    blocked = f"import sys; sys.modules[{package!r}] = None; from copyfit_harness.cli import main; main()"
    answer = subprocess.run([sys.executable, "-c", blocked, "demo"], capture_output=True, text=True, check=False)
    assert answer.returncode == 3, answer.stderr
    assert "pip install 'copyfit[harness]'" in answer.stderr
    assert "Traceback" not in answer.stderr
