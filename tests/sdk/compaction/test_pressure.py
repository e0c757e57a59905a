from collections.abc import Sequence

from copyfit.compaction.pressure import measure_pressure
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


class LengthEstimator:
    """A token a character, one more a message, ten a tool."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 10 * len(tools)


BUDGETS = ContextBudgets(model_max_tokens=1_200, output_reserve_tokens=200)


def test_prompt_tools_contributions_and_history_are_measured_against_one_limit() -> None:
    pressure = measure_pressure(
        budgets=BUDGETS,
        ledger=TokenLedger(LengthEstimator()),
        history=Transcript([UserMessage(content="x" * 699)]),
        prompt="p" * 36,
        tools=(ToolSpec(name="web_search"),),
        contributed=(UserMessage(content="c" * 53),),
    )
    assert (pressure.limit, pressure.line, pressure.retain) == (1_000, 800, 160)
    assert (pressure.reserved, pressure.contributed, pressure.history) == (46, 54, 700)
    assert pressure.history_line == 700
    assert not pressure.is_over


def test_one_token_more_than_the_line_is_pressure() -> None:
    """Case: HCP-21."""
    ledger = TokenLedger(LengthEstimator())
    over = [
        measure_pressure(
            budgets=BUDGETS, ledger=ledger, history=Transcript([UserMessage(content="x" * size)]), prompt=""
        ).is_over
        for size in (799, 800)
    ]
    assert over == [False, True]
