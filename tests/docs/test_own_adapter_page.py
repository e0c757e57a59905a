"""docs/own-adapter.md holds a whole adapter, which passes the suites as it stands there."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "own-adapter.md"
LEAK = "        super().__init__(model, HOME, PATH, **options)\n"


@pytest.fixture
def package(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay the page's files out as an installed package and its test, and return the folder."""
    page = PAGE.read_text("utf-8")
    files = dict(re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)```", page, re.DOTALL | re.MULTILINE))
    assert page.count("```python") == len(files) == 4
    (entry_points,) = re.findall(r"```toml\n\[project\.(.*?)```", page, re.DOTALL)
    group = entry_points.replace('entry-points."copyfit.adapters"', "copyfit.adapters").replace('"', "")
    files["acme_copyfit/__init__.py"] = ""
    files["acme_copyfit-1.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: acme-copyfit\nVersion: 1\n"
    files["acme_copyfit-1.dist-info/entry_points.txt"] = f"[{group}"
    for name, text in files.items():
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.syspath_prepend(pytester.path)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    return pytester.path


def test_the_adapter_of_the_page_passes_every_test_of_the_page(pytester: pytest.Pytester, package: Path) -> None:
    result = pytester.runpytest_subprocess("-q", "-W", "error", "-p", "no:cacheprovider", "test_acme.py")
    outcomes = result.parseoutcomes()
    assert result.ret == 0
    assert outcomes.keys() == {"passed"}
    assert outcomes["passed"] > 60


def test_a_client_that_keeps_its_key_in_the_open_is_found_out(pytester: pytest.Pytester, package: Path) -> None:
    client = package / "acme_copyfit" / "client.py"
    source = client.read_text("utf-8")
    assert source.count(LEAK) == 1
    client.write_text(source.replace(LEAK, f"{LEAK}        self.kept = str(options.get('api_key'))\n"), "utf-8")
    chosen = "the_key_is_in_no_representation"
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", chosen, "test_acme.py")
    # A SecretStr masks itself, so the third form of the key stays unseen here too.
    result.assert_outcomes(failed=2, passed=1, deselected=result.parseoutcomes()["deselected"])
