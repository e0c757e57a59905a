"""The servers that speak chat completions: where they are, whose key they take, and how they want their requests.

Addresses and variables are those of each provider's own documentation, read in November 2026. The local servers
listen on their default ports and take no key; a `base_url` names any other address, such as that of another region
(Alibaba's keys are of one region, and the address here is Singapore's).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from copyfit_adapters.auth import Home
from copyfit_adapters.openai_chat.dialect import COMPATIBLE, OPENAI, Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server: its `home`, its `dialect`, and how its models are called in litellm's table.

    `address_variable` holds the address where every customer has one of their own. `table_prefix` stands before a
    model's name in the table; None where the server decides the window when it is started.
    """

    home: Home
    dialect: Dialect = COMPATIBLE
    address_variable: str | None = None
    table_prefix: str | None = None


_CEREBRAS = Dialect(reasoning_field="reasoning")
"""Refuses ``reasoning_content`` in every message and takes ``reasoning`` (QwenLM/qwen-code, issue 11045)."""

_DEEPSEEK = Dialect(max_tokens_field="max_tokens", reasoning_field="reasoning_content", reasoning_filler="")
"""Thinks by default, and then refuses a history with calls in which an assistant's message of the turn is without
``reasoning_content`` (its guide to the thinking mode). An empty one will do, and does no harm where none is due
(experientiallabs/experiential, pull request 890)."""

_GROQ = Dialect(max_tokens_field="max_tokens", reasoning_field="reasoning")
"""Refuses ``reasoning_content`` in every message (janhq/jan, issue 8136)."""

_MOONSHOT = Dialect(reasoning_field="reasoning_content", reasoning_filler=" ")
"""Refuses a call without ``reasoning_content`` when the model thinks, and takes an empty one for none, but not a
space (theopenco/llmgateway, pull request 2093)."""


def _hosted(
    provider: str, name: str, url: str, key_variable: str, table_prefix: str, dialect: Dialect = COMPATIBLE
) -> Server:
    home = Home(name=name, provider=provider, url=url, key_variables=(key_variable,))
    return Server(home=home, table_prefix=table_prefix, dialect=dialect)


def _local(provider: str, name: str, port: int, *, cuts: bool = False) -> Server:
    url = f"http://127.0.0.1:{port}/v1"
    return Server(home=Home(name=name, provider=provider, url=url, needs_key=False, cuts=cuts))


_AZURE = Server(
    home=Home(
        name="Azure OpenAI",
        provider="azure",
        url="https://RESOURCE.openai.azure.com/openai/v1",
        key_variables=("AZURE_OPENAI_API_KEY",),
        header="api-key",
        prefix="",
    ),
    dialect=OPENAI,
    address_variable="AZURE_OPENAI_ENDPOINT",
    table_prefix="azure/",
)

SERVERS: Mapping[str, Server] = MappingProxyType(
    {
        server.home.provider: server
        for server in (
            _AZURE,
            _hosted(
                "cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "cerebras/", _CEREBRAS
            ),
            _hosted(
                "deepseek", "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", "deepseek/", _DEEPSEEK
            ),
            _hosted(
                "fireworks",
                "Fireworks",
                "https://api.fireworks.ai/inference/v1",
                "FIREWORKS_API_KEY",
                "fireworks_ai/",
            ),
            _hosted("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "groq/", _GROQ),
            _hosted("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "HF_TOKEN", "huggingface/"),
            _hosted(
                "moonshot", "Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "moonshot/", _MOONSHOT
            ),
            _hosted(
                "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/"
            ),
            _hosted(
                "qwen",
                "Alibaba Model Studio",
                "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
                "DASHSCOPE_API_KEY",
                "dashscope/",
            ),
            _hosted("together", "Together", "https://api.together.ai/v1", "TOGETHER_API_KEY", "together_ai/"),
            _hosted("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", "xai/"),
            _hosted("zai", "Z.ai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", "zai/"),
            _local("llama.cpp", "llama.cpp", 8080),
            _local("lm-studio", "LM Studio", 1234, cuts=True),
            _local("ollama-openai", "Ollama", 11434, cuts=True),
            _local("vllm", "vLLM", 8000),
        )
    }
)
"""Each server under the name that stands before the colon."""
