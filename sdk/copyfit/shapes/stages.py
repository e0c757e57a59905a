"""READ THIS FIRST: the record that each stage of a turn hands to the next, in order.

    TurnRequest -> Compacted (message count) -> Collected -> Admitted -> RenderedPrompt -> Pressure
    -> Compacted (tool bodies, then closed steps) -> Composed -> Windowed -> AssembledTurn

`assembler.py` is the corridor that calls the stages; the trace is the list of these records.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Attachment, Contribution, Diagnostic, Section
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Why this assembly is a second one for the same turn."""

    attempt: int = 1
    reason: str = "model-input-overflow"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """What one turn is assembled from; turns count from 1.

    `refused_tokens` is the estimate of the input that the provider has refused in this turn.
    """

    context_id: str
    scope: Scope
    turn: int
    history: Transcript
    budgets: ContextBudgets
    tools: tuple[ToolSpec, ...] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)
    recovery: Recovery | None = None
    refused_tokens: int | None = None

    @property
    def declared(self) -> tuple[ToolSpec, ...]:
        """What is declared to the model beside the prompt: the tools, and a response schema as one more."""
        schema = self.settings.response_schema
        if schema is None:
            return self.tools
        shown = ToolSpec(name=schema.name, description=schema.description or "", parameters=schema.json_schema)
        return (*self.tools, shown)


