"""Log one line of figures for each input that is sent: ``context.assembled``, with no content in it."""

import logging
from typing import Any, Final

from copyfit.modes import Selected
from copyfit.state.plan import PLAN_PROGRESS_CODE
from copyfit.state.values import compact_json

_log: Final = logging.getLogger("copyfit")

_PLAN_FIGURES: Final = ("anchorFound", "modelStepsSinceUpdate", "toolResultsSinceUpdate")


def log_assembled(selected: Selected) -> None:
    """Log the figures of the input that `selected` holds, at level INFO."""
    if _log.isEnabledFor(logging.INFO):
        _log.info("context.assembled %s", compact_json(_figures(selected)))


def _figures(selected: Selected) -> dict[str, Any]:
    record, compaction, model_input = selected.record, selected.compaction, selected.model_input
    figures: dict[str, Any] = {
        "contextId": record.request.context_id,
        "turn": record.request.turn,
        "recovery": record.request.recovery is not None,
        "mode": record.mode.value,
        "used": record.selected_path,
        "scope": record.request.scope.value,
        "systemChars": len(model_input.system),
        "messages": len(model_input.messages),
        "tools": len(model_input.tools),
        "estimatedInputTokens": selected.estimated_tokens,
        "inputLimitTokens": record.request.budgets.input_limit_tokens,
        "compaction": {
            "reason": compaction.reason,
            "beforeTokens": compaction.before_tokens,
            "afterTokens": compaction.after_tokens,
            "prunedToolResults": compaction.pruned_tool_results,
            "summarizedMessages": compaction.summarized_messages,
            "summaryAttempts": compaction.summary_attempts,
            "summaryRejected": compaction.summary_rejected,
        },
    }
    candidate = record.candidate
    if candidate is None:
        return figures
    admitted = candidate.admitted
    progress = next((each for each in admitted.diagnostics if each.code == PLAN_PROGRESS_CODE), None)
    plan = {} if progress is None or progress.details is None else progress.details
    return figures | {
        "sections": len(admitted.sections),
        "contributedMessages": len(admitted.messages),
        "attachments": len(admitted.attachments),
        "diagnostics": len(admitted.diagnostics),
        "windowedMessages": candidate.windowed.statistics.removed_messages,
        **({"planProgress": {name: plan[name] for name in _PLAN_FIGURES if name in plan}} if plan else {}),
    }
