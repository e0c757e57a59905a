"""HistoryCompactor: old tool bodies first, then old closed steps."""

from collections.abc import Sequence
from dataclasses import replace

from copyfit.compaction.closed_steps import plan_closed_steps
from copyfit.compaction.summarize import CheckpointWriter, Summary
from copyfit.compaction.tool_bodies import project_tool_bodies
from copyfit.ports.summarizer import HistorySummarizer
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.stages import Compacted, CompactionReason, CompactionStatistics, Pressure, SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger

COUNT_PASS_RETRIES = 1
"""How often the message-count pass asks again after a rejected answer (behaviour.md section 4, step 2)."""

NO_SUMMARIZER = "No summarizer is given; the old steps stay."
"""The warning of a compaction that could go no further."""


class HistoryCompactor:
    """Makes the canonical history smaller, without splitting a step or touching an open call.

    Args:
        ledger: counts.
        summarizer: writes the checkpoints; None leaves every step as it is.
        summarizer_window_tokens: the input that the summarizer can take, None for any; less once it has refused
            a request as too long.

    """

    def __init__(
        self,
        *,
        ledger: TokenLedger,
        summarizer: HistorySummarizer | None,
        summarizer_window_tokens: int | None = None,
    ) -> None:
        self._ledger = ledger
        self._summarizer = summarizer
        self._window_tokens = summarizer_window_tokens

    @property
    def summarizes(self) -> bool:
        """Whether a summary plan can come to anything."""
        return self._summarizer is not None

    async def compact_count(self, history: Transcript, plan: SummaryPlan | None) -> Compacted:
        """Carry out the message-count `plan`, if there is one; tool bodies are left alone."""
        before = self._ledger.transcript(history)
        statistics = CompactionStatistics(before_tokens=before, after_tokens=before)
        if plan is None:
            return Compacted(history, statistics)
        statistics = replace(statistics, reason="message-count")
        return await self._summarize(Compacted(history, statistics), plan, retries=COUNT_PASS_RETRIES)

    async def compact(
        self,
        history: Transcript,
        *,
        pressure: Pressure,
        budgets: ContextBudgets,
        count_plan: SummaryPlan | None = None,
        forced: bool = False,
    ) -> Compacted:
        """Relieve the `pressure`: cut old tool bodies, and if that is not enough, summarise old closed steps.

        The bodies of the newest step, which the model has not seen yet, are cut only if a summary was not enough
        either. Without pressure only the `count_plan` is carried out. A `forced` pass runs in any case, cuts
        bodies down to the tokens to retain, and always tries a summary.
        """
        before = self._ledger.transcript(history)
        over = before > pressure.history_line
        reason = _reason(forced=forced, over=over, many=count_plan is not None)
        done = Compacted(history, CompactionStatistics(reason=reason, before_tokens=before, after_tokens=before))
        if forced or over:
            spare = not forced and self._summarizer is not None and self._fits(history.steps[-1:], pressure)
            done = self._project(done, pressure=pressure, budgets=budgets, forced=forced, spare_newest=spare)
            enough = self._ledger.transcript(done.history) <= pressure.history_line
            if enough and not forced and count_plan is None:
                return done
            if self._summarizer is None:
                return _with_warning(done, NO_SUMMARIZER)
            plan = plan_closed_steps(done.history, ledger=self._ledger, retain=pressure.retain)
        else:
            plan = count_plan
        if plan is not None:
            done = await self._summarize(done, plan, retries=budgets.compaction_summary_retries)
        if forced or not over:
            return done
        return self._project(done, pressure=pressure, budgets=budgets, forced=False, spare_newest=False)

    def _fits(self, steps: Sequence[Step], pressure: Pressure) -> bool:
        """Whether `steps` alone leave the history below its line, so that cutting everything else can help."""
        return sum(map(self._ledger.step, steps)) <= pressure.history_line

    def _project(
        self, done: Compacted, *, pressure: Pressure, budgets: ContextBudgets, forced: bool, spare_newest: bool
    ) -> Compacted:
        projection = project_tool_bodies(
            done.history,
            ledger=self._ledger,
            target=pressure.retain if forced else pressure.history_line,
            preview_bytes=budgets.compaction_tool_preview_bytes,
            spare_newest=spare_newest,
        )
        statistics = replace(
            done.statistics,
            after_tokens=projection.tokens,
            pruned_tool_results=done.statistics.pruned_tool_results + len(projection.refs),
            tool_output_refs=done.statistics.tool_output_refs + projection.refs,
        )
        return Compacted(projection.history, statistics)

    async def _summarize(self, done: Compacted, plan: SummaryPlan, *, retries: int) -> Compacted:
        if self._summarizer is None:
            return _with_warning(done, NO_SUMMARIZER)
        summary = await self._write(self._summarizer, plan, done.history, retries=retries)
        if summary.refused_tokens is not None:
            # Half of it is left to answer in, as in `ContextBudgets.within`.
            self._window_tokens = summary.refused_tokens // 2
            refused = summary.attempts
            summary = await self._write(self._summarizer, plan, done.history, retries=retries)
            summary = replace(summary, attempts=refused + summary.attempts)
        history, summarized = done.history, 0
        if summary.checkpoint is not None:
            history = Transcript.of_steps((Step((summary.checkpoint,)), *plan.keep))
            summarized = sum(len(step.messages) for step in plan.summarize)
        statistics = replace(
            done.statistics,
            after_tokens=self._ledger.transcript(history),
            summarized_messages=summarized,
            summary_attempts=summary.attempts,
            summary_rejected=summary.rejected,
            summary_source_tokens=summary.source_tokens,
            summary_checkpoint_tokens=summary.checkpoint_tokens,
            summary_input_chars=summary.input_chars,
            summary_output_chars=summary.output_chars,
            summary_warnings=summary.warnings,
        )
        return Compacted(history, statistics)

    async def _write(
        self, summarizer: HistorySummarizer, plan: SummaryPlan, history: Transcript, *, retries: int
    ) -> Summary:
        writer = CheckpointWriter(
            summarizer=summarizer, ledger=self._ledger, retries=retries, window_tokens=self._window_tokens
        )
        anchor = history.anchor
        return await writer.write(plan, previous=history.checkpoint, active_request=anchor.text if anchor else "")


def _with_warning(done: Compacted, warning: str) -> Compacted:
    return replace(done, statistics=replace(done.statistics, summary_warnings=(warning,)))


def _reason(*, forced: bool, over: bool, many: bool) -> CompactionReason:
    if forced:
        return "forced"
    if over:
        return "token-pressure"
    return "message-count" if many else "none"
