"""The provider says "too long": one forced pass, one smaller retry, and no third request."""

from typing import Any

import pytest

from copyfit import (
    AgentRun,
    AssistantMessage,
    ContextBudgets,
    ContextOverflow,
    Mode,
    ModelLimits,
    OutputGuard,
    ProviderModelClient,
    Settings,
    SettingsError,
    SummaryRequest,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Transcript,
    UserMessage,
    WindowCannotFit,
)
from copyfit.compaction.sections import HEADINGS
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.tools import Tool
from copyfit.shapes.messages import Message, Origin
from copyfit.shapes.steps import split_steps
from copyfit_harness.scripted.chat_replies import Say, Wording, overflow, overflow_in_stream
from copyfit_harness.scripted.provider import ScriptedProvider

pytestmark = pytest.mark.anyio

CHECKPOINT = "\n\n".join(f"## {heading}\n- noted" for heading in HEADINGS)
BELIEVED = ContextBudgets(model_max_tokens=131_072, output_reserve_tokens=1_000, compaction_tool_preview_bytes=256)
ANSWER = Say("plot-2 is the driest.")
TOO_LONG = overflow(Wording.OPENAI, requested=9_000, limit=6_000)


class Checkpoints:
    """Writes checkpoints without a model, so that only the agent's requests are on the wire."""

    async def summarize(self, request: SummaryRequest) -> str:
        return CHECKPOINT


def read_plots(plots: int = 3, chars: int = 10_000) -> Transcript:
    """Return a request and `plots` closed steps, each with a long result that is stored under a ref."""
    guard = OutputGuard(store=MemoryToolOutputStore())
    messages: list[Message] = [UserMessage(content="Which plot is the driest?")]
    for number in range(plots):
        call = ToolCall(id=f"call-{number}", name="read_plot", arguments=f'{{"plot":"plot-{number}"}}')
        body = (f"plot-{number} read 8.41 dS/m. " * chars)[:chars]
        shown = guard.bound(body, tool_name="read_plot")
        assert shown.output_ref is not None
        messages += [
            AssistantMessage(content=(call,)),
            ToolMessage(call_id=call.id, name="read_plot", content=shown.text, output_ref=shown.output_ref),
        ]
    return Transcript(messages)


def agent(mode: Mode = Mode.DYNAMIC, **changes: Any) -> Any:
    def compose(client: ProviderModelClient, traces: Any) -> AgentRun:
        wiring: dict[str, Any] = {
            "mode": mode,
            "budgets": BELIEVED,
            "prompt": "You read plots.",
            "contract": "Cite the plot behind every figure.",
            "tools": [Tool(ToolSpec(name="read_plot"), lambda plot: plot)],
            "trace": traces,
            "context_id": "overflow",
        }
        return compose_run(RunParts(client=client, **(wiring | changes)))

    return compose


def trace_names(played: Any) -> list[str]:
    return sorted(path.name for path in played.traces.root.rglob("*.json"))


@pytest.mark.parametrize("mode", list(Mode))
async def test_an_overflow_is_answered_by_one_smaller_request(stage: Any, mode: Mode) -> None:
    history = read_plots()
    played = await stage.play([TOO_LONG, ANSWER], agent(mode, summarizer=Checkpoints()), history)
    assert played.result.output.message.text == "plot-2 is the driest."
    refused, retried = played.bodies
    assert len(retried) < len(refused) // 2
    assert trace_names(played) == ["turn-0001-recovery-1.json", "turn-0001.json"]
    first, second = played.traces.documents()
    assert "recovery" not in first
    assert second["recovery"] == {"attempt": 1, "reason": "model-input-overflow"}
    assert second["contextConfig"]["budget"]["modelMaxTokens"] == 6_000


async def test_a_second_overflow_is_the_end_of_the_turn(stage: Any) -> None:
    script = [TOO_LONG, overflow(Wording.LLAMA_CPP, requested=5_000, limit=4_000)]
    played = await stage.play(script, agent(summarizer=Checkpoints()), read_plots())
    error = played.outcome
    assert isinstance(error, ContextOverflow)
    assert (error.requested_tokens, error.limit_tokens) == (5_000, 4_000)
    assert [attempt.overflow.limit_tokens for attempt in error.attempts] == [6_000, 4_000]
    assert [attempt.selected.model_input for attempt in error.attempts] == list(played.sent)
    assert trace_names(played) == ["turn-0001-recovery-1.json", "turn-0001.json"]


async def test_an_overflow_in_mid_stream_is_recovered_like_any_other(stage: Any) -> None:
    script = [overflow_in_stream("plot-1 is"), ANSWER]
    compose = agent(summarizer=Checkpoints(), on_event=lambda event: None)
    played = await stage.play(script, compose, read_plots())
    assert played.result.output.message.text == "plot-2 is the driest."
    assert len(played.sent) == 2


