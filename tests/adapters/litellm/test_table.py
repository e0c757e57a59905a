"""Limits are read out of the table that litellm bundles, and litellm is not imported for it."""

import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from copyfit.shapes.budgets import ModelLimits
from copyfit_adapters.litellm import table
from copyfit_adapters.litellm.table import FILE, model_limits

ROWS: dict[str, Any] = {
    "sample_spec": {"max_input_tokens": "max input tokens, if the provider specifies it"},
    "gpt-z": {"litellm_provider": "openai", "max_input_tokens": 272_000, "max_output_tokens": 128_000},
    "groq/llama": {"litellm_provider": "groq", "max_input_tokens": "131072", "max_output_tokens": "8192"},
    "old": {"litellm_provider": "openai", "max_tokens": 4097},
    "older": {"litellm_provider": "openai", "max_input_tokens": 16_385, "max_tokens": "4096"},
    "mistral/large": {"litellm_provider": "mistral", "max_input_tokens": 262_144, "max_output_tokens": 262_144},
    "an.claude": {"litellm_provider": "bedrock_converse", "max_input_tokens": 200_000, "aliases": ["us.claude"]},
    "eu.claude": {"alias_of": "an.claude"},
    "lost": {"alias_of": "nobody"},
    "odd": {"litellm_provider": "openai", "max_input_tokens": True, "max_tokens": -1},
    "floats": {"litellm_provider": "openai", "max_input_tokens": 1e6, "max_output_tokens": None},
    "no-row": "text",
}


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make litellm a package in a folder that holds the table above; return the table's path."""
    path = tmp_path / FILE
    path.write_text(json.dumps(ROWS))
    spec = ModuleSpec("litellm", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    monkeypatch.setattr(table, "_table", table._table.__wrapped__)
    return path


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    ("model", "context", "output"),
    [
        ("gpt-z", 272_000, 128_000),
        ("openai/gpt-z", 272_000, 128_000),
        ("groq/llama", 131_072, 8_192),
        ("old", 4_097, None),
        ("older", 16_385, 4_096),
        ("mistral/large", 262_144, None),
        ("bedrock/an.claude", 200_000, None),
        ("bedrock/converse/us.claude", 200_000, None),
        ("eu.claude", 200_000, None),
        ("floats", 1_000_000, None),
    ],
)
def test_a_model_is_found_with_and_without_its_provider(model: str, context: int, output: int | None) -> None:
    assert model_limits(model) == ModelLimits(context_tokens=context, max_output_tokens=output)


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize(
    "model",
    ["llama", "groq/gpt-z", "openai/llama", "sample_spec", "odd", "lost", "no-row", "nobody", "", "openai/"],
)
def test_a_row_of_another_provider_or_without_numbers_tells_nothing(model: str) -> None:
    assert model_limits(model) is None


@pytest.mark.parametrize("content", [None, b"\xff", b"{", b"[]", b"{}"])
def test_a_table_that_cannot_be_read_tells_nothing(bundled: Path, content: bytes | None) -> None:
    bundled.unlink() if content is None else bundled.write_bytes(content)
    assert model_limits("gpt-z") is None


def test_without_litellm_nothing_is_told(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert model_limits("gpt-z") is None


def test_the_real_table_is_read_without_importing_litellm() -> None:
    probe = (
        "import sys; from copyfit_adapters.litellm.table import model_limits as of; "
        "found = of('gpt-4'), of('anthropic/claude-sonnet-4-5'), of('groq/openai/gpt-oss-120b'); "
        "print(*(limits.context_tokens for limits in found), 'litellm' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["8192", "200000", "131072", "False"]
