import pytest

from copyfit.errors import SettingsError
from copyfit.shapes.budgets import ContextBudgets


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"data_budget_chars": 0}, "DATA_BUDGET_CHARS is 0; it must be a positive integer"),
        ({"data_budget_chars": 2**53}, "DATA_BUDGET_CHARS is 9007199254740992; it must be a positive integer"),
        ({"max_contributed_messages": True}, "MAX_CONTRIBUTED_MESSAGES is True; it must be a positive integer"),
        ({"prompt_budget_chars": None}, "PROMPT_BUDGET_CHARS is None; it must be a positive integer"),
        ({"window_rounds": 0}, "WINDOW_ROUNDS is 0; it must be a positive integer"),
        ({"compaction_pressure_percent": 101}, "PRESSURE_PERCENT is 101; it must be an integer between 1 and 100"),
        ({"compaction_summary_retries": -1}, "SUMMARY_RETRIES is -1; it must be a non-negative integer"),
        (
            {"compaction_retain_percent": 80},
            r"RETAIN_PERCENT is 80; it must be smaller than .*PRESSURE_PERCENT \(80\)",
        ),
        ({"output_reserve_tokens": 131_072}, r"RESERVE_TOKENS is 131072; it must be smaller than .*MAX_TOKENS"),
    ],
)
def test_budgets_that_cannot_be_are_refused_wherever_they_come_from(limits: dict[str, int], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        ContextBudgets(**limits)


def test_a_window_that_is_not_set_is_no_limit() -> None:
    budgets = ContextBudgets(window_tokens=None, compaction_summary_retries=0)
    assert budgets.input_limit_tokens == 131_072 - 16_384


@pytest.mark.parametrize("limit", [-1, 0, 1])
def test_a_limit_that_no_window_can_have_is_not_learned(limit: int) -> None:
    assert ContextBudgets().within(limit) == ContextBudgets()
