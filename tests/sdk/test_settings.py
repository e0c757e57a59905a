import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from copyfit.errors import SettingsError
from copyfit.settings import Settings
from copyfit.shapes.budgets import ContextBudgets, ModelLimits, OutputBounds
from copyfit.shapes.scope import Mode

CONTEXT = "SCIENCE_AGENT_CONTEXT_"


def read(**variables: str) -> Settings:
    return Settings.from_environment({CONTEXT + name: value for name, value in variables.items()})


@pytest.mark.parametrize(
    ("text", "mode"),
    [(None, Mode.DYNAMIC), ("", Mode.DYNAMIC), (" Shadow ", Mode.SHADOW), ("dynamic", Mode.DYNAMIC)],
)
def test_the_mode_is_trimmed_lowered_and_dynamic_when_unset(text: str | None, mode: Mode) -> None:
    """Case: MODE-01, MODE-02, MODE-03."""
    assert read(**({} if text is None else {"MODE": text})).mode is mode


def test_an_unknown_mode_is_refused_with_the_list_of_modes() -> None:
    """Case: MODE-04."""
    with pytest.raises(SettingsError, match="dynamic, legacy, or shadow") as caught:
        read(MODE="external")
    assert caught.value.variable == "SCIENCE_AGENT_CONTEXT_MODE"
    assert caught.value.value == "external"


def test_an_empty_environment_gives_the_defaults() -> None:
    """Case: BUD-20."""
    settings = Settings.from_environment({})
    budgets = settings.budgets()
    assert budgets == ContextBudgets()
    assert (budgets.prompt_budget_chars, budgets.section_max_chars) == (300_000, 100_000)
    assert (budgets.data_budget_chars, budgets.attachment_max_chars) == (500_000, 200_000)
    assert (budgets.contributed_message_budget_chars, budgets.max_contributed_messages) == (100_000, 50)
    assert (budgets.model_max_tokens, budgets.output_reserve_tokens) == (131_072, 16_384)
    assert (budgets.compaction_pressure_percent, budgets.compaction_retain_percent) == (80, 16)
    assert (budgets.compaction_tool_preview_bytes, budgets.compaction_summary_retries) == (2_048, 1)
    assert (budgets.window_messages, budgets.window_rounds, budgets.window_tokens) == (None, None, None)
    outputs = settings.tool_outputs
    assert (outputs.max_bytes, outputs.max_lines, outputs.retention_bytes) == (51_200, 2_000, 8_192)
    assert (outputs.read_advisory_bytes, outputs.read_strong_advisory_bytes) == (65_536, 98_304)
    assert (settings.llm.max_tokens, settings.llm.timeout_seconds, settings.llm.max_retries) == (16_384, 600, 2)
    assert settings.max_parallel_tool_calls == 10
    assert settings.example_dir is None
    assert not settings.trace.enabled


def test_every_variable_of_a_budget_arrives_as_a_number() -> None:
    """Case: BUD-05."""
    budgets = read(
        COMPACTION_PRESSURE_PERCENT="75",
        COMPACTION_RETAIN_PERCENT="20",
        COMPACTION_SUMMARY_RETRIES="2",
        COMPACTION_TOOL_PREVIEW_BYTES="512",
        PROMPT_BUDGET_CHARS="1234",
        MODEL_MAX_TOKENS="100000",
        OUTPUT_RESERVE_TOKENS="12000",
        WINDOW_MESSAGES="80",
        WINDOW_ROUNDS="12",
        WINDOW_TOKENS="64000",
    ).budgets()
    assert budgets == ContextBudgets(
        compaction_pressure_percent=75,
        compaction_retain_percent=20,
        compaction_summary_retries=2,
        compaction_tool_preview_bytes=512,
        prompt_budget_chars=1234,
        model_max_tokens=100_000,
        output_reserve_tokens=12_000,
        window_messages=80,
        window_rounds=12,
        window_tokens=64_000,
    )


