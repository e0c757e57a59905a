"""Dynamic, shadow, legacy: three ways to choose the model input of a turn."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from copyfit.assembler import ContextAssembler
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.pressure import measure_pressure
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.errors import AssemblyError, CopyfitError
from copyfit.history.abandoned import close_abandoned_calls
from copyfit.history.count_compaction import plan_by_count
from copyfit.ports.summarizer import HistorySummarizer
from copyfit.ports.trace import TraceSink
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.scope import Mode
from copyfit.shapes.stages import (
    Admitted,
    AssembledTurn,
    Collected,
    CompactionStatistics,
    Pressure,
    TurnRecord,
    TurnRequest,
)
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The model input that goes out, the canonical history to go on with, and what was done to it.

    `estimated_tokens` is the whole input as it goes out; `pressure` is how full the window was before that.
    """

    model_input: ModelInput
    history: Transcript
    estimated_tokens: int
    pressure: Pressure
    compaction: CompactionStatistics
    record: TurnRecord = field(repr=False)


class AssemblyMode(Protocol):
    """Chooses the model input of each turn of one run."""

    async def select(self, request: TurnRequest) -> Selected:
        """Return the input to send for `request`.

        Raises:
            AssemblyError: no input could be assembled.

        """
        ...


class DynamicMode:
    """Sends what the corridor assembles."""

    def __init__(self, assembler: ContextAssembler, trace: TraceSink | None = None) -> None:
        self._assembler = assembler
        self._trace = trace

    async def select(self, request: TurnRequest) -> Selected:
        """Return the assembled input; a failing assembly is traced and raised."""
        try:
            turn = await self._assembler.assemble(request)
        except CopyfitError as error:
            self._write(_record(Mode.DYNAMIC, request, sent=None, error=error))
            raise
        record = _record(Mode.DYNAMIC, request, sent=turn.model_input, candidate=turn)
        self._write(record)
        return Selected(
            model_input=turn.model_input,
            history=turn.history,
            estimated_tokens=turn.estimated_tokens,
            pressure=turn.pressure,
            compaction=turn.compaction,
            record=record,
        )

    def _write(self, record: TurnRecord) -> None:
        if self._trace is not None:
            self._trace.write(record)


class LegacyMode:
    """Sends a static system prompt and the canonical history, compacted under pressure, and nothing else."""

    def __init__(
        self,
        *,
        system: str,
        ledger: TokenLedger,
        compactor: HistoryCompactor,
        trace: TraceSink | None = None,
    ) -> None:
        self._system = system
        self._ledger = ledger
        self._compactor = compactor
        self._trace = trace

    async def select(self, request: TurnRequest) -> Selected:
        """Return the legacy input of `request`."""
        selected = await self.choose(request)
        if self._trace is not None:
            self._trace.write(selected.record)
        return selected

    async def choose(self, request: TurnRequest) -> Selected:
        """Return the legacy input of `request` without tracing it."""
        settled, _ = close_abandoned_calls(request.history)
        pressure = measure_pressure(
            budgets=request.budgets,
            ledger=self._ledger,
            history=settled,
            prompt=self._system,
            tools=request.declared,
        )
        compacted = await self._compactor.compact(
            settled,
            pressure=pressure,
            budgets=request.budgets,
            count_plan=plan_by_count(settled) if self._compactor.summarizes else None,
            forced=request.recovery is not None,
        )
        model_input = ModelInput(
            system=self._system,
            messages=compacted.history.messages,
            tools=request.tools,
            settings=request.settings,
        )
        return Selected(
            model_input=model_input,
            history=compacted.history,
            estimated_tokens=pressure.reserved + self._ledger.transcript(compacted.history),
            pressure=pressure,
            compaction=compacted.statistics,
            record=_record(Mode.LEGACY, request, sent=model_input),
        )


class ShadowMode:
    """Sends what legacy would send, and assembles and traces the dynamic candidate beside it.

    The canonical history follows the legacy path. The candidate goes on from its own compacted copy, so that a
    shadow run shows what a dynamic run would have become; a candidate that fails is recorded and not raised. Under
    pressure both paths ask the summarizer, so a shadow run may pay for a checkpoint that legacy would not.
    """

    def __init__(self, assembler: ContextAssembler, legacy: LegacyMode, trace: TraceSink | None = None) -> None:
        self._assembler = assembler
        self._legacy = legacy
        self._trace = trace
        self._sent = Transcript()
        self._candidate = Transcript()

    async def select(self, request: TurnRequest) -> Selected:
        """Return the legacy input of `request`; the record carries the dynamic candidate."""
        selected = await self._legacy.choose(request)
        candidate: AssembledTurn | None = None
        error: CopyfitError | None = None
        own_history = self._own_history(request.history)
        try:
            candidate = await self._assembler.assemble(replace(request, history=own_history))
        except CopyfitError as failure:
            error = failure
        self._sent = selected.history
        self._candidate = candidate.history if candidate else own_history
        record = _record(Mode.SHADOW, request, sent=selected.model_input, candidate=candidate, error=error)
        if self._trace is not None:
            self._trace.write(record)
        return replace(selected, record=record)

    def _own_history(self, history: Transcript) -> Transcript:
        if not history.messages.begins_with(self._sent.messages):
            return history
        return self._candidate.append(*history.messages[len(self._sent) :])


def open_mode(
    mode: Mode,
    *,
    registry: ContextContributorRegistry,
    ledger: TokenLedger,
    summarizer: HistorySummarizer | None = None,
    summarizer_window_tokens: int | None = None,
    static_system: str = "",
    trace: TraceSink | None = None,
) -> AssemblyMode:
    """Return the way of `mode` for one run, and freeze the run's `registry`.

    Args:
        mode: which way.
        registry: the run's contributors; legacy does not ask them.
        ledger: counts tokens.
        summarizer: writes checkpoints; None leaves old steps as they are.
        summarizer_window_tokens: the input that the summarizer can take; None for any.
        static_system: the system prompt of the legacy path; dynamic does not use it.
        trace: where the record of each turn goes.

    """
    registry.freeze()
    compactor = HistoryCompactor(
        ledger=ledger, summarizer=summarizer, summarizer_window_tokens=summarizer_window_tokens
    )
    assembler = ContextAssembler(registry=registry, ledger=ledger, compactor=compactor)
    if mode is Mode.DYNAMIC:
        return DynamicMode(assembler, trace)
    legacy = LegacyMode(system=static_system, ledger=ledger, compactor=compactor, trace=trace)
    return legacy if mode is Mode.LEGACY else ShadowMode(assembler, legacy, trace)


def _record(
    mode: Mode,
    request: TurnRequest,
    *,
    sent: ModelInput | None,
    candidate: AssembledTurn | None = None,
    error: CopyfitError | None = None,
) -> TurnRecord:
    reached = error.reached if isinstance(error, AssemblyError) else ()
    return TurnRecord(
        mode=mode,
        selected_path="dynamic" if mode is Mode.DYNAMIC else "legacy",
        request=request,
        sent=sent,
        candidate=candidate,
        collected=next((record for record in reversed(reached) if isinstance(record, Collected)), None),
        admitted=next((record for record in reversed(reached) if isinstance(record, Admitted)), None),
        error=str(error) if error else None,
    )
