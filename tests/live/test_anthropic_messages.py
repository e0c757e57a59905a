"""The anthropic-messages client against llama.cpp's real server: text, stream, tools, overflow."""

import json

import pytest

from copyfit import (
    ContextOverflow,
    FinishReason,
    ModelInput,
    ModelSettings,
    StreamEvent,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from copyfit.shapes.model_output import Finished, TextDelta, ToolCallDelta
from copyfit_adapters.anthropic_messages.client import AnthropicMessagesClient
from copyfit_harness.local_provider.provider import LocalProvider

pytestmark = [pytest.mark.live, pytest.mark.anyio]

WEATHER = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Oslo", "成都"]}},
        "required": ["city"],
    },
)
SHORT = ModelSettings(max_output_tokens=96, temperature=0)
QUESTION = UserMessage(content="What is 盐胁迫, in two words?")


def client_of(provider: LocalProvider) -> AnthropicMessagesClient:
    return AnthropicMessagesClient(provider.model, base_url=provider.base_url, api_key="", provider="llama.cpp")


async def test_a_text_is_answered_and_its_usage_reported(plain_provider: LocalProvider) -> None:
    async with client_of(plain_provider) as client:
        output = await client.complete(ModelInput("Be brief.", (QUESTION,), settings=SHORT))
    assert output.message.text
    assert output.finish_reason in (FinishReason.STOP, FinishReason.LENGTH)
    assert output.usage.input_tokens
    assert output.usage.output_tokens


async def test_a_stream_adds_up_to_the_answer(plain_provider: LocalProvider) -> None:
    sent = ModelInput("Be brief.", (QUESTION,), settings=SHORT)
    async with client_of(plain_provider) as client:
        events: list[StreamEvent] = [event async for event in client.stream(sent)]
        whole = await client.complete(sent)
    assert isinstance(events[-1], Finished)
    output = events[-1].output
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == output.message.text
    assert output.message == whole.message
    assert output.usage.input_tokens == whole.usage.input_tokens


async def test_a_tool_call_comes_back_and_its_result_goes_in(tools_provider: LocalProvider) -> None:
    async with client_of(tools_provider) as client:
        first = await client.complete(ModelInput("", (QUESTION,), (WEATHER,), SHORT))
        (call,) = first.message.tool_calls
        assert first.finish_reason is FinishReason.TOOL_CALLS
        assert json.loads(call.arguments)["city"] in ("Oslo", "成都")
        result = ToolMessage(call_id=call.id, content="rain, 雨", is_error=True)
        second = await client.complete(ModelInput("", (QUESTION, first.message, result), (WEATHER,), SHORT))
    assert (second.usage.input_tokens or 0) > (first.usage.input_tokens or 0)
    assert second.message.tool_calls


async def test_a_streamed_tool_call_adds_up_to_the_answer(tools_provider: LocalProvider) -> None:
    async with client_of(tools_provider) as client:
        events = [event async for event in client.stream(ModelInput("", (QUESTION,), (WEATHER,), SHORT))]
    assert isinstance(events[-1], Finished)
    (call,) = events[-1].output.message.tool_calls
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert "".join(piece.arguments for piece in pieces) == call.arguments
    assert {piece.id for piece in pieces if piece.id} == {call.id}


async def test_a_prompt_that_is_too_long_is_a_typed_overflow_with_both_numbers(
    plain_provider: LocalProvider,
) -> None:
    sent = ModelInput("", (UserMessage(content="plot-03, 8.41 dS/m. " * 900),), settings=SHORT)
    async with client_of(plain_provider) as client:
        for send in (client.complete(sent), anext(aiter(client.stream(sent)))):
            with pytest.raises(ContextOverflow) as raised:
                await send
            assert raised.value.status == 400
            assert raised.value.limit_tokens == 4_096
            assert (raised.value.requested_tokens or 0) > 4_096
