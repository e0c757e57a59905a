"""Give litellm the HTTP client that its code for a provider takes.

litellm sends in three ways, and takes a client for two of them. Its code for most providers posts through its own
``AsyncHTTPHandler``; that for OpenAI and many servers that speak its protocol through the openai SDK's client;
and some of it through nothing but clients that it opens itself. Nothing in a call tells which way it will go, so
the ways are listed here (of litellm 1.110), and a test walks them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from copyfit_adapters.litellm.loading import part
from copyfit_adapters.litellm.transport import Passage

OWN_CLIENTS = frozenset(
    {
        "aiohttp_openai",
        "amazon_nova",
        "anthropic_text",
        "azure",
        "azure_text",
        "cloudflare",
        "cohere",
        "cohere_chat",
        "custom",
        "gigachat",
        "huggingface",
        "maritalk",
        "nlp_cloud",
        "oobabooga",
        "petals",
        "predibase",
        "replicate",
        "sagemaker",
        "sagemaker_chat",
        "sagemaker_nova",
        "text-completion-codestral",
        "triton",
        "watsonx",
        "watsonx_text",
    }
)
"""Providers for which litellm sends something, mostly all, through clients of its own, whatever it is given."""

_SDK = frozenset({"bigmodel", "custom_openai", "openai", "text-completion-inception", "text-completion-openai"})
"""Providers reached through the openai SDK that litellm does not list as compatible with OpenAI."""

_HANDLED = frozenset(
    {
        "azure_ai",
        "cometapi",
        "deepseek",
        "edenai",
        "fireworks_ai",
        "groq",
        "hosted_vllm",
        "opencode_go",
        "ragflow",
        "together_ai",
        "xai",
    }
)
"""Providers that litellm lists as compatible with OpenAI and reaches through its own handler."""


def _takes_sdk(litellm: Any, provider: str) -> bool:
    """Whether litellm's code for `provider` sends through the openai SDK's client."""
    if provider in _SDK:
        return True
    listed = part("litellm.llms.openai_like.json_loader").JSONProviderRegistry.exists(provider)
    return provider not in _HANDLED and (listed or provider in litellm.openai_compatible_providers)


@asynccontextmanager
async def client_for(
    litellm: Any, model: str, *, passage: Passage, key: str | None, base_url: str | None
) -> AsyncIterator[Any]:
    """Give the client that sends for `model` through `passage`, or None where litellm takes none.

    A client lives for one request: it costs a tenth of a millisecond, and a request knows what became of it.

    Raises:
        openai.OpenAIError: litellm knows no such model, or finds no key for its provider.

    """
    _, provider, found_key, found_url = litellm.get_llm_provider(model, api_base=base_url, api_key=key)
    if provider in OWN_CLIENTS:
        yield None
    elif _takes_sdk(litellm, provider):
        import httpx

        proof = found_key or key or litellm.api_key or (litellm.openai_key if provider in _SDK else None)
        if proof is None and provider not in _SDK:
            # The SDK's client would take OpenAI's key out of the environment and send it there.
            raise litellm.AuthenticationError(
                message=f"there is no API key for {provider}", llm_provider=provider, model=model
            )
        # The SDK takes its address and key from its client, so what litellm looked up goes in here.
        async with httpx.AsyncClient(transport=passage, trust_env=False) as inner:  # type: ignore[arg-type]
            yield part("openai").AsyncOpenAI(
                api_key=proof,
                base_url=found_url or base_url or litellm.api_base,
                http_client=inner,
                max_retries=0,
            )
    else:
        handler = part("litellm.llms.custom_httpx.http_handler").AsyncHTTPHandler(transport=passage)
        try:
            yield handler
        finally:
            await handler.close()
