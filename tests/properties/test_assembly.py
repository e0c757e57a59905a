"""What holds for every history, every contributor and every summarizer, through the whole corridor.

The histories are as bad as they come: results late, twice, missing or of no call, ids used again, empty and huge
bodies, images, reasoning, lone surrogates and the words that vocabularies reserve.
"""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copyfit import (
    AssistantMessage,
    Attachment,
    ConservativeTokenEstimator,
    ContextAssembler,
    ContextBudgets,
    ContextContributorRegistry,
    ContributeRequest,
    Contribution,
    Mode,
    Scope,
    SummaryRequest,
    TextPart,
    TokenLedger,
    ToolCall,
    ToolMessage,
    Transcript,
    Trust,
    UserMessage,
    WindowCannotFit,
    open_mode,
)
from copyfit.compaction.checkpoint import build_checkpoint
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.sections import HEADINGS, write_sections
from copyfit.contributors.standing import identity
from copyfit.history.abandoned import close_abandoned_calls
from copyfit.modes import AssemblyMode, Selected
from copyfit.shapes.contributions import Section, Slot
from copyfit.shapes.messages import ImagePart, Message, Origin, OutputRef, ThinkingPart
from copyfit.shapes.stages import AssembledTurn, Recovery, TurnRequest

many = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

GOOD = write_sections([f"about {heading}" for heading in HEADINGS])
ANSWERS: tuple[str | None, ...] = (GOOD, "", "prose", GOOD + "科" * 9_000, "## Next step\n<|endoftext|>", None)
TEXTS = (
    "",
    "<|endoftext|><|im_start|>system",
    "\ud800 lone \udfff",
    "温度升高导致反应速率加快👩‍🔬",
    "</context_data></durable_context_data>",
    "word " * 60,
    "row,12.5,0x1f\n" * 300,
)
BATCHES = (
    *(("user", ""), ("said", "")) * 2,
    *(("a", "a"), ("b", "b"), ("abc", "cab"), ("dc", "cd")) * 2,
    *(("a", ""), ("ab", "b"), ("abcd", "dca")),
    *(("a", "aa"), ("b", "ca"), ("", "a"), ("", "d")),
)
"""The ids of the calls in a batch and of the results that follow it: whole ones, open ones, odd ones."""


@dataclass
class Cycling:
    """Gives its answers round and round; None is a failure."""

    answers: Sequence[str | None]
    asked: int = field(default=0, init=False)

    async def summarize(self, request: SummaryRequest) -> str:
        answer = self.answers[self.asked % len(self.answers)]
        self.asked += 1
        if answer is None:
            raise LookupError("no answer")
        return answer


@dataclass(frozen=True)
class Giver:
    """Gives the same on every turn."""

    given: Contribution
    id: str = "giver"
    scopes: tuple[Scope, ...] = tuple(Scope)
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        return self.given


@dataclass(frozen=True)
class Case:
    """One run: its history, what is contributed, what the summarizer answers, and the window."""

    history: Transcript
    given: Contribution
    answers: tuple[str | None, ...]
    budgets: ContextBudgets
    summarizer_window: int | None


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """One user message, one answer, one stray result, or calls with whichever results came, in their order."""
    ids, answered = draw(st.sampled_from(BATCHES))
    start, odd = draw(st.integers(0, len(TEXTS) - 1)), draw(st.booleans())
    text = TEXTS[start]
    if ids == "user":
        image = ImagePart(url="https://host/plot.png")
        return [UserMessage(content=(TextPart(text=text), image) if odd else text)]
    if ids == "said":
        return [AssistantMessage(content=text)]
    calls = tuple(ToolCall(id=each, name="read", arguments='{"path":"a"}') for each in ids)
    thought = ThinkingPart(text=text[:200], signature="SIG", provider="anthropic-messages")
    asked = [AssistantMessage(content=(thought, *calls) if odd else calls)] if calls else []
    return [*asked, *(_result(each, TEXTS[start - place], stored=odd) for place, each in enumerate(answered))]


def _result(call_id: str, text: str, *, stored: bool) -> ToolMessage:
    ref = OutputRef(ref=f"tool-output-{len(text):08x}", bytes=len(text), lines=1, tool_name="read")
    return ToolMessage(call_id=call_id, name="read", content=text, output_ref=ref if stored else None)


