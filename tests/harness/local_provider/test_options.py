from typing import Any

import pytest

from copyfit_harness.local_provider import LocalProviderOptions


def test_the_defaults_are_one_slot_with_nothing_shared_or_cached() -> None:
    options = LocalProviderOptions()
    assert (options.slots, options.shared_kv, options.prompt_cache) == (1, False, False)


def test_slots_that_share_nothing_have_a_whole_window_each() -> None:
    assert LocalProviderOptions(context_tokens=512, slots=3).pool_tokens == 1536


def test_slots_that_share_have_one_window_together() -> None:
    assert LocalProviderOptions(context_tokens=512, slots=3, shared_kv=True).pool_tokens == 512


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"context_tokens": 0}, "context_tokens is 0"),
        ({"context_tokens": 1000}, "multiple of 256"),
        ({"context_tokens": 131_072 + 256}, "up to 131072"),
        ({"slots": 0}, "slots is 0"),
        ({"shared_kv": True}, "at least two slots"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_a_number_out_of_range_is_refused_by_name(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        LocalProviderOptions(**wrong)
