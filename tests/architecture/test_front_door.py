"""`from copyfit import …` offers what it lists, and nothing slips in by accident."""

import importlib
import types

import pytest

import copyfit

DOORS = ("copyfit", "copyfit_adapters")


@pytest.mark.parametrize("name", DOORS)
def test_the_listed_names_are_sorted_and_exist(name: str) -> None:
    door = importlib.import_module(name)
    assert list(door.__all__) == sorted(door.__all__)
    assert [listed for listed in door.__all__ if not hasattr(door, listed)] == []


@pytest.mark.parametrize("name", DOORS)
def test_every_public_name_is_listed(name: str) -> None:
    door = importlib.import_module(name)
    public = {
        found
        for found, value in vars(door).items()
        if not found.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public <= set(door.__all__)


def test_everything_behind_the_front_door_is_documented() -> None:
    undocumented = [
        name
        for name in copyfit.__all__
        if not name.startswith("_") and not (getattr(copyfit, name).__doc__ or "").strip()
    ]
    assert undocumented == []
