"""Counting against llama.cpp's real server, and a server that is not there."""

import httpx
import pytest

from copyfit import (
    AssistantMessage,
    ConservativeTokenEstimator,
    ModelInput,
    ModelSettings,
    ToolSpec,
    Unavailable,
    UserMessage,
)
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


async def test_a_provider_that_is_not_there_is_unavailable_and_says_what_to_check() -> None:
    async with OpenAIChatClient(
        "m", base_url="http://127.0.0.1:9/v1", api_key="", max_retries=0, provider="nobody"
    ) as client:
        with pytest.raises(Unavailable, match="check the address"):
            await client.complete(ModelInput(system="", messages=(QUESTION,)))
