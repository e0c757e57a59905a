"""One run of the demo: the agent, through a recorder, with every request proven."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from copyfit import (
    AgentRun,
    AssemblyMode,
    ConservativeTokenEstimator,
    ContextOverflow,
    Mode,
    ModelInput,
    ModelSettings,
    ModelSummarizer,
    ProviderModelClient,
    RunResult,
    TokenLedger,
    ToolCall,
    ToolMessage,
    TraceWriter,
    Transcript,
    Turn,
    TurnResult,
    UserMessage,
    open_mode,
)
from copyfit.tokens.families import FAMILIES
from copyfit.trace.writer import safe_id
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_harness.proof.exact import Finding, prove
from copyfit_harness.proof.protocols import OPENAI_CHAT
from copyfit_harness.proof.witness import Witness
from copyfit_harness.scenarios.field_agent import (
    MAX_TURNS,
    STATIC_SYSTEM,
    checkpoint_settings,
    field_budgets,
    field_contributors,
    field_tools,
)
from copyfit_harness.scenarios.field_trial import TASK
from copyfit_harness.transport.recorder import Recorder

ORIGIN = "http://local-provider.invalid"
"""An address that no server can have (RFC 2606), so a replay without its cassette reaches nothing."""
MODEL = "copyfit-tiny-tools"


class Phase(StrEnum):
    """What a dynamic run of the demo passes through."""

    BELOW_PRESSURE = "below pressure"
    BODIES_PROJECTED = "tool bodies projected"
    STORED_OUTPUT_READ = "read_tool_output used"
    STEPS_SUMMARIZED = "closed steps summarized"
    OVERFLOW_RECOVERED = "overflow recovered"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One turn of the run, in tokens where a number has no other unit; None where the provider said nothing."""

    turn: int
    estimated: int
    reported: int | None
    cached: int | None
    pressure_percent: int
    projected: int
    summarized: int
    overflow: ContextOverflow | None
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentInput:
    """An input on its way out: the turn it belongs to and who sent it."""

    turn: int
    sender: str
    model_input: ModelInput


@dataclass(slots=True, kw_only=True)
class DemoRun:
    """Runs the demo's agent in `mode` through `recorder`, and keeps what happened.

    `inner` sends what has to be recorded; a replay does not use it. The traces go to `trace_dir`; `on_row` is told
    of each finished turn.
    """

    mode: Mode
    recorder: Recorder
    trace_dir: Path
    inner: Any = None
    on_row: Callable[[TurnRow], None] = field(default=lambda row: None)
    rows: list[TurnRow] = field(default_factory=list)
    sent: list[SentInput] = field(default_factory=list)
    stored_outputs_read: int = 0

    async def run(self) -> RunResult:
        """Run the agent to its end; the traces of an earlier demo in the same mode go first.

        Raises:
            CassetteMismatch: a request is not the recorded one.
            ProviderError: the provider failed in a way that no retry mends.

        """
        import httpx

        for old in self.traces():
            old.unlink()
        async with httpx.AsyncClient(transport=self.recorder.transport(self.inner)) as http:
            client = OpenAIChatClient(
                MODEL, base_url=f"{ORIGIN}/v1", api_key="", http=http, max_retries=0, provider="llama.cpp"
            )
            run = AgentRun(
                turn=Turn(
                    mode=self._assembly(self._witness("summarizer", client)),
                    client=self._witness("agent", client),
                    budgets=field_budgets(),
                    context_id=self.context_id,
                    settings=ModelSettings(max_output_tokens=128, temperature=1.0),
                ),
                tools=field_tools(on_result=self._note_result),
                max_turns=MAX_TURNS,
                on_turn=self._note_turn,
                on_event=lambda event: None,
            )
            return await run.run(Transcript([UserMessage(content=TASK)]))

    def findings(self) -> Iterator[tuple[SentInput, Finding]]:
        """Yield what the proof found of each request, in the order of sending.

        Raises:
            NotExact: a request travelled that no assembly made, or the other way round.

        """
        inputs = [sent.model_input for sent in self.sent]
        return zip(self.sent, prove(inputs, self.recorder.exchanges, OPENAI_CHAT), strict=True)

    def traces(self) -> list[Path]:
        """Return the trace files of the run, in the order of its turns; fewer where the disk refused some."""
        return sorted((self.trace_dir / safe_id(self.context_id)).glob("turn-*.json"))

    @property
    def context_id(self) -> str:
        """The name of the run in its traces."""
        return f"demo-{self.mode}"

    @property
    def current_turn(self) -> int:
        """The turn that is running, or the last one when the run has ended; counted from 1."""
        return min(len(self.rows) + 1, MAX_TURNS)

    @property
    def phases(self) -> frozenset[Phase]:
        """What the run has passed through so far."""
        reached = {
            Phase.BELOW_PRESSURE: any(not row.projected and not row.summarized for row in self.rows),
            Phase.BODIES_PROJECTED: any(row.projected for row in self.rows),
            Phase.STORED_OUTPUT_READ: self.stored_outputs_read > 0,
            Phase.STEPS_SUMMARIZED: any(row.summarized for row in self.rows),
            Phase.OVERFLOW_RECOVERED: any(row.overflow for row in self.rows),
        }
        return frozenset(phase for phase, was_reached in reached.items() if was_reached)

    def _assembly(self, summarizer: Witness) -> AssemblyMode:
        return open_mode(
            self.mode,
            registry=field_contributors(),
            ledger=TokenLedger(ConservativeTokenEstimator(FAMILIES["mistral"])),
            summarizer=ModelSummarizer(summarizer, checkpoint_settings()),
            static_system=STATIC_SYSTEM,
            trace=TraceWriter(self.trace_dir),
        )

    def _witness(self, sender: str, client: ProviderModelClient) -> Witness:
        return Witness(client, lambda sent: self.sent.append(SentInput(self.current_turn, sender, sent)))

    def _note_result(self, call: ToolCall, result: ToolMessage) -> None:
        self.stored_outputs_read += call.name == "read_tool_output" and not result.is_error

    def _note_turn(self, turn: int, result: TurnResult) -> None:
        attempts = result.attempts
        final = attempts[-1].selected
        usage = result.output.usage
        row = TurnRow(
            turn=turn,
            estimated=final.estimated_tokens,
            reported=usage.input_tokens,
            cached=usage.cached_input_tokens,
            pressure_percent=100 * attempts[0].selected.pressure.used // attempts[0].selected.pressure.limit,
            projected=sum(attempt.selected.compaction.pruned_tool_results for attempt in attempts),
            summarized=sum(attempt.selected.compaction.summarized_messages for attempt in attempts),
            overflow=attempts[0].overflow,
            calls=tuple(call.name for call in result.output.message.tool_calls),
        )
        self.rows.append(row)
        self.on_row(row)
