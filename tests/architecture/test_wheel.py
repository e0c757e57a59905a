"""The built wheel holds what it should, and its demo runs from it, outside the checkout."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = {"conformance", "litellm", "tokenizers", "harness", "bedrock", "vertex", "otel", "local", "all"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "copyfit",
        "copyfit_adapters",
        "copyfit_harness",
        "copyfit_pytest",
    }
    for package in ("copyfit", "copyfit_adapters", "copyfit_harness", "copyfit_pytest"):
        assert f"{package}/py.typed" in names
    assert not [name for name in names if "test_" in name or "conftest" in name]


def test_its_metadata_say_what_a_base_install_brings(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Metadata-Version"] == "2.4"
    assert set(metadata.get_all("Provides-Extra") or []) == EXTRAS
    base = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert {line.partition(">")[0] for line in base} == {
        "pydantic",
        "pydantic-settings",
        "httpx",
        "jsonschema",
    }


def test_the_demo_runs_from_an_installed_wheel_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """The wheel is installed alone; its dependencies are those of this environment, without the checkout."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
    zipfile.ZipFile(wheel).extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = subprocess.run(
        [python, "-c", "import copyfit_harness; print(copyfit_harness.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(site)
    run = "from copyfit_harness.cli import main; main()"
    demo = subprocess.run([python, "-c", run, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert demo.returncode == 0, demo.stderr
    assert "exact: the bytes on the wire" in demo.stdout
    assert (tmp_path / ".copyfit" / "context-traces" / "demo-dynamic" / "turn-0001.json").is_file()
