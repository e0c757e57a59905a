"""What a model answered: one message, why it ended, what it cost; and the events of a streamed answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from copyfit.shapes.messages import AssistantMessage


class FinishReason(StrEnum):
    """Why an answer ended, in no provider's dialect."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    """The provider held the answer back or cut it short."""
    REFUSAL = "refusal"
    """The model itself declined to answer."""
    CONTEXT_WINDOW = "context_window"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider reported them; None where it said nothing.

    `input_tokens` includes the cached ones; of these, `cached_input_tokens` were read from a cache and
    `cache_write_tokens` written to it. `output_tokens` includes `reasoning_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOutput:
    """One complete answer; `raw_finish_reason` is the provider's own word, `extra` what copyfit does not model."""

    message: AssistantMessage
    finish_reason: FinishReason
    raw_finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    response_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the answer's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of the call at `index`; `id` and `name` come with its first piece."""

    index: int
    arguments: str = ""
    id: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a stream, with the whole answer put together."""

    output: ModelOutput


StreamEvent = TextDelta | ThinkingDelta | ToolCallDelta | Finished