@pytest.mark.parametrize(
    ("variables", "allowed"),
    [
        ({"DATA_BUDGET_CHARS": "0"}, "a positive integer"),
        ({"COMPACTION_PRESSURE_PERCENT": "101"}, "between 1 and 100"),
        ({"COMPACTION_SUMMARY_RETRIES": "-1"}, "a non-negative integer"),
        ({"COMPACTION_PRESSURE_PERCENT": "80", "COMPACTION_RETAIN_PERCENT": "80"}, "smaller than"),
        ({"COMPACTION_RETAIN_PERCENT": "90"}, "smaller than"),
        ({"MODEL_MAX_TOKENS": "100", "OUTPUT_RESERVE_TOKENS": "100"}, "smaller than"),
    ],
)
def test_a_bad_budget_is_refused_when_the_environment_is_read(variables: dict[str, str], allowed: str) -> None:
    """Case: BUD-06, BUD-07, BUD-08, BUD-09."""
    with pytest.raises(SettingsError, match=allowed) as caught:
        read(**variables)
    assert caught.value.variable.startswith(CONTEXT)


def test_no_summary_retries_is_a_choice() -> None:
    """Case: BUD-21."""
    assert read(COMPACTION_SUMMARY_RETRIES="0").budgets().compaction_summary_retries == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e3", 1000), ("0x10", 16), ("0b11", 3), ("0O17", 15), ("12.0", 12), ("+5", 5), (" 7 ", 7), (".5e1", 5)],
)
def test_numbers_are_read_as_the_reference_reads_them(text: str, value: int) -> None:
    """Case: BUD-22."""
    assert read(DATA_BUDGET_CHARS=text).budgets().data_budget_chars == value


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "1.5",
        "-1",
        "abc",
        "1e400",
        "NaN",
        "Infinity",
        "0x",
        "0x1_0",
        "0xg",
        "-0x10",
        "9007199254740992",
        "١",
        "0x١",
    ],
)
def test_what_is_no_whole_positive_number_is_refused(text: str) -> None:
    """Case: BUD-22."""
    with pytest.raises(SettingsError, match="a positive integer") as caught:
        read(DATA_BUDGET_CHARS=text)
    assert caught.value.value == text


def test_blank_means_the_default() -> None:
    """Case: BUD-22."""
    assert read(DATA_BUDGET_CHARS="   ").budgets().data_budget_chars == 500_000


@given(st.integers(min_value=1, max_value=2**53 - 1))
def test_every_safe_whole_number_survives(value: int) -> None:
    assert read(WINDOW_TOKENS=str(value)).budgets().window_tokens == value


def test_the_models_window_fills_the_budget() -> None:
    """Case: BUD-10."""
    assert read().budgets(ModelLimits(context_tokens=200_000)).model_max_tokens == 200_000


def test_a_window_set_on_purpose_beats_the_models() -> None:
    """Case: BUD-11."""
    settings = read(MODEL_MAX_TOKENS="300000")
    assert settings.budgets(ModelLimits(context_tokens=200_000)).model_max_tokens == 300_000


def test_a_reserve_beyond_the_models_window_is_refused_naming_both_variables() -> None:
    """Case: BUD-30."""
    with pytest.raises(SettingsError, match=r"OUTPUT_RESERVE_TOKENS.*MODEL_MAX_TOKENS.*lower the reserve"):
        read().budgets(ModelLimits(context_tokens=8_192))


def test_the_reserve_is_what_will_be_asked_for_and_no_more_than_the_model_answers() -> None:
    limits = ModelLimits(context_tokens=8_192, max_output_tokens=4_096)
    assert read().budgets(limits).output_reserve_tokens == 4_096
    asked_for_less = Settings.from_environment({"SCIENCE_AGENT_LLM_MAX_TOKENS": "1000"})
    assert asked_for_less.budgets(limits).output_reserve_tokens == 1_000
    assert asked_for_less.budgets().output_reserve_tokens == 1_000
    assert read(OUTPUT_RESERVE_TOKENS="500").budgets(limits).output_reserve_tokens == 500


