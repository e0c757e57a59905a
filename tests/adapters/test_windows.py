"""Limits come from litellm's table where it is, and our own families never promise more than it says."""

import pytest

from copyfit.shapes.budgets import ModelLimits
from copyfit_adapters.litellm.table import model_limits
from copyfit_adapters.windows import FAMILIES, limits_of, own_limits


def members() -> dict[str, list[tuple[str, ModelLimits]]]:
    """Return the models of litellm's table under the longest family that begins their name."""
    import json
    from importlib.util import find_spec
    from pathlib import Path

    found = find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    table = json.loads((Path(found.origin).parent / "model_prices_and_context_window_backup.json").read_text())
    held: dict[str, list[tuple[str, ModelLimits]]] = {family: [] for family in FAMILIES}
    for name, row in table.items():
        families = [family for family in FAMILIES if name.startswith(family)]
        limits = model_limits(name)
        if families and limits is not None and row.get("mode") in ("chat", "responses"):
            held[max(families, key=len)].append((name, limits))
    return held


def test_no_family_promises_more_than_any_of_its_members_takes() -> None:
    for family, found in members().items():
        assert found, f"{family} has no member"
        ours = own_limits(family)
        assert ours is not None
        for name, limits in found:
            assert ours.context_tokens <= limits.context_tokens, name
            assert (ours.max_output_tokens or 0) <= (limits.max_output_tokens or 2**53), name


def test_the_longest_beginning_of_a_name_decides() -> None:
    assert own_limits("claude-opus-5-5-20260901") == ModelLimits(
        context_tokens=1_000_000, max_output_tokens=128_000
    )
    assert own_limits("claude-x") == ModelLimits(context_tokens=200_000, max_output_tokens=64_000)
    assert own_limits("nobody-knows-it") is None


def test_without_litellm_our_own_table_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copyfit_adapters.windows.model_limits", lambda name: None)
    assert limits_of("gpt-4.1-mini") == own_limits("gpt-4.1-mini") is not None
