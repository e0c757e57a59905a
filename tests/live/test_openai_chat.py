"""The openai-chat client against llama.cpp's real server: chat, stream, tools, counts, overflow."""

import json

import httpx
import pytest

from copyfit import (
    AssistantMessage,
    ConservativeTokenEstimator,
    ContextOverflow,
    FinishReason,
    ModelInput,
    ModelSettings,
    StreamEvent,
    ToolMessage,
    ToolSpec,
    Unavailable,
    UserMessage,
)
from copyfit.shapes.model_output import Finished, TextDelta, ToolCallDelta
from copyfit.tokens.families import FAMILIES
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_adapters.openai_chat.dialect import COMPATIBLE
from copyfit_adapters.openai_chat.encode import encode
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
SHORT = ModelSettings(max_output_tokens=32, temperature=1.0, seed=3)
QUESTION = UserMessage(content="What is 盐胁迫, in two words?")


def client_of(provider: LocalProvider) -> OpenAIChatClient:
    return OpenAIChatClient(provider.model, base_url=provider.base_url, api_key="", provider="llama.cpp")


async def test_a_chat_is_answered_and_its_usage_reported(plain_provider: LocalProvider) -> None:
    async with client_of(plain_provider) as client:
        output = await client.complete(ModelInput(system="Be brief.", messages=(QUESTION,), settings=SHORT))
    assert output.message.text
    assert output.finish_reason in (FinishReason.STOP, FinishReason.LENGTH)
    assert output.usage.input_tokens
    assert output.usage.output_tokens


async def test_a_stream_adds_up_to_the_answer(plain_provider: LocalProvider) -> None:
    async with client_of(plain_provider) as client:
        sent = ModelInput(system="Be brief.", messages=(QUESTION,), settings=SHORT)
        events: list[StreamEvent] = [event async for event in client.stream(sent)]
        whole = await client.complete(sent)
    assert isinstance(events[-1], Finished)
    output = events[-1].output
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == output.message.text
    assert output.message == whole.message
    assert output.usage.input_tokens == whole.usage.input_tokens


async def test_a_tool_call_comes_back_and_its_result_goes_in(tools_provider: LocalProvider) -> None:
    async with client_of(tools_provider) as client:
        first = await client.complete(
            ModelInput(system="", messages=(QUESTION,), tools=(WEATHER,), settings=SHORT)
        )
        (call,) = first.message.tool_calls
        assert first.finish_reason is FinishReason.TOOL_CALLS
        assert json.loads(call.arguments)["city"] in ("Oslo", "成都")
        second = await client.complete(
            ModelInput(
                system="",
                messages=(QUESTION, first.message, ToolMessage(call_id=call.id, content="rain, 雨")),
                tools=(WEATHER,),
                settings=SHORT,
            )
        )
    assert (second.usage.input_tokens or 0) > (first.usage.input_tokens or 0)
    assert second.message.tool_calls


async def test_a_streamed_tool_call_adds_up_to_the_answer(tools_provider: LocalProvider) -> None:
    async with client_of(tools_provider) as client:
        sent = ModelInput(system="", messages=(QUESTION,), tools=(WEATHER,), settings=SHORT)
        events = [event async for event in client.stream(sent)]
    assert isinstance(events[-1], Finished)
    (call,) = events[-1].output.message.tool_calls
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert "".join(piece.arguments for piece in pieces) == call.arguments
    assert {piece.id for piece in pieces if piece.id} == {call.id}


async def test_our_count_is_never_below_the_servers_and_not_twice_as_high(tools_provider: LocalProvider) -> None:
    """The server's own counting endpoint and the usage that it reports are the truth."""
    estimator = ConservativeTokenEstimator(FAMILIES["mistral"])
    text = "Sodium rose to 8.41 dS/m in plot-03. 土壤电导率在灌溉后回落, 次日恢复。" * 20
    inputs = (
        ModelInput(system="Be brief.", messages=(QUESTION,), settings=SHORT),
        ModelInput(system="Be brief.", messages=(UserMessage(content=text),), settings=SHORT),
        ModelInput(
            system="",
            messages=(UserMessage(content=text), AssistantMessage(content="So it is."), QUESTION),
            tools=(WEATHER,),
            settings=SHORT,
        ),
    )
    async with httpx.AsyncClient(base_url=tools_provider.base_url) as http, client_of(tools_provider) as client:
        for sent in inputs:
            body = encode(sent, tools_provider.model, dialect=COMPATIBLE).body
            answer = await http.post("/chat/completions/input_tokens", content=body)
            counted = answer.json()["input_tokens"]
            output = await client.complete(sent)
            assert counted == output.usage.input_tokens
            estimate = (
                estimator.count_system(sent.system)
                + estimator.count_tools(sent.tools)
                + sum(estimator.count_message(message) for message in sent.messages)
            )
            assert counted <= estimate
            if counted > 500:
                assert estimate < 2 * counted


async def test_a_prompt_that_is_too_long_is_a_typed_overflow_with_both_numbers(
    plain_provider: LocalProvider,
) -> None:
    sent = ModelInput(system="", messages=(UserMessage(content="plot-03, 8.41 dS/m. " * 900),), settings=SHORT)
    async with client_of(plain_provider) as client:
        for send in (client.complete(sent), anext(aiter(client.stream(sent)))):
            with pytest.raises(ContextOverflow) as raised:
                await send
            assert raised.value.status == 400
            assert raised.value.limit_tokens == 4_096
            assert (raised.value.requested_tokens or 0) > 4_096


async def test_a_provider_that_is_not_there_is_unavailable_and_says_what_to_check() -> None:
    async with OpenAIChatClient(
        "m", base_url="http://127.0.0.1:9/v1", api_key="", max_retries=0, provider="nobody"
    ) as client:
        with pytest.raises(Unavailable, match="check the address"):
            await client.complete(ModelInput(system="", messages=(QUESTION,)))
