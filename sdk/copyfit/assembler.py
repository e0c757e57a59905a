"""The corridor: the stages of a turn, called in order, and nothing else."""

from dataclasses import dataclass, replace

from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.pressure import measure_pressure
from copyfit.contributors.authority import context_data
from copyfit.contributors.registry import ContextContributorRegistry, contribute_request
from copyfit.errors import AssemblyError, CollectionFailed
from copyfit.history.abandoned import close_abandoned_calls
from copyfit.history.count_compaction import plan_by_count
from copyfit.prompt.budget import apply_context_budget
from copyfit.prompt.render import DeterministicSystemPromptRenderer
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import Origin
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.stages import (
    Admitted,
    AssembledTurn,
    Collected,
    Composed,
    RenderedPrompt,
    TurnRequest,
    Windowed,
)
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger
from copyfit.window.atomic import AtomicHistoryWindowPolicy, require_fit
from copyfit.window.compose import ContextMessageComposer
from copyfit.window.validate import ContextValidator


@dataclass(frozen=True, slots=True)
class _Contributed:
    collected: Collected
    admitted: Admitted
    prompt: RenderedPrompt
    composed: Composed


class ContextAssembler:
    """Assembles the exact model input of a turn out of the canonical history and the run's contributors.

    The collaborators are given ready-made; the registry should be frozen before turn one.
    """

    def __init__(
        self,
        *,
        registry: ContextContributorRegistry,
        ledger: TokenLedger,
        compactor: HistoryCompactor,
        renderer: DeterministicSystemPromptRenderer | None = None,
        composer: ContextMessageComposer | None = None,
        window: AtomicHistoryWindowPolicy | None = None,
        validator: ContextValidator | None = None,
    ) -> None:
        self._registry = registry
        self._ledger = ledger
        self._compactor = compactor
        self._renderer = renderer or DeterministicSystemPromptRenderer()
        self._composer = composer or ContextMessageComposer(context_data)
        self._window = window or AtomicHistoryWindowPolicy()
        self._validator = validator or ContextValidator()

    async def assemble(self, request: TurnRequest) -> AssembledTurn:
        """Return the model input of one turn, the history to go on with, and the record of every stage.

        Raises:
            AssemblyError: a required contributor failed, protected sections or the messages that must be kept do
                not fit, or the finished input breaks a rule. The provider has not been called, and the error
                holds the records of the stages that were reached.

        """
        reached: list[Collected | Admitted] = []
        try:
            return await self._through(request, reached)
        except AssemblyError as error:
            error.reached = tuple(reached)
            raise

    async def _through(self, request: TurnRequest, reached: list[Collected | Admitted]) -> AssembledTurn:
        settled, abandoned = close_abandoned_calls(request.history)
        plan = plan_by_count(settled) if self._compactor.summarizes else None
        counted = await self._compactor.compact_count(settled, plan)
        contributed = await self._contribute(request, reached, counted.history)
        pressure = measure_pressure(
            budgets=request.budgets,
            ledger=self._ledger,
            history=counted.history,
            prompt=contributed.prompt.text,
            tools=request.declared,
            contributed=contributed.composed.contributed,
        )
        compacted = await self._compactor.compact(
            counted.history,
            pressure=pressure,
            budgets=request.budgets,
            forced=request.recovery is not None,
        )
        if compacted.changed:
            contributed = await self._contribute(request, reached, compacted.history)
        windowed = self._select(request, contributed)
        if windowed.statistics.removed_messages:
            contributed = await self._contribute(request, reached, compacted.history, _in_sight(windowed))
            windowed = self._select(request, contributed)
        require_fit(windowed, request.budgets)
        model_input = ModelInput(
            system=contributed.prompt.text,
            messages=windowed.messages,
            tools=request.tools,
            settings=request.settings,
        )
        protected = [placed for placed in contributed.admitted.sections if placed.section.protected]
        self._validator.validate(model_input, protected=protected, tools=request.tools)
        return AssembledTurn(
            request=request,
            model_input=model_input,
            history=compacted.history,
            estimated_tokens=windowed.statistics.estimated_input_tokens,
            abandoned_calls=abandoned,
            collected=contributed.collected,
            admitted=contributed.admitted,
            prompt=contributed.prompt,
            pressure=pressure,
            compaction=compacted.statistics.after(counted.statistics),
            windowed=windowed,
        )

    async def _contribute(
        self,
        request: TurnRequest,
        reached: list[Collected | Admitted],
        history: Transcript,
        in_sight: Transcript | None = None,
    ) -> _Contributed:
        """Collect, admit, render and compose; `in_sight` is what the model sees of `history`, if not all of it."""
        seen = history if in_sight is None else in_sight
        try:
            collected = await self._registry.collect_detailed(contribute_request(request, seen))
        except CollectionFailed as error:
            reached.append(Collected(reports=error.reports))
            raise
        reached.append(collected)
        admitted = apply_context_budget(collected, request.budgets)
        reached.append(admitted)
        return _Contributed(
            collected=collected,
            admitted=admitted,
            prompt=self._renderer.render(admitted),
            composed=self._composer.compose(history, admitted),
        )

    def _select(self, request: TurnRequest, contributed: _Contributed) -> Windowed:
        return self._window.select(
            contributed.composed,
            budgets=_window_budgets(request),
            reserved_tokens=self._ledger.system(contributed.prompt.text) + self._ledger.tools(request.declared),
            ledger=self._ledger,
        )


def _window_budgets(request: TurnRequest) -> ContextBudgets:
    """Return the budgets of the window: after a refusal it ends at the pressure line under the refused size."""
    budgets = request.budgets
    if request.refused_tokens is None:
        return budgets
    line = max(1, request.refused_tokens * budgets.compaction_pressure_percent // 100)
    return replace(budgets, window_tokens=min(line, budgets.input_limit_tokens))


def _in_sight(windowed: Windowed) -> Transcript:
    """Return the part of the history that the window lets through, without this turn's contributions."""
    kept = (Origin.CANONICAL, Origin.CHECKPOINT)
    return Transcript(message for message in windowed.messages if message.origin in kept)
