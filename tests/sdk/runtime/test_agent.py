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
from copyfit.shapes.model_output import Finished

QUESTION = Transcript([UserMessage(content="how many?")])


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
