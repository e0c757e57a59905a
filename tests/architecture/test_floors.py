"""The import contracts of pyproject.toml hold, and would notice if they did not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("sdk", "adapters", "harness")


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(checkout / source) for source in SOURCES)
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    verdict = lint_imports(ROOT)
    assert verdict.returncode == 0, verdict.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for source in SOURCES:
        shutil.copytree(ROOT / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("room", "line", "contract"),
    [
        ("sdk/copyfit/prompt/render.py", "import copyfit_adapters", "harness over adapters over sdk"),
        ("sdk/copyfit/window/compose.py", "import copyfit.compaction.compactor", "share no door"),
        ("sdk/copyfit/shapes/tools.py", "import copyfit.ports.provider", "share no door"),
        ("sdk/copyfit/trace/writer.py", "import httpx", "knows no vendor"),
        ("harness/copyfit_harness/wire/exchange.py", "import httpx", "knows no HTTP library"),
        ("adapters/copyfit_adapters/openai_chat/encode.py", "import copyfit_adapters.http", "stay pure"),
    ],
)
def test_a_planted_import_breaks_its_contract(checkout: Path, room: str, line: str, contract: str) -> None:
    planted = checkout / room
    planted.write_text(f"{planted.read_text()}\n\ndef planted() -> None:\n    {line}\n")
    verdict = lint_imports(checkout)
    assert verdict.returncode == 1
    broken = [row for row in verdict.stdout.splitlines() if row.rstrip().endswith("BROKEN")]
    assert any(contract in row for row in broken), verdict.stdout


def test_a_room_that_no_contract_names_is_refused(checkout: Path) -> None:
    (checkout / "sdk/copyfit/annex.py").write_text('"""An unlisted room."""\n')
    verdict = lint_imports(checkout)
    assert verdict.returncode == 1
    assert "annex" in verdict.stdout
