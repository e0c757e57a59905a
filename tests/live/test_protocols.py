"""The three protocols that llama.cpp's real server speaks: text, stream, tools, overflow, mid-stream, recovery."""

import asyncio
import json

import pytest

from copyfit import (
    AgentRun,
    ConservativeTokenEstimator,
    ContextBudgets,
    ContextContributorRegistry,
    ContextOverflow,
    FinishReason,
    MemoryToolOutputStore,
    Mode,
    ModelInput,
    ModelSettings,
    OutputBounds,
    OutputGuard,
    StreamEvent,
    TokenLedger,
    Tool,
    ToolMessage,
    ToolRegistry,
    ToolSpec,
    Transcript,
    Turn,
    TurnResult,
    UserMessage,
    open_mode,
)
from copyfit.shapes.messages import TextPart
from copyfit.shapes.model_output import Finished, TextDelta, ToolCallDelta
from copyfit_adapters import open_adapter
from copyfit_adapters.catalog import Adapter
from copyfit_harness.local_provider.options import LocalProviderOptions
from copyfit_harness.local_provider.provider import LocalProvider

pytestmark = [
    pytest.mark.live,
    pytest.mark.anyio,
    pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic-messages"]),
]


def choosing(name: str, field: str, *values: str) -> ToolSpec:
    """Return a tool that takes one of `values`."""
    choice = {"type": "string", "enum": list(values)}
    return ToolSpec(name=name, parameters={"type": "object", "properties": {field: choice}, "required": [field]})


WEATHER = choosing("weather", "city", "Oslo", "成都")
READ = choosing("read", "plot", "plot-01", "plot-02")
SHORT = ModelSettings(max_output_tokens=96, temperature=0)
QUESTION = UserMessage(content="What is 盐胁迫, in two words?")
BODY = "plot-03 read 8.41 dS/m; 叶尖枯黄. " * 90


def client_of(protocol: str, provider: LocalProvider) -> Adapter:
    return open_adapter(
        f"{protocol}:{provider.model}",
        base_url=provider.base_url,
        api_key="",
        provider="llama.cpp",
        max_retries=0,
    )


async def test_a_text_is_answered_and_its_usage_reported(protocol: str, plain_provider: LocalProvider) -> None:
    async with client_of(protocol, plain_provider) as client:
        output = await client.complete(ModelInput("Be brief.", (QUESTION,), settings=SHORT))
    assert output.message.text
    assert output.finish_reason in (FinishReason.STOP, FinishReason.LENGTH)
    assert output.usage.input_tokens
    assert output.usage.output_tokens


async def test_a_stream_adds_up_to_the_answer(protocol: str, plain_provider: LocalProvider) -> None:
    sent = ModelInput("Be brief.", (QUESTION,), settings=SHORT)
    async with client_of(protocol, plain_provider) as client:
        events: list[StreamEvent] = [event async for event in client.stream(sent)]
        whole = await client.complete(sent)
    assert isinstance(events[-1], Finished)
    output = events[-1].output
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == output.message.text == whole.message.text
    assert output.finish_reason is whole.finish_reason
    assert output.usage.input_tokens == whole.usage.input_tokens


async def test_an_answer_goes_back_and_the_user_goes_on(protocol: str, plain_provider: LocalProvider) -> None:
    async with client_of(protocol, plain_provider) as client:
        first = await client.complete(ModelInput("Be brief.", (QUESTION,), settings=SHORT))
        going_on = UserMessage(content=(TextPart(text="And"), TextPart(text="then?")))
        second = await client.complete(
            ModelInput("Be brief.", (QUESTION, first.message, going_on), settings=SHORT)
        )
    assert second.message.text
    assert (second.usage.input_tokens or 0) > (first.usage.input_tokens or 0) + (first.usage.output_tokens or 0)


async def test_a_tool_call_comes_back_and_its_result_goes_in(protocol: str, tools_provider: LocalProvider) -> None:
    async with client_of(protocol, tools_provider) as client:
        first = await client.complete(ModelInput("", (QUESTION,), (WEATHER,), SHORT))
        (call,) = first.message.tool_calls
        assert first.finish_reason is FinishReason.TOOL_CALLS
        assert json.loads(call.arguments)["city"] in ("Oslo", "成都")
        result = ToolMessage(call_id=call.id, name=call.name, content="rain, 雨", is_error=True)
        second = await client.complete(ModelInput("", (QUESTION, first.message, result), (WEATHER,), SHORT))
    assert (second.usage.input_tokens or 0) > (first.usage.input_tokens or 0)
    assert second.message.tool_calls


