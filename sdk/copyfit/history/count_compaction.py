"""Plan a summary once the history has many messages, whatever they cost."""

from collections.abc import Sequence

from copyfit.shapes.stages import SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript

TRIGGER_MESSAGES = 50
"""Messages of a history that is compacted, its checkpoint included (behaviour.md section 1.3)."""
KEPT_MESSAGES = 20
"""Messages that stay verbatim, where whole steps allow it (behaviour.md section 1.3)."""


def plan_by_count(history: Transcript) -> SummaryPlan | None:
    """Return which old steps go into a checkpoint, or None when the history is short or nothing may go.

    The steps that lie within the newest twenty messages stay, the newest step in any case.
    """
    if len(history) < TRIGGER_MESSAGES:
        return None
    return SummaryPlan.before(_cutoff(history.steps), history)


def _cutoff(steps: Sequence[Step]) -> int:
    """Return the place of the first step of the kept suffix."""
    cutoff = len(steps) - 1
    kept = len(steps[cutoff].messages)
    while cutoff > 0 and kept + len(steps[cutoff - 1].messages) <= KEPT_MESSAGES:
        cutoff -= 1
        kept += len(steps[cutoff].messages)
    return cutoff
