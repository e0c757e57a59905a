"""The loop over turns, and how it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from copyfit import (
    AgentRun,
    AssistantMessage,
    ConservativeTokenEstimator,
    ContextBudgets,
    ContextContributorRegistry,
    FinishReason,
    Mode,
    ModelInput,
    ModelLimits,
    ModelOutput,
    ModelSettings,
    ModelSummarizer,
    StopReason,
    StreamEvent,
    SummaryRequest,
    TokenLedger,
    Tool,
    ToolCall,
    ToolMessage,
    ToolRegistry,
    ToolSpec,
    Transcript,
    Turn,
    TurnResult,
    Unavailable,
    UserMessage,
    open_mode,
)
from copyfit.errors import ContextOverflow
from copyfit.runtime.phases import Phase
from copyfit.shapes.model_output import Finished

QUESTION = Transcript([UserMessage(content="how many?")])
LONG = Transcript(
    message
    for number in range(40)
    for message in (UserMessage(content=f"{number}"), AssistantMessage(content="word " * 400))
).append(*QUESTION)
"""Long enough for a recovery to have something to cut."""


def calling(*names: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id=f"{name}-1", name=name) for name in names))


@dataclass
class ScriptedClient:
    answers: list[AssistantMessage | Exception]
    inputs: list[ModelInput] = field(default_factory=list)
    provider: str = "scripted"
    model: str = "m"
    limits: ModelLimits | None = None

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        self.inputs.append(model_input)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelOutput(message=answer, finish_reason=FinishReason.STOP)

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        yield Finished(await self.complete(model_input))


def a_run(
    client: ScriptedClient, *, max_turns: int = 8, seen: list[tuple[int, TurnResult]] | None = None
) -> AgentRun:
    def note(number: int, result: TurnResult) -> None:
        if seen is not None:
            seen.append((number, result))

    turn = Turn(
        mode=open_mode(
            Mode.DYNAMIC,
            registry=ContextContributorRegistry(),
            ledger=TokenLedger(ConservativeTokenEstimator()),
        ),
        client=client,
        budgets=ContextBudgets(),
        context_id="run",
    )
    tools = ToolRegistry(
        [Tool(ToolSpec(name=name), lambda name=name: f"{name} result") for name in ("one", "two")]
    )
    return AgentRun(turn=turn, tools=tools, max_turns=max_turns, on_turn=note)


@pytest.mark.anyio
async def test_a_run_goes_on_until_the_model_asks_for_no_tool() -> None:
    client = ScriptedClient([calling("one"), calling("two"), AssistantMessage(content="three")])
    seen: list[tuple[int, TurnResult]] = []
    result = await a_run(client, seen=seen).run(QUESTION)
    assert (result.stop, result.turns) == (StopReason.ANSWERED, 3)
    assert result.output.message.text == "three"
    assert [number for number, _ in seen] == [1, 2, 3]
    assert [message.role for message in result.history] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]


@pytest.mark.anyio
async def test_each_turn_sees_the_results_of_the_one_before_in_declared_order() -> None:
    client = ScriptedClient([calling("two", "one"), AssistantMessage(content="done")])
    await a_run(client).run(QUESTION)
    results = [message for message in client.inputs[1].messages if isinstance(message, ToolMessage)]
    assert [(result.call_id, result.text) for result in results] == [
        ("two-1", "two result"),
        ("one-1", "one result"),
    ]


@pytest.mark.anyio
async def test_the_model_is_told_of_the_tools_on_every_turn() -> None:
    client = ScriptedClient([calling("one"), AssistantMessage(content="done")])
    await a_run(client).run(QUESTION)
    assert [[tool.name for tool in sent.tools] for sent in client.inputs] == [["one", "two"]] * 2


@pytest.mark.anyio
async def test_a_run_ends_at_its_bound_with_the_last_results_in_the_history() -> None:
    client = ScriptedClient([calling("one")] * 5)
    result = await a_run(client, max_turns=3).run(QUESTION)
    assert (result.stop, result.turns) == (StopReason.MAX_TURNS, 3)
    assert isinstance(result.history[-1], ToolMessage)
    assert len(client.inputs) == 3


@pytest.mark.anyio
async def test_an_error_of_the_provider_ends_the_run() -> None:
    client = ScriptedClient([calling("one"), Unavailable("down", provider="scripted")])
    with pytest.raises(Unavailable):
        await a_run(client).run(QUESTION)


@pytest.mark.anyio
async def test_a_run_that_failed_leaves_the_history_of_its_finished_turns() -> None:
    first = calling("one")
    run = a_run(ScriptedClient([first, Unavailable("down", provider="scripted")]))
    with pytest.raises(Unavailable):
        await run.run(QUESTION)
    result = ToolMessage(call_id="one-1", name="one", content="one result")
    assert run.history == QUESTION.append(first, result)


def test_a_caller_without_an_event_loop_has_a_door_too() -> None:
    result = a_run(ScriptedClient([AssistantMessage(content="done")])).run_sync(QUESTION)
    assert result.output.message.text == "done"


def test_a_run_needs_at_least_one_turn() -> None:
    with pytest.raises(ValueError, match="max_turns"):
        a_run(ScriptedClient([]), max_turns=0)


@pytest.mark.anyio
async def test_a_model_can_write_the_checkpoints() -> None:
    client = ScriptedClient([AssistantMessage(content="## Next step\nnone")])
    settings = ModelSettings(max_output_tokens=100)
    text = await ModelSummarizer(client, settings).summarize(SummaryRequest(system="be brief", prompt="sum up"))
    assert text == "## Next step\nnone"
    (sent,) = client.inputs
    assert (sent.system, sent.messages, sent.tools) == ("be brief", (UserMessage(content="sum up"),), ())
    assert sent.settings == settings


@pytest.mark.anyio
async def test_a_run_runs_once() -> None:
    """Case: RUN-06, NAT-14."""
    run = a_run(ScriptedClient([AssistantMessage(content="done")] * 2))
    await run.run(QUESTION)
    with pytest.raises(RuntimeError, match="executed already"):
        await run.run(QUESTION)


@pytest.mark.anyio
async def test_a_run_of_128_turns_pairs_every_call_with_its_result() -> None:
    """Case: RUN-05."""
    calls = [AssistantMessage(content=(ToolCall(id=str(number), name="one"),)) for number in range(200)]
    registry = ToolRegistry([Tool(ToolSpec(name="one"), lambda: "seen")])
    run = AgentRun(turn=a_run(ScriptedClient(list(calls))).turn, tools=registry)
    result = await run.run(Transcript())
    assert (result.turns, result.stop) == (128, StopReason.MAX_TURNS)
    assert not any(step.is_open for step in result.history.steps)
    assert isinstance(result.history[-1], ToolMessage)


@pytest.mark.anyio
async def test_a_listener_that_fails_does_not_end_the_run() -> None:
    """Case: RUN-08."""

    def deaf(*said: object) -> None:
        raise LookupError

    run = a_run(ScriptedClient([calling("one"), AssistantMessage(content="done")]))
    run.on_turn = run.on_event = deaf
    assert (await run.run(QUESTION)).stop is StopReason.ANSWERED


@pytest.mark.anyio
async def test_what_a_provider_says_besides_goes_back_unchanged() -> None:
    """Case: NAT-17."""
    call = ToolCall(id="one-1", name="one", extra={"openai-chat": {"index": 0, "cache": [1]}})
    said = AssistantMessage(content=(call,), extra={"openai-chat": {"reasoning_content": "hm"}})
    client = ScriptedClient([said, AssistantMessage(content="done")])
    await a_run(client).run(QUESTION)
    assert client.inputs[1].messages[1] == said


@pytest.mark.anyio
async def test_a_run_that_is_cancelled_before_it_begins_sends_nothing() -> None:
    """Case: RUN-06, NAT-16."""
    client = ScriptedClient([AssistantMessage(content="never")])
    task = asyncio.create_task(a_run(client).run(QUESTION))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert client.inputs == []


@pytest.mark.anyio
async def test_a_cancellation_ends_a_run_in_which_nothing_ever_waits() -> None:
    def cancel_running(number: int, result: TurnResult) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    client = ScriptedClient([calling("one")] * 9)
    run = a_run(client)
    run.on_turn = cancel_running
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(run.run(QUESTION))
    assert len(client.inputs) == 1


@pytest.mark.anyio
async def test_a_cancelled_run_waits_for_its_tools_and_starts_none_of_the_rest() -> None:
    """Case: NAT-16."""
    log: list[str] = []
    begun = asyncio.Event()

    async def work(name: str) -> str:
        log.append(f"+{name}")
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            log.append(f"-{name}")
        return name

    names = ("a", "b", "c")
    step = AssistantMessage(
        content=tuple(ToolCall(id=name, name="work", arguments=f'{{"name":"{name}"}}') for name in names)
    )
    client = ScriptedClient([step, AssistantMessage(content="never")])
    tools = ToolRegistry([Tool(ToolSpec(name="work"), work, exclusive=False)], parallel=2)
    before = asyncio.all_tasks()
    task = asyncio.create_task(AgentRun(turn=a_run(client).turn, tools=tools).run(QUESTION))
    await begun.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(log) == ["+a", "+b", "-a", "-b"]
    assert len(client.inputs) == 1
    assert asyncio.all_tasks() == before


async def phases_of(*answers: AssistantMessage | Exception) -> list[Phase]:
    heard: list[Phase] = []
    run = a_run(ScriptedClient(list(answers)))
    run.on_phase = heard.append
    with contextlib.suppress(Unavailable, ContextOverflow):
        await run.run(LONG)
    return heard


@pytest.mark.anyio
async def test_a_run_tells_what_it_is_busy_with() -> None:
    assert await phases_of(calling("one"), AssistantMessage(content="done")) == [
        Phase.ASSEMBLING_CONTEXT,
        Phase.CALLING_MODEL,
        Phase.EXECUTING_TOOLS,
        Phase.ASSEMBLING_CONTEXT,
        Phase.CALLING_MODEL,
        Phase.COMPLETED,
    ]


@pytest.mark.anyio
async def test_a_run_whose_model_fails_ends_as_failed() -> None:
    """Case: RUN-07."""
    heard = await phases_of(Unavailable("down", provider="scripted"))
    assert heard == [Phase.ASSEMBLING_CONTEXT, Phase.CALLING_MODEL, Phase.FAILED]


@pytest.mark.anyio
async def test_a_recovery_assembles_and_calls_once_more_and_fails_if_that_fails() -> None:
    overflow = ContextOverflow("too long", provider="scripted", limit_tokens=4_000)
    heard = await phases_of(overflow, Unavailable("down", provider="scripted"))
    assert heard == [Phase.ASSEMBLING_CONTEXT, Phase.CALLING_MODEL] * 2 + [Phase.FAILED]


@pytest.mark.anyio
async def test_a_cancelled_run_ends_as_cancelled() -> None:
    heard: list[Phase] = []
    run = a_run(ScriptedClient([AssistantMessage(content="never")]))
    run.on_phase = heard.append
    task = asyncio.create_task(run.run(QUESTION))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == [Phase.CANCELLED]