@pytest.mark.parametrize("wording", list(Wording))
async def test_a_server_with_a_smaller_window_is_satisfied_by_the_retry(stage: Any, wording: Wording) -> None:
    """The server counts by itself; the checkpoint is written by the same model, within the same window."""
    script = [Say(CHECKPOINT), ANSWER]
    played = await stage.play(script, agent(), read_plots(6), window_tokens=8_000, wording=wording)
    refused, summary, retried = played.bodies
    assert len(refused) > 4 * 8_000 > max(len(summary), len(retried))
    assert played.result.history[0].origin is Origin.CHECKPOINT
    assert played.result.history.anchor is not None
    assert played.result.history.anchor.text == "Which plot is the driest?"


@pytest.mark.parametrize("script", [[ANSWER], [TOO_LONG, ANSWER]], ids=["fits", "overflows"])
async def test_shadow_sends_byte_for_byte_what_legacy_sends_under_pressure(stage: Any, script: Any) -> None:
    tight = ContextBudgets(model_max_tokens=8_000, output_reserve_tokens=1_000, compaction_tool_preview_bytes=256)
    legacy, shadow = [
        await stage.play(
            script, agent(mode, budgets=tight, summarizer=Checkpoints()), read_plots(4), name=mode.value
        )
        for mode in (Mode.LEGACY, Mode.SHADOW)
    ]
    assert legacy.sent[0].messages != read_plots(4).messages
    assert shadow.bodies == legacy.bodies


async def test_the_candidate_of_shadow_has_its_own_checkpoint_and_the_agent_is_sent_the_same(stage: Any) -> None:
    tight = ContextBudgets(model_max_tokens=8_000, output_reserve_tokens=1_000)
    rounds = [(UserMessage(content=f"{n}? " * 60), AssistantMessage(content=f"{n}. " * 60)) for n in range(9)]
    history = Transcript([*(message for each in rounds for message in each), UserMessage(content="And now?")])
    bodies = {}
    for mode, summaries in ((Mode.LEGACY, 1), (Mode.SHADOW, 2)):
        script = [*[Say(CHECKPOINT)] * summaries, ANSWER]
        played = await stage.play(script, agent(mode, budgets=tight), history, name=mode.value)
        assert [sent.tools == () for sent in played.sent] == [*[True] * summaries, False]
        bodies[mode] = played.bodies
    assert bodies[Mode.SHADOW][0] == bodies[Mode.LEGACY][0]
    assert bodies[Mode.SHADOW][-1] == bodies[Mode.LEGACY][-1]


async def test_under_pressure_bodies_shrink_and_every_result_keeps_its_call(stage: Any) -> None:
    """Case: ASM-05 (with a window that also holds our reading tool, and a checkpoint that has its sections)."""
    tight = ContextBudgets(model_max_tokens=5_000, output_reserve_tokens=1_000, compaction_tool_preview_bytes=256)
    played = await stage.play([ANSWER], agent(budgets=tight, summarizer=Checkpoints()), read_plots(3, 10_000))
    document = played.traces.documents()[0]
    assert document["renderedContext"]["compaction"]["prunedToolResults"] >= 1
    assert document["renderedContext"]["statistics"]["estimatedInputTokens"] <= 4_000
    for step in split_steps(played.sent[0].messages):
        calls = {
            call.id for message in step.messages if message.role == "assistant" for call in message.tool_calls
        }
        assert {message.call_id for message in step.messages if message.role == "tool"} <= calls


async def test_the_budgets_follow_the_model_and_what_was_set_on_purpose_wins(stage: Any) -> None:
    limits = ModelLimits(context_tokens=20_000, max_output_tokens=2_000)
    chosen = Settings.from_environment({"SCIENCE_AGENT_CONTEXT_MODEL_MAX_TOKENS": "12000"})
    for settings, window in ((None, 20_000), (chosen, 12_000)):
        played = await stage.play(
            [ANSWER],
            agent(budgets=None, settings=settings),
            read_plots(1),
            name=f"window-{window}",
            limits=limits,
        )
        budget = played.traces.documents()[0]["contextConfig"]["budget"]
        assert (budget["modelMaxTokens"], budget["outputReserveTokens"]) == (window, 2_000)


async def test_what_cannot_fit_fails_before_the_provider_is_called() -> None:
    with ScriptedProvider([], limits=ModelLimits(context_tokens=2_000, max_output_tokens=500)) as provider:
        run = compose_run(RunParts(client=provider, prompt="You read plots. " * 1_000))
        with pytest.raises(WindowCannotFit, match="model-aware input budget"):
            await run.run(Transcript([UserMessage(content="Which plot is the driest?")]))
    assert provider.inputs == []


def test_a_reserve_that_leaves_no_room_names_both_variables() -> None:
    limits = ModelLimits(context_tokens=8_000)
    with pytest.raises(SettingsError, match=r"OUTPUT_RESERVE_TOKENS.*MODEL_MAX_TOKENS"):
        compose_run(RunParts(client=ScriptedProvider([], limits=limits)))