def test_a_reserve_alone_waits_for_the_model_before_it_is_judged() -> None:
    settings = read(OUTPUT_RESERVE_TOKENS="150000")
    assert settings.budgets(ModelLimits(context_tokens=200_000)).output_reserve_tokens == 150_000
    with pytest.raises(SettingsError, match="no room is left"):
        settings.budgets()


def test_an_explicit_argument_beats_the_environment() -> None:
    settings = Settings.from_environment(
        {CONTEXT + "MODE": "legacy", CONTEXT + "WINDOW_TOKENS": "5", CONTEXT + "TRACE": "0"},
        mode="shadow",
        window_tokens=7,
        trace=True,
        prompt_budget_chars=None,
        tool_output_max_lines="12",
    )
    assert settings.mode is Mode.SHADOW
    assert settings.budgets().window_tokens == 7
    assert settings.trace.enabled
    assert settings.budgets().prompt_budget_chars == 300_000
    assert settings.tool_outputs.max_lines == 12
    assert Settings.from_environment({}, mode=Mode.LEGACY).mode is Mode.LEGACY


@pytest.mark.parametrize("value", [True, 1.5, [], "x", 10**400, float("nan"), float("inf")])
def test_an_explicit_argument_obeys_the_same_rule(value: object) -> None:
    with pytest.raises(SettingsError, match="SCIENCE_AGENT_CONTEXT_WINDOW_TOKENS"):
        Settings.from_environment({}, window_tokens=value)


def test_an_argument_without_meaning_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"one of the settings: .*window_tokens"):
        Settings.from_environment({}, window_token=5)


@pytest.mark.parametrize(
    ("text", "on"),
    [("0", False), ("false", False), ("OFF", False), ("", False), ("1", True), ("TRUE", True), (" on ", True)],
)
def test_the_trace_switch_reads_its_spellings(text: str, on: bool) -> None:
    """Case: TRC-20."""
    assert read(TRACE=text).trace.enabled is on


def test_the_trace_switch_refuses_other_words() -> None:
    """Case: TRC-20."""
    with pytest.raises(SettingsError, match="SCIENCE_AGENT_CONTEXT_TRACE is 'yes'"):
        read(TRACE="yes")


def test_paths_are_absolute_and_traces_go_below_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings.from_environment({CONTEXT + "EXAMPLE_DIR": "examples"}, data_dir="data")
    assert settings.trace.directory == tmp_path.resolve() / "data" / "context-traces"
    assert settings.example_dir == tmp_path.resolve() / "examples"
    moved = Settings.from_environment({CONTEXT + "TRACE_DIR": "elsewhere"})
    assert moved.trace.directory == tmp_path.resolve() / "elsewhere"


@pytest.mark.parametrize(("text", "calls"), [("", 10), ("3", 3)])
def test_parallel_calls_are_read(text: str, calls: int) -> None:
    """Case: NAT-15."""
    environ = {"SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS": text}
    assert Settings.from_environment(environ).max_parallel_tool_calls == calls


@pytest.mark.parametrize("text", ["0", "1.5"])
def test_bad_parallel_calls_are_refused(text: str) -> None:
    """Case: NAT-15."""
    with pytest.raises(SettingsError, match="SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS"):
        Settings.from_environment({"SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS": text})


def test_the_strong_advisory_may_not_come_before_the_ordinary_one() -> None:
    environ = {"SCIENCE_AGENT_TOOL_OUTPUT_READ_STRONG_ADVISORY_BYTES": "65535"}
    with pytest.raises(SettingsError, match="at least SCIENCE_AGENT_TOOL_OUTPUT_READ_ADVISORY_BYTES"):
        Settings.from_environment(environ)


