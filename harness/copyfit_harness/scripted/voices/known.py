"""Every voice by its name, which is that of the adapter that speaks to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from copyfit_harness.scripted.voices import (
    anthropic_messages,
    bedrock_converse,
    cohere_v2,
    gemini,
    mistral_chat,
    ollama_chat,
    openai_chat,
    openai_responses,
)
from copyfit_harness.scripted.voices.voice import Voice

VOICES: Final[Mapping[str, Voice]] = MappingProxyType(
    {
        "openai-chat": openai_chat.VOICE,
        "openai-responses": openai_responses.VOICE,
        "anthropic-messages": anthropic_messages.VOICE,
        "anthropic-bedrock": anthropic_messages.ON_BEDROCK,
        "anthropic-vertex": anthropic_messages.ON_VERTEX,
        "gemini": gemini.VOICE,
        "gemini-vertex": gemini.ON_VERTEX,
        "bedrock-converse": bedrock_converse.VOICE,
        "mistral-chat": mistral_chat.VOICE,
        "cohere-v2": cohere_v2.VOICE,
        "ollama-chat": ollama_chat.VOICE,
    }
)
"""What a scripted server can be told to speak."""
