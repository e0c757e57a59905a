"""Dynamic, shadow and legacy over the real rooms; only the summarizer and the model are scripted."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from copyfit import (
    AssistantMessage,
    Attachment,
    ConservativeTokenEstimator,
    ContextBudgets,
    ContextContributorRegistry,
    ContributeRequest,
    Contribution,
    Mode,
    Scope,
    SummaryRequest,
    TokenLedger,
    ToolCall,
    ToolMessage,
    Transcript,
    Trust,
    UserMessage,
    WindowCannotFit,
    open_mode,
)
from copyfit.compaction.sections import HEADINGS
from copyfit.contributors.standing import identity
from copyfit.errors import CollectionFailed, RegistryFrozen
from copyfit.modes import AssemblyMode
from copyfit.shapes.messages import Message, Origin, OutputRef
from copyfit.shapes.stages import Recovery, TurnRecord, TurnRequest
from copyfit.trace.schema import trace_document

pytestmark = pytest.mark.anyio

BUDGETS = ContextBudgets(model_max_tokens=8_000, output_reserve_tokens=1_000)
CHECKPOINT = "\n\n".join(f"## {heading}\nnoted" for heading in HEADINGS)


@dataclass
class ScriptedSummarizer:
    requests: list[SummaryRequest] = field(default_factory=list)

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        return CHECKPOINT


@dataclass
class Sink:
    records: list[TurnRecord] = field(default_factory=list)

    def write(self, record: TurnRecord) -> None:
        self.records.append(record)


@dataclass(frozen=True)
class Retrieval:
    """Attaches a body to each turn, or fails."""

    id: str = "retrieval"
    scopes: tuple[Scope, ...] = (Scope.MAIN,)
    required: bool = True
    fails: bool = False

    async def contribute(self, request: ContributeRequest) -> Contribution:
        if self.fails:
            raise LookupError("index is down")
        attachment = Attachment(id="found", source="index", trust=Trust.UNTRUSTED, content="retrieved data")
        return Contribution(attachments=(attachment,))


def opened(mode: Mode, sink: Sink, *, fails: bool = False) -> AssemblyMode:
    return open_mode(
        mode,
        registry=ContextContributorRegistry([identity("You count."), Retrieval(fails=fails)]),
        ledger=TokenLedger(ConservativeTokenEstimator()),
        summarizer=ScriptedSummarizer(),
        static_system="You count, statically.",
        trace=sink,
    )


def request(history: Transcript, *, turn: int = 1, recovery: Recovery | None = None) -> TurnRequest:
    return TurnRequest(
        context_id="t", scope=Scope.MAIN, turn=turn, history=history, budgets=BUDGETS, recovery=recovery
    )


def step(number: int, size: int = 1_500) -> tuple[Message, Message]:
    body = f"row {number} " * (size // 7)
    ref = OutputRef(ref=f"tool-output-{number:016x}", bytes=len(body), lines=1, tool_name="read")
    return (
        AssistantMessage(content=(ToolCall(id=f"c{number}", name="read"),)),
        ToolMessage(call_id=f"c{number}", name="read", content=body, output_ref=ref),
    )


QUESTION = Transcript([UserMessage(content="question")])


async def test_dynamic_sends_the_rendered_prompt_and_the_contributions_behind_the_history() -> None:
    """Case: ASM-01."""
    sink = Sink()
    selected = await opened(Mode.DYNAMIC, sink).select(request(QUESTION))
    assert selected.model_input.system == "You count."
    canonical, attached = selected.model_input.messages
    assert canonical == QUESTION[0]
    assert "retrieved data" in attached.text
    assert attached.origin is Origin.ATTACHMENT
    assert selected.history == QUESTION
    (record,) = sink.records
    assert (record.mode, record.selected_path) == (Mode.DYNAMIC, "dynamic")
    assert record.sent == selected.model_input


async def test_legacy_sends_the_static_prompt_and_the_canonical_history_alone() -> None:
    sink = Sink()
    selected = await opened(Mode.LEGACY, sink, fails=True).select(request(QUESTION))
    assert selected.model_input.system == "You count, statically."
    assert selected.model_input.messages == QUESTION.messages
    (record,) = sink.records
    assert record.selected_path == "legacy"
    assert record.candidate is None


async def test_shadow_sends_byte_for_byte_what_legacy_sends_and_records_the_candidate() -> None:
    """The run grows through both compactions; the two paths get the same answers."""
    sink = Sink()
    legacy, shadow = opened(Mode.LEGACY, Sink()), opened(Mode.SHADOW, sink)
    legacy_history = shadow_history = QUESTION
    for turn in range(1, 31):
        one = await legacy.select(request(legacy_history, turn=turn))
        other = await shadow.select(request(shadow_history, turn=turn))
        assert other.model_input.canonical_bytes == one.model_input.canonical_bytes
        assert other.history == one.history
        legacy_history = one.history.append(*step(turn))
        shadow_history = other.history.append(*step(turn))
    assert any(record.candidate.compaction.summarized_messages for record in sink.records if record.candidate)
    for record in sink.records:
        assert record.selected_path == "legacy"
        assert record.candidate is not None
        assert record.candidate.model_input.system == "You count."
        assert record.sent != record.candidate.model_input


async def test_the_candidate_of_a_shadow_run_becomes_what_a_dynamic_run_becomes() -> None:
    sink = Sink()
    dynamic, shadow = opened(Mode.DYNAMIC, Sink()), opened(Mode.SHADOW, sink)
    dynamic_history = shadow_history = QUESTION
    for turn in range(1, 31):
        one = await dynamic.select(request(dynamic_history, turn=turn))
        other = await shadow.select(request(shadow_history, turn=turn))
        candidate = sink.records[-1].candidate
        assert candidate is not None
        assert candidate.model_input == one.model_input
        dynamic_history = one.history.append(*step(turn))
        shadow_history = other.history.append(*step(turn))


async def test_shadow_survives_a_failing_candidate_and_records_why() -> None:
    sink = Sink()
    selected = await opened(Mode.SHADOW, sink, fails=True).select(request(QUESTION))
    assert selected.model_input.system == "You count, statically."
    (record,) = sink.records
    assert record.candidate is None
    assert "index is down" in str(record.error)


async def test_a_failing_dynamic_assembly_is_traced_and_raised() -> None:
    sink = Sink()
    with pytest.raises(CollectionFailed, match="index is down"):
        await opened(Mode.DYNAMIC, sink, fails=True).select(request(QUESTION))
    (record,) = sink.records
    assert record.sent is None
    assert "index is down" in str(record.error)


async def test_the_trace_of_a_failed_assembly_keeps_what_it_came_to() -> None:
    sink = Sink()
    with pytest.raises(CollectionFailed):
        await opened(Mode.DYNAMIC, sink, fails=True).select(request(QUESTION))
    with pytest.raises(WindowCannotFit):
        await opened(Mode.DYNAMIC, sink).select(request(Transcript([UserMessage(content="long " * 8_000)])))
    uncollected, unfitting = (trace_document(record, exported_at=datetime.now(UTC)) for record in sink.records)
    statuses = {each["contributorId"]: each["status"] for each in uncollected["collection"]["contributors"]}
    assert statuses == {"retrieval": "failed", "workspace.identity": "contributed"}
    assert "admitted" not in uncollected
    assert [section["id"] for section in unfitting["admitted"]["sections"]] == ["workspace.identity"]
    assert "renderedContext" not in unfitting
    assert unfitting["llmInput"] is None


async def test_what_cannot_fit_is_refused_before_any_provider_is_asked() -> None:
    sink = Sink()
    history = Transcript([UserMessage(content="long " * 8_000)])
    with pytest.raises(WindowCannotFit, match="model-aware input budget"):
        await opened(Mode.DYNAMIC, sink).select(request(history))
    assert "model-aware input budget" in str(sink.records[0].error)


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_forced_pass_makes_the_input_smaller_in_every_mode(mode: Mode) -> None:
    opened_mode = opened(mode, Sink())
    history = QUESTION.append(*(message for number in range(4) for message in step(number)))
    first = await opened_mode.select(request(history))
    second = await opened_mode.select(request(first.history, recovery=Recovery()))
    assert second.estimated_tokens < first.estimated_tokens
    assert second.compaction.reason == "forced"
    assert len(second.model_input.canonical_bytes) < len(first.model_input.canonical_bytes)


async def test_the_registry_is_frozen_when_the_run_begins() -> None:
    registry = ContextContributorRegistry([identity("You count.")])
    open_mode(Mode.DYNAMIC, registry=registry, ledger=TokenLedger(ConservativeTokenEstimator()))
    with pytest.raises(RegistryFrozen):
        registry.register(Retrieval())


@pytest.mark.parametrize("mode", [Mode.DYNAMIC, Mode.LEGACY])
async def test_without_a_summarizer_a_history_of_many_messages_is_left_alone_without_a_word(mode: Mode) -> None:
    messages = [UserMessage(content=f"question {number}") for number in range(60)]
    alone = open_mode(
        mode,
        registry=ContextContributorRegistry([identity("You count.")]),
        ledger=TokenLedger(ConservativeTokenEstimator()),
    )
    selected = await alone.select(request(Transcript(messages)))
    assert selected.model_input.messages == tuple(messages)
    assert (selected.compaction.reason, selected.compaction.summary_warnings) == ("none", ())
