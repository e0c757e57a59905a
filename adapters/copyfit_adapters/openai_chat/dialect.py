"""What differs between the servers that speak chat completions."""

from dataclasses import dataclass
from typing import Literal

PROTOCOL = "openai-chat"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

THINKING_FIELDS = ("reasoning_content", "reasoning")
"""Message fields that hold reasoning as text.

The first is DeepSeek's, Qwen's, Moonshot's and llama.cpp's, the second OpenRouter's, Groq's and newer vLLM's.
Where both stand in one message the first that says something is read and the other kept as it is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one server wants its requests; reading takes every dialect.

    `max_tokens_field` is what it calls the cap on the answer: OpenAI wants ``max_completion_tokens`` (its
    reasoning models refuse the old name), most other servers know ``max_tokens`` alone. `include_usage` asks for
    the token counts at the end of a stream. `system_role` is the role of the system prompt.

    `reasoning_field` is the one name under which the server takes reasoning back; None sends it back under the
    name that it came in. `reasoning_filler` stands there in each assistant's message without reasoning (one that
    another model said), where a server that thinks refuses a message without the field. `tool_media` says whether
    the result of a tool may hold images and files; where it may not, they follow the results (see `tool_media`).
    """

    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    include_usage: bool = True
    system_role: Literal["system", "developer"] = "system"
    reasoning_field: Literal["reasoning_content", "reasoning"] | None = None
    reasoning_filler: str | None = None
    tool_media: bool = True


OPENAI = Dialect(tool_media=False)
COMPATIBLE = Dialect(max_tokens_field="max_tokens")
"""vLLM, llama.cpp, DeepSeek, Mistral, Groq, Ollama, LM Studio and the like."""
