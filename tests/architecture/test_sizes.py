"""Files stay under 400 lines and functions under 60, in the source and in the tests."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("sdk", "adapters", "harness", "tests")


def modules() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (ROOT / folder).rglob("*.py")


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_no_file_is_longer_than_400_lines() -> None:
    sizes = {str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n") for path in modules()}
    assert {name: lines for name, lines in sizes.items() if lines > 400} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in modules()
        for name, lines in functions(path)
        if lines > 60
    ]
    assert long == []


def test_no_module_is_named_for_having_no_job() -> None:
    names = {path.stem for path in modules()}
    assert names & {"utils", "util", "helpers", "helper", "common", "misc"} == set()