@st.composite
def histories(draw: st.DrawFn) -> Transcript:
    least = draw(st.sampled_from([1, 8, 20]))
    messages = list(itertools.chain.from_iterable(draw(st.lists(steps(), min_size=least, max_size=30))))
    if draw(st.booleans()):
        messages.insert(0, build_checkpoint(["earlier", *[""] * 7]))
    return Transcript(messages)


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    texts = draw(st.lists(st.sampled_from([text for text in TEXTS if text.strip()]), max_size=2, unique=True))
    return Contribution(
        sections=tuple(
            Section(id=f"s{place}", slot=Slot.WORKING_CONTEXT, content=text) for place, text in enumerate(texts)
        ),
        messages=tuple(UserMessage(content=text) for text in texts),
        attachments=tuple(
            Attachment(id=f"a{place}", source="index", trust=Trust.UNTRUSTED, content=text)
            for place, text in enumerate(texts)
        ),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return Case(
        history=draw(histories()),
        given=draw(contributions()),
        answers=tuple(draw(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=3))),
        budgets=ContextBudgets(
            model_max_tokens=draw(st.sampled_from([4_000, 12_000, 20_000, 40_000, 400_000])),
            output_reserve_tokens=500,
            window_messages=draw(st.sampled_from([None, None, 3, 10])),
            window_rounds=draw(st.sampled_from([None, None, None, 2])),
            compaction_tool_preview_bytes=256,
        ),
        summarizer_window=draw(st.sampled_from([None, 3_000])),
    )


def assemble(
    case: Case, history: Transcript | None = None, *, forced: bool = False, refused: int | None = None
) -> tuple[AssembledTurn, int]:
    """Return the turn, and how often the summarizer was asked."""
    ledger, summarizer = TokenLedger(ConservativeTokenEstimator()), Cycling(case.answers)
    assembler = ContextAssembler(
        registry=_registry(case),
        ledger=ledger,
        compactor=HistoryCompactor(
            ledger=ledger, summarizer=summarizer, summarizer_window_tokens=case.summarizer_window
        ),
    )
    request = replace(_request(case, history, forced=forced or refused is not None), refused_tokens=refused)
    return asyncio.run(assembler.assemble(request)), summarizer.asked


def _registry(case: Case) -> ContextContributorRegistry:
    return ContextContributorRegistry([identity("You read."), Giver(case.given)])


def _request(case: Case, history: Transcript | None, *, forced: bool) -> TurnRequest:
    return TurnRequest(
        context_id="t",
        scope=Scope.MAIN,
        turn=1,
        history=case.history if history is None else history,
        budgets=case.budgets,
        recovery=Recovery() if forced else None,
    )


def assembled(case: Case, history: Transcript | None = None, **how: Any) -> AssembledTurn | None:
    """Return the turn, or None where what must stay is larger than the window."""
    try:
        return assemble(case, history, **how)[0]
    except WindowCannotFit:
        return None


def canonical(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.origin in (Origin.CANONICAL, Origin.CHECKPOINT)]


def is_cut_from(cut: Message, whole: Message) -> bool:
    """Return whether `cut` is `whole` with its body projected, and smaller."""
    if not (isinstance(cut, ToolMessage) and isinstance(whole, ToolMessage) and cut.projected):
        return False
    estimator = ConservativeTokenEstimator()
    return (
        cut == whole.model_copy(update={"content": cut.content, "projected": True})
        and len(cut.text.encode("utf-8", "surrogatepass")) < len(whole.text.encode("utf-8", "surrogatepass"))
        and estimator.count_message(cut) < estimator.count_message(whole)
    )


def same(found: Message, given: Message) -> bool:
    return found == given or is_cut_from(found, given)


@many
@given(cases(), st.booleans())
def test_no_step_is_split_and_only_the_last_one_waits(case: Case, forced: bool) -> None:
    turn = assembled(case, forced=forced)
    if turn is None:
        return
    settled, _ = close_abandoned_calls(case.history)
    for messages in (canonical(turn.model_input.messages), turn.history):
        found = Transcript(messages).steps
        assert not any(isinstance(step.messages[0], ToolMessage) for step in found)
        assert [step.open_calls for step in found[:-1] if step.is_open] == []
        assert found[-1].open_calls == settled.steps[-1].open_calls
        for step in found:
            assert (
                any(
                    len(step.messages) == len(whole.messages) and all(map(same, step.messages, whole.messages))
                    for whole in settled.steps
                )
                or step.messages[0].origin is Origin.CHECKPOINT
            )


@many
@given(cases(), st.booleans())
def test_the_task_and_the_newest_step_are_kept(case: Case, forced: bool) -> None:
    turn = assembled(case, forced=forced)
    if turn is None:
        return
    settled, _ = close_abandoned_calls(case.history)
    sent = canonical(turn.model_input.messages)
    newest = settled.steps[-1].messages
    assert all(map(same, sent[-len(newest) :], newest))
    assert settled.anchor is None or any(message is settled.anchor for message in sent)
    assert settled.anchor is turn.history.anchor


@many
@given(cases(), st.booleans())
def test_an_input_is_within_the_limit_and_its_cost_is_what_was_told(case: Case, forced: bool) -> None:
    turn = assembled(case, forced=forced)
    if turn is None:
        return
    estimator = ConservativeTokenEstimator()
    cost = estimator.count_system(turn.model_input.system) + sum(
        map(estimator.count_message, turn.model_input.messages)
    )
    assert cost == turn.estimated_tokens <= case.budgets.input_limit_tokens


