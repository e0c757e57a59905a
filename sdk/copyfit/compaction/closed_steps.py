"""Plan which old closed steps a checkpoint replaces when the history costs too much."""

from collections.abc import Sequence

from copyfit.shapes.stages import SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


def plan_closed_steps(history: Transcript, *, ledger: TokenLedger, retain: int) -> SummaryPlan | None:
    """Return which old steps go into a checkpoint, or None when nothing may go.

    The recent suffix of `retain` tokens stays.
    """
    return SummaryPlan.before(_recent_suffix(history.steps, ledger=ledger, retain=retain), history)


def _recent_suffix(steps: Sequence[Step], *, ledger: TokenLedger, retain: int) -> int:
    """Return the place of the first of the newest steps that have `retain` tokens together.

    The step that crosses the line belongs to the suffix, so the newest step always does.
    """
    kept = 0
    for place in range(len(steps) - 1, -1, -1):
        kept += ledger.step(steps[place])
        if kept >= max(1, retain):
            return place
    return 0
