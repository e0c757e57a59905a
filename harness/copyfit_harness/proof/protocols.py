"""The wire protocols that the proof can read back, and the forms of them that lose something of their own."""

from collections.abc import Mapping
from types import MappingProxyType

from copyfit_adapters.anthropic_messages import dialect as anthropic_messages_dialect
from copyfit_adapters.anthropic_messages import hosted as anthropic_messages_hosted
from copyfit_adapters.anthropic_messages import losses as anthropic_messages_losses
from copyfit_adapters.anthropic_messages import readback as anthropic_messages_readback
from copyfit_adapters.bedrock_converse import dialect as bedrock_converse_dialect
from copyfit_adapters.bedrock_converse import losses as bedrock_converse_losses
from copyfit_adapters.bedrock_converse import readback as bedrock_converse_readback
from copyfit_adapters.cohere_v2 import dialect as cohere_v2_dialect
from copyfit_adapters.cohere_v2 import losses as cohere_v2_losses
from copyfit_adapters.cohere_v2 import readback as cohere_v2_readback
from copyfit_adapters.gemini import dialect as gemini_dialect
from copyfit_adapters.gemini import losses as gemini_losses
from copyfit_adapters.gemini import readback as gemini_readback
from copyfit_adapters.mistral_chat import dialect as mistral_chat_dialect
from copyfit_adapters.mistral_chat import losses as mistral_chat_losses
from copyfit_adapters.mistral_chat import readback as mistral_chat_readback
from copyfit_adapters.ollama_chat import dialect as ollama_chat_dialect
from copyfit_adapters.ollama_chat import losses as ollama_chat_losses
from copyfit_adapters.ollama_chat import readback as ollama_chat_readback
from copyfit_adapters.openai_chat import dialect as openai_chat_dialect
from copyfit_adapters.openai_chat import losses as openai_chat_losses
from copyfit_adapters.openai_chat import readback as openai_chat_readback
from copyfit_adapters.openai_responses import dialect as openai_responses_dialect
from copyfit_adapters.openai_responses import losses as openai_responses_losses
from copyfit_adapters.openai_responses import readback as openai_responses_readback
from copyfit_harness.proof.exact import Protocol

OPENAI_CHAT = Protocol(openai_chat_dialect.PROTOCOL, openai_chat_readback.readback, openai_chat_losses.LOSSES)
OPENAI_RESPONSES = Protocol(
    openai_responses_dialect.PROTOCOL, openai_responses_readback.readback, openai_responses_losses.LOSSES
)
ANTHROPIC_MESSAGES = Protocol(
    anthropic_messages_dialect.PROTOCOL, anthropic_messages_readback.readback, anthropic_messages_losses.LOSSES
)
ANTHROPIC_ON_BEDROCK = Protocol(
    "anthropic-bedrock", anthropic_messages_readback.readback, anthropic_messages_hosted.BEDROCK_LOSSES
)
GEMINI = Protocol(gemini_dialect.PROTOCOL, gemini_readback.readback, gemini_losses.LOSSES)
GEMINI_ON_VERTEX = Protocol("gemini-vertex", gemini_readback.readback, gemini_losses.VERTEX_LOSSES)
BEDROCK_CONVERSE = Protocol(
    bedrock_converse_dialect.PROTOCOL, bedrock_converse_readback.readback, bedrock_converse_losses.LOSSES
)
MISTRAL_CHAT = Protocol(mistral_chat_dialect.PROTOCOL, mistral_chat_readback.readback, mistral_chat_losses.LOSSES)
COHERE_V2 = Protocol(cohere_v2_dialect.PROTOCOL, cohere_v2_readback.readback, cohere_v2_losses.LOSSES)
OLLAMA_CHAT = Protocol(ollama_chat_dialect.PROTOCOL, ollama_chat_readback.readback, ollama_chat_losses.LOSSES)

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            OPENAI_CHAT,
            OPENAI_RESPONSES,
            ANTHROPIC_MESSAGES,
            ANTHROPIC_ON_BEDROCK,
            GEMINI,
            GEMINI_ON_VERTEX,
            BEDROCK_CONVERSE,
            MISTRAL_CHAT,
            COHERE_V2,
            OLLAMA_CHAT,
        )
    }
)
"""Each by its name, which is that of its adapter; a form that is missing loses what its protocol loses."""
