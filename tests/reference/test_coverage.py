"""Every case of the reference and every bug of a peer is shown by a test, or accounted for in `deviations.toml`.

A test claims cases in its docstring: ``Case: AB-01, AB-02.`` Only the ids of the corpora are used here.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
CASES = PROJECT.parent / "shared" / "reference" / "cases.jsonl"
BUGS = PROJECT.parent / "shared" / "bugs" / "bugs.jsonl"
DEVIATIONS = Path(__file__).with_name("deviations.toml")

pytestmark = pytest.mark.skipif(
    not (CASES.is_file() and BUGS.is_file()), reason="the shared corpora are not beside this checkout"
)

CLAIM = re.compile(r"^Case: ([\w-]+(?:,\s+[\w-]+)*)", re.MULTILINE)


@dataclass(frozen=True)
class Deviation:
    """A case that is not shown as it stands: why, and the test that shows what happens here instead.

    An `absent` case concerns something that copyfit does not have, so no test can show it.
    """

    case: str
    why: str
    design: str | None = None
    test: str | None = None
    absent: bool = False


def areas() -> dict[str, str]:
    """Return the area of every id of the two corpora."""
    found = {entry["id"]: entry["area"] for entry in _lines(CASES)}
    return found | {entry["id"]: "peers' bugs" for entry in _lines(BUGS)}


def claims() -> dict[str, list[str]]:
    """Return the tests that claim each case."""
    found: dict[str, list[str]] = {}
    for path in sorted((PROJECT / "tests").rglob("test_*.py")):
        for name, docstring in _tests_in(path):
            for claim in CLAIM.findall(docstring):
                for case in re.split(r",\s+", claim):
                    found.setdefault(case, []).append(f"{path.relative_to(PROJECT).as_posix()}::{name}")
    return found


def deviations() -> list[Deviation]:
    return [Deviation(**entry) for entry in tomllib.loads(DEVIATIONS.read_text("utf-8"))["deviation"]]


@pytest.fixture(scope="module")
def collected() -> frozenset[str]:
    """What pytest collects of the whole suite, without parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:]
    return frozenset(line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line)


def test_every_case_is_covered_or_deviates_for_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    covered, deviating = claims(), {deviation.case: deviation for deviation in deviations()}
    missing = []
    table: dict[str, Counter[str]] = {}
    for case, area in areas().items():
        absent = case in deviating and deviating[case].absent
        state = "covered" if case in covered else "absent" if absent else "deviating"
        if case not in covered and case not in deviating:
            state = "missing"
            missing.append(case)
        table.setdefault(area, Counter())[state] += 1
    with capsys.disabled():
        print(_as_text(table))
    assert missing == []


def test_only_cases_that_exist_are_claimed_or_deviate_and_none_does_both() -> None:
    covered, deviating = set(claims()), [deviation.case for deviation in deviations()]
    assert (covered | set(deviating)) - set(areas()) == set()
    assert covered & set(deviating) == set()
    assert len(deviating) == len(set(deviating))


def test_a_deviation_says_why_and_names_a_test_unless_there_is_nothing_to_show() -> None:
    for deviation in deviations():
        assert deviation.why.endswith("."), deviation
        assert (deviation.test is None) == deviation.absent, deviation
        assert deviation.design is None or re.fullmatch(r"\d+(\.\d+)?", deviation.design), deviation


def test_every_test_that_is_named_is_collected(collected: frozenset[str]) -> None:
    named = {test for tests in claims().values() for test in tests}
    named |= {deviation.test for deviation in deviations() if deviation.test}
    assert named - collected == set()


def _lines(path: Path) -> Iterator[dict[str, str]]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines())


def _tests_in(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each test function of a file, below its class if it has one, with its docstring."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}::{name}", docstring) for name, docstring in _functions(node.body))
        else:
            yield from _functions([node])


def _functions(nodes: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def _as_text(table: dict[str, Counter[str]]) -> str:
    states = ("covered", "deviating", "absent", "missing")
    total = sum(table.values(), Counter())
    rows = [*table.items(), ("all", total)]
    head = f"\n{'reference cases':20}" + "".join(f"{state:>11}" for state in states)
    return "\n".join(
        [head, *(f"{area:20}" + "".join(f"{row[state]:11}" for state in states) for area, row in rows)]
    )
