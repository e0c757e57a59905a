"""What differs between the servers that speak chat completions."""

from dataclasses import dataclass
from typing import Literal

PROTOCOL = "openai-chat"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Message fields that hold reasoning as text.

The first is DeepSeek's, Qwen's, Moonshot's and llama.cpp's, the second OpenRouter's, Groq's and newer vLLM's.
Where both stand in one message the first is read and the second kept as it is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one server wants its requests; reading takes every dialect.

    `max_tokens_field` is what it calls the cap on the answer: OpenAI wants ``max_completion_tokens`` (its
    reasoning models refuse the old name), most other servers know ``max_tokens`` alone. `include_usage` asks for
    the token counts at the end of a stream. `system_role` is the role of the system prompt.
    """

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    include_usage: bool = True
    system_role: Literal["system", "developer"] = "system"


OPENAI = Dialect()
COMPATIBLE = Dialect(max_tokens_field="max_tokens")
"""vLLM, llama.cpp, DeepSeek, Mistral, Groq, Ollama, LM Studio and the like."""