async def test_a_streamed_tool_call_adds_up_to_the_answer(protocol: str, tools_provider: LocalProvider) -> None:
    async with client_of(protocol, tools_provider) as client:
        events = [event async for event in client.stream(ModelInput("", (QUESTION,), (WEATHER,), SHORT))]
    assert isinstance(events[-1], Finished)
    (call,) = events[-1].output.message.tool_calls
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert "".join(piece.arguments for piece in pieces) == call.arguments
    assert {piece.id for piece in pieces if piece.id} == {call.id}


async def test_a_prompt_that_is_too_long_is_a_typed_overflow_with_both_numbers(
    protocol: str, plain_provider: LocalProvider
) -> None:
    sent = ModelInput("", (UserMessage(content="plot-03, 8.41 dS/m. " * 900),), settings=SHORT)
    async with client_of(protocol, plain_provider) as client:
        for send in (client.complete(sent), anext(aiter(client.stream(sent)))):
            with pytest.raises(ContextOverflow) as raised:
                await send
            assert raised.value.status == 400
            assert raised.value.limit_tokens == 4_096
            assert (raised.value.requested_tokens or 0) > 4_096


async def test_an_overflow_in_mid_stream_is_an_overflow(protocol: str) -> None:
    """Two streams outgrow the pool that they share, after the server has answered 200 to both.

    Not every route can forbid the model its end, so they are sent until two of them meet before it.
    """
    options = LocalProviderOptions(context_tokens=1_024, slots=2, shared_kv=True)
    sent = ModelInput("", (UserMessage(content="ion " * 500),), settings=ModelSettings(max_output_tokens=400))
    met: list[ContextOverflow] = []

    async def stream(client: Adapter) -> None:
        pieces = 0
        try:
            async for event in client.stream(sent):
                pieces += isinstance(event, TextDelta)
        except ContextOverflow as overflow:
            if pieces:
                met.append(overflow)

    with LocalProvider.start(options) as provider:
        for _ in range(20):
            async with client_of(protocol, provider) as client:
                await asyncio.gather(stream(client), stream(client))
            if met:
                break
    assert met
    assert all("in mid-stream" in str(overflow) for overflow in met)


@pytest.mark.parametrize("mode", list(Mode))
async def test_a_genuine_overflow_is_recovered_by_one_smaller_retry(
    protocol: str, mode: Mode, tools_provider: LocalProvider
) -> None:
    """The run believes in a window four times as large as the one that the server has."""
    guard = OutputGuard(bounds=OutputBounds(retention_bytes=512), store=MemoryToolOutputStore())
    turns: list[TurnResult] = []
    async with client_of(protocol, tools_provider) as client:
        run = AgentRun(
            turn=Turn(
                mode=open_mode(
                    mode,
                    registry=ContextContributorRegistry(),
                    ledger=TokenLedger(ConservativeTokenEstimator()),
                    static_system="Read plots.",
                ),
                client=client,
                budgets=ContextBudgets(
                    model_max_tokens=16_384, output_reserve_tokens=512, compaction_tool_preview_bytes=256
                ),
                context_id="live",
                settings=ModelSettings(max_output_tokens=64, temperature=1.0),
            ),
            tools=ToolRegistry([Tool(READ, lambda plot: f"{plot}: {BODY}")], guard=guard),
            max_turns=7,
            on_turn=lambda number, result: turns.append(result),
        )
        await run.run(Transcript([UserMessage(content="Compare the plots.")]))
    (recovered,) = [result for result in turns if result.recovered]
    refused, accepted = recovered.attempts
    assert refused.overflow is not None
    assert refused.overflow.limit_tokens == 4_096
    assert accepted.selected.estimated_tokens < refused.selected.estimated_tokens
    assert (recovered.output.usage.input_tokens or 9_999) < 4_096
    assert run.turn.budgets.model_max_tokens == 4_096
