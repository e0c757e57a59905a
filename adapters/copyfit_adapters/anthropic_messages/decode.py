"""Read an answer of the messages protocol.

Tolerant where servers differ: missing ids, absent usage, null fields, an error under status 200. What copyfit does
not model is kept: fields of the blocks in the `extra` of their parts (they go back with them), the rest in the
output's `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, plain
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.messages import read_assistant
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.overflow.refusal import Asked

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.REFUSAL,
    "model_context_window_exceeded": FinishReason.CONTEXT_WINDOW,
}
"""Anthropic's words; its ``pause_turn``, after which the answer is to be sent back to go on, is none of ours."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_MODELLED = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
_CACHE_COUNTS = ("cache_read_input_tokens", "cache_creation_input_tokens")


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no message.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error") or reply.get("type") == "error":
        return True
    return "content" not in reply and any(
        isinstance(reply.get(name), str) for name in ("message", "detail", "msg")
    )


REPLIES = Replies("a messages endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a message object.

    Raises:
        MalformedReply: it has no list of content blocks.

    """
    content = reply.get("content")
    if not isinstance(content, list):
        raise REPLIES.malformed("has no content", asked)
    try:
        said = read_assistant({"content": [_kept(block) for block in content]}, "$")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = string(reply.get("stop_reason"))
    return ModelOutput(
        message=plain(said),
        finish_reason=_FINISH.get(word or "", FinishReason.OTHER),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=string(reply.get("model")),
        response_id=string(reply.get("id")),
        extra={name: value for name, value in reply.items() if name not in _MODELLED and value is not None},
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    The protocol counts apart what was read from the cache and what was written to it; here both are part of the
    input.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh, details = integer(usage.get("input_tokens")), usage.get("output_tokens_details")
    cached = sum(integer(usage.get(name)) or 0 for name in _CACHE_COUNTS)
    return Usage(
        input_tokens=None if fresh is None else fresh + cached,
        output_tokens=integer(usage.get("output_tokens")),
        cached_input_tokens=integer(usage.get("cache_read_input_tokens")),
        cache_write_tokens=integer(usage.get("cache_creation_input_tokens")),
        reasoning_tokens=integer(details.get("thinking_tokens")) if isinstance(details, dict) else None,
        raw=usage,
    )


def _kept(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    return {name: value for name, value in block.items() if value is not None}