def test_the_model_call_settings_are_read() -> None:
    llm = Settings.from_environment(
        {
            "SCIENCE_AGENT_LLM_MAX_TOKENS": "100",
            "SCIENCE_AGENT_LLM_TIMEOUT_SECONDS": "0.5",
            "SCIENCE_AGENT_LLM_MAX_RETRIES": "0",
        }
    ).llm
    assert (llm.max_tokens, llm.timeout_seconds, llm.max_retries) == (100, 0.5, 0)
    with pytest.raises(SettingsError, match="a positive number of seconds"):
        Settings.from_environment({"SCIENCE_AGENT_LLM_TIMEOUT_SECONDS": "0"})


def test_a_given_environment_is_read_as_it_stands_and_instead_of_the_processs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CONTEXT + "WINDOW_TOKENS", "5")
    other_names = {"science_agent_context_window_tokens": "6", "window_tokens": "7", CONTEXT + "WINDOW": "8"}
    assert Settings.from_environment(other_names).budgets().window_tokens is None


def test_a_blank_argument_is_the_default_and_none_leaves_the_environments() -> None:
    environ = {CONTEXT + "WINDOW_TOKENS": "5", CONTEXT + "MODE": "legacy"}
    settings = Settings.from_environment(environ, window_tokens=None, mode=" ")
    assert settings.budgets().window_tokens == 5
    assert settings.mode is Mode.DYNAMIC


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("CONTEXT_DATA_BUDGET_CHARS", "0", "a positive integer"),
        ("CONTEXT_COMPACTION_PRESSURE_PERCENT", "101", "an integer between 1 and 100"),
        ("CONTEXT_COMPACTION_SUMMARY_RETRIES", "-1", "a non-negative integer"),
        ("CONTEXT_TRACE", "yes", "1, true or on, or 0, false, off or empty"),
        ("TOOL_OUTPUT_MAX_LINES", "0x0", "a positive integer"),
        ("LLM_MAX_TOKENS", "0", "a positive integer"),
        ("LLM_MAX_RETRIES", "1.5", "a non-negative integer"),
        ("LLM_TIMEOUT_SECONDS", "1e400", "a positive number of seconds"),
        ("LLM_TIMEOUT_SECONDS", "nan", "a positive number of seconds"),
        ("MAX_PARALLEL_TOOL_CALLS", "1e300", "a positive integer"),
    ],
)
def test_a_refusal_names_the_variable_the_value_as_written_what_is_allowed_and_its_cause(
    variable: str, value: str, allowed: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({"SCIENCE_AGENT_" + variable: f" {value} "})
    error = caught.value
    assert (error.variable, error.value, error.allowed) == ("SCIENCE_AGENT_" + variable, value, allowed)
    assert isinstance(error.__cause__, ValidationError)


@pytest.mark.parametrize(("name", "value"), [("trace_dir", 5), ("example_dir", [])])
def test_a_folder_that_is_no_path_is_refused(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"{CONTEXT}{name.upper()} is .*; it must be a path"):
        Settings.from_environment({}, **{name: value})


def test_every_bound_of_tool_outputs_arrives() -> None:
    bounds = OutputBounds(
        max_bytes=1, max_lines=2, retention_bytes=3, read_advisory_bytes=4, read_strong_advisory_bytes=5
    )
    environ = {f"SCIENCE_AGENT_TOOL_OUTPUT_{name.upper()}": str(value) for name, value in asdict(bounds).items()}
    assert Settings.from_environment(environ).tool_outputs == bounds


def test_the_process_environment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTEXT + "WINDOW_TOKENS", "5")
    settings = Settings.from_environment()
    monkeypatch.setenv(CONTEXT + "WINDOW_TOKENS", "6")
    assert settings.budgets().window_tokens == 5


def test_settings_load_no_settings_library() -> None:
    script = "import sys, copyfit.settings; sys.exit('pydantic_settings' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
