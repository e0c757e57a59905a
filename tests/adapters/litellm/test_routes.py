"""Whatever the provider, litellm sends through the client that it is given, or the provider is listed."""

import asyncio
from contextlib import suppress
from typing import Any

import httpx
import pytest

from copyfit.errors import CopyfitError, SettingsError
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.litellm import client as client_module
from copyfit_adapters.litellm.client import LiteLLMClient
from copyfit_adapters.litellm.routes import OWN_CLIENTS

pytestmark = [
    pytest.mark.anyio,
    # litellm's own use of pydantic, and clients of its own that it does not close
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

HELLO = ModelInput("", (UserMessage(content="hi"),))
THROUGH = {
    "openai",
    "groq",
    "deepseek",
    "xai",
    "mistral",
    "anthropic",
    "gemini",
    "bedrock",
    "openrouter",
    "ollama_chat",
}
THROUGH |= {
    "together_ai",
    "fireworks_ai",
    "moonshot",
    "zai",
    "cerebras",
    "hosted_vllm",
    "lm_studio",
}
ELSEWHERE = "http://198.51.100.7/v1"
"""An address of the block that is set aside for documentation (RFC 5737)."""
UNASKED = {"chatgpt", "github_copilot", "vertex_ai", "vertex_ai_beta", "gdc"}
"""Providers that want a person to log in, or whose credentials are looked for in the network of a cloud."""


async def walk(provider: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a call for `provider` reached the HTTP client that was given."""
    reached: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        reached.append(request)
        return httpx.Response(400, json={"error": {"message": "no"}})

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
    monkeypatch.setattr(client_module, "OWN_CLIENTS", frozenset())
    client = LiteLLMClient(f"{provider}/m1", api_key="k", base_url=ELSEWHERE, http=http, options=keys)
    with suppress(CopyfitError):
        async with asyncio.timeout(10):
            await client.complete(HELLO)
    return bool(reached)


async def test_nothing_goes_around_the_client_but_for_the_providers_that_are_listed(
    litellm: Any, only_loopback: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    around, through = set(), set()
    for provider in sorted({str(getattr(each, "value", each)) for each in litellm.provider_list} - UNASKED):
        only_loopback.clear()
        if await walk(provider, monkeypatch):
            through.add(provider)
        if only_loopback:
            around.add(provider)
    assert around <= OWN_CLIENTS
    assert through & OWN_CLIENTS == set()
    assert through >= THROUGH


@pytest.mark.parametrize("provider", sorted(OWN_CLIENTS))
def test_a_client_that_litellm_would_not_use_is_refused(provider: str) -> None:
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
    with pytest.raises(SettingsError, match=f"left out for {provider}"):
        LiteLLMClient(f"{provider}/m1", api_key="k", http=http)
    assert LiteLLMClient(f"{provider}/m1", api_key="k").provider == provider
