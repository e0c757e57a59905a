"""What models can take, in tokens: litellm's bundled table where it is installed, our own small one otherwise.

Both say the most input and the most output. A provider that counts the two apart takes more in all than the most
input, so `ModelLimits.context_tokens` is on the safe side.
"""

from collections.abc import Mapping
from types import MappingProxyType

from copyfit.shapes.budgets import ModelLimits
from copyfit_adapters.litellm.table import model_limits


def limits_of(name: str) -> ModelLimits | None:
    """Return the limits of the model that litellm's table calls `name`, or None when no table knows it."""
    return model_limits(name) or own_limits(name)


def own_limits(name: str) -> ModelLimits | None:
    """Return the limits of the family that a model belongs to by the beginning of its `name`, or None."""
    families = [family for family in FAMILIES if name.startswith(family)]
    if not families:
        return None
    context, output = FAMILIES[max(families, key=len)]
    return ModelLimits(context_tokens=context, max_output_tokens=output)


FAMILIES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "claude-": (200_000, 64_000),
        "claude-fable-5": (1_000_000, 128_000),
        "claude-haiku-5": (1_000_000, 128_000),
        "claude-opus-4-6": (1_000_000, 128_000),
        "claude-opus-4-7": (1_000_000, 128_000),
        "claude-opus-4-8": (1_000_000, 128_000),
        "claude-opus-5": (1_000_000, 128_000),
        "claude-sonnet-4-6": (1_000_000, 128_000),
        "claude-sonnet-5": (1_000_000, 128_000),
        "command-": (128_000, 4_096),
        "dashscope/qwen3": (129_024, 16_384),
        "deepseek/deepseek-": (65_536, 4_096),
        "deepseek/deepseek-v4": (1_000_000, 393_216),
        "gemini/gemini-2.5-flash": (1_048_576, 65_536),
        "gemini/gemini-2.5-pro": (1_048_576, 65_536),
        "gemini/gemini-2.5-pro-preview-tts": (8_192, 16_384),
        "gemini/gemini-3": (1_048_576, 65_536),
        "gemini/gemini-4": (1_048_576, 1_048_576),
        "gpt-4": (8_192, 4_096),
        "gpt-4-turbo": (128_000, 4_096),
        "gpt-4.1": (1_047_576, 32_768),
        "gpt-4o": (128_000, 4_096),
        "gpt-5": (272_000, 128_000),
        "gpt-5-chat": (128_000, 16_384),
        "gpt-5.1-chat": (128_000, 16_384),
        "gpt-5.2-chat": (128_000, 16_384),
        "gpt-5.3-chat": (128_000, 16_384),
        "gpt-5.5": (1_050_000, 128_000),
        "gpt-6": (922_000, 128_000),
        "groq/openai/gpt-oss-": (131_072, 65_536),
        "mistral/magistral-": (262_144, 262_144),
        "mistral/ministral-": (131_072, 131_072),
        "mistral/mistral-large": (262_144, 262_144),
        "mistral/mistral-medium": (262_144, 262_144),
        "moonshot/kimi-k2": (262_144, 262_144),
        "moonshot/kimi-k3": (1_048_576, 1_048_576),
        "o1": (200_000, 100_000),
        "o3": (200_000, 100_000),
        "o4-mini": (200_000, 100_000),
        "xai/grok-4": (500_000, 500_000),
        "zai/glm-4": (128_000, 32_000),
        "zai/glm-5": (200_000, 128_000),
    }
)
"""The smallest input and output that a family's members have in the table of litellm 1.110.2, read 2026-11-30."""