@many
@given(cases(), st.booleans())
def test_nothing_that_was_contributed_enters_the_history(case: Case, forced: bool) -> None:
    turn = assembled(case, forced=forced)
    if turn is None:
        return
    assert canonical(turn.history) == list(turn.history)
    checkpoints = [message for message in turn.history if message.origin is Origin.CHECKPOINT]
    assert checkpoints in ([], list(turn.history[:1]))
    sent = list(turn.model_input.messages)
    kept = canonical(sent)
    assert sent[: len(kept)] == kept
    rest = iter(turn.history)
    assert all(any(each is message for each in rest) for message in kept)


@many
@given(cases(), st.booleans())
def test_a_history_only_loses_what_was_summarised_or_cut(case: Case, forced: bool) -> None:
    turn = assembled(case, forced=forced)
    if turn is None:
        return
    settled, _ = close_abandoned_calls(case.history)
    gone = sum(message.origin is not Origin.CHECKPOINT for message in settled) - sum(
        message.origin is not Origin.CHECKPOINT for message in turn.history
    )
    assert gone == turn.compaction.summarized_messages
    cut = [message for message in turn.history if isinstance(message, ToolMessage) and message.projected]
    assert len(cut) <= turn.compaction.pruned_tool_results == len(turn.compaction.tool_output_refs)
    if turn.compaction.summarized_messages:
        before, after = turn.compaction.summary_source_tokens, turn.compaction.summary_checkpoint_tokens
        assert (after or 0) < (before or 0)


@many
@given(cases(), st.booleans())
def test_the_same_turn_gives_the_same_bytes(case: Case, forced: bool) -> None:
    first, second = assembled(case, forced=forced), assembled(case, forced=forced)
    if first is None or second is None:
        assert first is second
        return
    assert first.model_input.canonical_bytes == second.model_input.canonical_bytes
    assert first.history == second.history


@many
@given(cases())
def test_compaction_ends(case: Case) -> None:
    history, tokens = case.history, None
    for _ in range(12):
        try:
            turn, asked = assemble(case, history)
        except WindowCannotFit:
            return
        if case.summarizer_window is None:
            assert asked <= 4
        now = TokenLedger(ConservativeTokenEstimator()).transcript(turn.history)
        assert tokens is None or now <= tokens
        if turn.history == history:
            return
        history, tokens = turn.history, now
    raise AssertionError("the history never came to rest")


@many
@given(cases())
def test_an_input_after_a_refusal_is_smaller_unless_all_of_it_must_stay(case: Case) -> None:
    first = assembled(case)
    second = first and assembled(case, first.history, refused=first.estimated_tokens)
    if first is None or second is None:
        return
    estimator, history = ConservativeTokenEstimator(), second.history
    must = {id(each): each for each in (history.checkpoint, history.anchor, *history.steps[-1].messages) if each}
    floor = estimator.count_system(second.model_input.system) + sum(map(estimator.count_message, must.values()))
    assert second.estimated_tokens <= max(first.estimated_tokens * 8 // 10, floor)


def opened(mode: Mode, case: Case) -> AssemblyMode:
    return open_mode(
        mode,
        registry=_registry(case),
        ledger=TokenLedger(ConservativeTokenEstimator()),
        summarizer=Cycling(case.answers),
        summarizer_window_tokens=case.summarizer_window,
        static_system="You read, statically.",
    )


def selected(mode: AssemblyMode, case: Case, history: Transcript) -> Selected | None:
    try:
        return asyncio.run(mode.select(_request(case, history, forced=False)))
    except WindowCannotFit:
        return None


@many
@given(cases(), st.lists(steps(), max_size=3))
def test_shadow_sends_what_legacy_sends_and_becomes_what_dynamic_becomes(
    case: Case, more: list[list[Message]]
) -> None:
    # One fixed answer: the two summarizers of a shadow run are asked by turns.
    case = Case(case.history, case.given, case.answers[:1], case.budgets, case.summarizer_window)
    legacy, shadow, dynamic = (opened(mode, case) for mode in (Mode.LEGACY, Mode.SHADOW, Mode.DYNAMIC))
    histories: list[Any] = [case.history, case.history, case.history]
    for step in [[], *more]:
        plain, beside, own = (
            selected(mode, case, history.append(*step))
            for mode, history in zip((legacy, shadow, dynamic), histories, strict=True)
        )
        assert plain is not None
        assert beside is not None
        assert beside.model_input.canonical_bytes == plain.model_input.canonical_bytes
        assert beside.history == plain.history
        assert canonical(plain.model_input.messages) == list(plain.history) == list(plain.model_input.messages)
        candidate = beside.record.candidate
        if own is None or candidate is None:
            assert own is None
            assert candidate is None
            return
        assert candidate.model_input.canonical_bytes == own.model_input.canonical_bytes
        histories = [plain.history, beside.history, own.history]
