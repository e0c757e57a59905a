"""Errors of servers, gateways and agents that the corpus does not hold, each labelled by reading it.

`wordings.jsonl` quotes them from public issues and error tables: `source` names the place, `kind` is left out
where a reader could defend more than one, `limit` and `requested` stand where the text says them in tokens.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from copyfit_adapters.overflow import judge

WORDINGS = [
    json.loads(line)
    for line in (Path(__file__).parent / "wordings.jsonl").read_text(encoding="utf-8").splitlines()
]
OVERFLOWS = [entry for entry in WORDINGS if entry["overflow"]]
OTHERS = [entry for entry in WORDINGS if not entry["overflow"]]


def named(entries: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(entry, id=entry["id"]) for entry in entries]


@pytest.mark.parametrize("entry", named(OVERFLOWS))
def test_an_overflow_is_found_and_its_numbers_are_read(entry: dict[str, Any]) -> None:
    verdict = judge(entry.get("body", entry.get("text")), status=entry.get("status"))
    assert verdict is not None
    assert verdict.kind == entry["kind"]
    for name, read in (("limit", verdict.limit_tokens), ("requested", verdict.requested_tokens)):
        if name in entry:
            assert read == entry[name]


@pytest.mark.parametrize("entry", named(OTHERS))
def test_what_only_speaks_of_tokens_and_lengths_is_no_overflow(entry: dict[str, Any]) -> None:
    verdict = judge(entry.get("body", entry.get("text")), status=entry.get("status"))
    assert verdict is not None
    assert not verdict.is_context_overflow
    assert verdict.kind == entry.get("kind", verdict.kind)
    assert verdict.limit_tokens == entry.get("limit", verdict.limit_tokens)


def test_the_wordings_are_many_in_both_languages_and_of_both_sorts() -> None:
    assert min(len(OVERFLOWS), len(OTHERS)) >= 80
    for language in ("en", "zh"):
        assert {entry["overflow"] for entry in WORDINGS if entry["lang"] == language} == {True, False}
