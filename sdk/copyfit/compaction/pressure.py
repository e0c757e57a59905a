"""Measure how full the window is before the history is compacted."""

from collections.abc import Sequence

from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import Message
from copyfit.shapes.stages import Pressure
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


def measure_pressure(
    *,
    budgets: ContextBudgets,
    ledger: TokenLedger,
    history: Transcript,
    prompt: str,
    tools: Sequence[ToolSpec] = (),
    contributed: Sequence[Message] = (),
) -> Pressure:
    """Return what the system prompt, the tools, this turn's contributions and the history take, in tokens."""
    return Pressure(
        limit=budgets.input_limit_tokens,
        line=budgets.pressure_line_tokens,
        retain=budgets.retain_tokens,
        reserved=ledger.system(prompt) + ledger.tools(tools),
        contributed=ledger.messages(contributed),
        history=ledger.transcript(history),
    )