CompactionReason = Literal["none", "message-count", "token-pressure", "forced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStatistics:
    """What a compaction did, in tokens unless the name says otherwise (behaviour.md section 11.8)."""

    reason: CompactionReason = "none"
    before_tokens: int | None = None
    after_tokens: int | None = None
    pruned_tool_results: int = 0
    tool_output_refs: tuple[str, ...] = ()
    summarized_messages: int = 0
    summary_attempts: int = 0
    summary_rejected: int = 0
    summary_source_tokens: int | None = None
    summary_checkpoint_tokens: int | None = None
    summary_input_chars: int | None = None
    summary_output_chars: int | None = None
    summary_warnings: tuple[str, ...] = ()

    def after(self, earlier: "CompactionStatistics") -> "CompactionStatistics":
        """Return the statistics of both passes of a turn: what `earlier` did, then this."""

        def latest(name: str) -> Any:
            own = getattr(self, name)
            return getattr(earlier, name) if own is None else own

        return CompactionStatistics(
            reason=earlier.reason if self.reason == "none" else self.reason,
            before_tokens=self.before_tokens if earlier.before_tokens is None else earlier.before_tokens,
            after_tokens=latest("after_tokens"),
            pruned_tool_results=earlier.pruned_tool_results + self.pruned_tool_results,
            tool_output_refs=earlier.tool_output_refs + self.tool_output_refs,
            summarized_messages=earlier.summarized_messages + self.summarized_messages,
            summary_attempts=earlier.summary_attempts + self.summary_attempts,
            summary_rejected=earlier.summary_rejected + self.summary_rejected,
            summary_source_tokens=latest("summary_source_tokens"),
            summary_checkpoint_tokens=latest("summary_checkpoint_tokens"),
            summary_input_chars=latest("summary_input_chars"),
            summary_output_chars=latest("summary_output_chars"),
            summary_warnings=earlier.summary_warnings + self.summary_warnings,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryPlan:
    """Which closed steps go into the next checkpoint and what stays verbatim behind it.

    `summarize` never holds a checkpoint, an open step or the active user request; `keep` is everything that
    stays, oldest first, without the standing checkpoint (which the next one replaces).
    """

    summarize: tuple[Step, ...]
    keep: tuple[Step, ...]

    @classmethod
    def before(cls, cutoff: int, history: Transcript) -> "SummaryPlan | None":
        """Return the plan that summarises the steps of `history` before place `cutoff`, or None.

        Everything from the first open call on stays as well, and so does the active user request, which comes
        first where it is older than what is kept.
        """
        steps, anchor = history.steps, history.anchor
        cutoff = min((cutoff, *history.landmarks.open[:1]))
        old = [step for step in steps[:cutoff] if not step.is_checkpoint]
        summarize = tuple(step for step in old if step.messages[0] is not anchor)
        if not summarize:
            return None
        pinned = tuple(step for step in old if step.messages[0] is anchor)
        return cls(
            summarize=summarize,
            keep=pinned + tuple(step for step in steps[cutoff:] if not step.is_checkpoint),
        )


@dataclass(frozen=True, slots=True)
class Compacted:
    """The canonical history after a compaction, and what the compaction did."""

    history: Transcript
    statistics: CompactionStatistics = CompactionStatistics()

    @property
    def changed(self) -> bool:
        """Whether the model would see another history than before."""
        return self.statistics.pruned_tool_results > 0 or self.statistics.summarized_messages > 0


@dataclass(frozen=True, slots=True)
class PlacedSection:
    """A section with the contributor that gave it."""

    section: Section
    contributor_id: str

    @property
    def sort_key(self) -> tuple[int, str, str]:
        """The place of the section in the prompt."""
        return (self.section.slot.priority + self.section.order, self.contributor_id, self.section.id)


@dataclass(frozen=True, slots=True)
class PlacedAttachment:
    """An attachment with the contributor that gave it."""

    attachment: Attachment
    contributor_id: str


@dataclass(frozen=True, slots=True)
class PlacedMessage:
    """A contributed message with the contributor that gave it."""

    message: UserMessage
    contributor_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributorReport:
    """What one contributor gave, how long it took in milliseconds, and why it failed if it did."""

    contributor_id: str
    required: bool
    status: Literal["contributed", "failed"]
    duration_ms: float
    contribution: Contribution | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Every contribution to the turn, validated and in its final order, before any budget."""

    sections: tuple[PlacedSection, ...] = ()
    messages: tuple[PlacedMessage, ...] = ()
    attachments: tuple[PlacedAttachment, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    reports: tuple[ContributorReport, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What the budgets let in; `diagnostics` says what was cut or dropped."""

    sections: tuple[PlacedSection, ...] = ()
    messages: tuple[PlacedMessage, ...] = ()
    attachments: tuple[PlacedAttachment, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The system prompt and the ids of its sections, in order."""

    text: str
    section_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """How full the window is, in tokens.

    The history is under pressure when it is larger than `history_line`: the pressure line less what the system
    prompt and tools (`reserved`) and this turn's contributions (`contributed`) already take.
    """

    limit: int
    line: int
    retain: int
    reserved: int
    contributed: int
    history: int

    @property
    def history_line(self) -> int:
        """The tokens that the history may have before it is compacted; at least 1."""
        return max(1, self.line - self.reserved - self.contributed)

    @property
    def used(self) -> int:
        """The tokens of the whole input before compaction."""
        return self.reserved + self.contributed + self.history

    @property
    def is_over(self) -> bool:
        """Whether the history must be compacted."""
        return self.history > self.history_line


@dataclass(frozen=True, slots=True)
class Composed:
    """The canonical history, and this turn's contributions that go behind it."""

    history: Transcript
    contributed: tuple[UserMessage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStatistics:
    """What the window kept; `estimated_input_tokens` counts the whole input."""

    estimated_input_tokens: int
    input_messages: int
    output_messages: int

    @property
    def removed_messages(self) -> int:
        """How many messages the window left out."""
        return self.input_messages - self.output_messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Windowed:
    """The messages that go out this turn, and what the window left out; the history itself is unchanged."""

    messages: Growing[Message]
    statistics: WindowStatistics
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledTurn:
    """The end of the corridor: the model input, the history to go on with, and every record on the way."""

    request: TurnRequest
    model_input: ModelInput
    history: Transcript
    estimated_tokens: int
    abandoned_calls: tuple[str, ...]
    collected: Collected
    admitted: Admitted
    prompt: RenderedPrompt
    pressure: Pressure
    compaction: CompactionStatistics
    windowed: Windowed


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """What a trace keeps of one assembly: the path that was sent, and the candidate where there was one.

    `sent` is what goes to the provider; `candidate` is the dynamic assembly, absent in legacy mode and where it
    failed with `error` before its end; then `collected` and `admitted` are what it came to.
    """

    mode: Mode
    selected_path: Literal["dynamic", "legacy"]
    request: TurnRequest
    sent: ModelInput | None
    candidate: AssembledTurn | None = None
    collected: Collected | None = None
    admitted: Admitted | None = None
    error: str | None = None
