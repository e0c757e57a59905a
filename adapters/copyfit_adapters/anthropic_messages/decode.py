"""Read an answer of the messages protocol.

Tolerant where servers differ: missing ids, absent usage, null fields, an error under status 200. What copyfit does
not model is kept: fields of the blocks in the `extra` of their parts (they go back with them), the rest in the
output's `extra`.
"""

import json
from collections.abc import Mapping
from typing import Any

from copyfit.errors import MalformedReply, ProviderError
from copyfit.shapes.messages import AssistantMessage, TextPart
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.messages import read_assistant
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked, refusal

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.CONTENT_FILTER,
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
    try:
        reply = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as e:
        raise _no_answer(status, body, asked) from e
    if not 200 <= status < 300 or not isinstance(reply, dict) or is_error(reply):
        raise _no_answer(status, body, asked)
    return read_reply(reply, asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error") or reply.get("type") == "error":
        return True
    return "content" not in reply and any(
        isinstance(reply.get(name), str) for name in ("message", "detail", "msg")
    )


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a message object.

    Raises:
        MalformedReply: it has no list of content blocks.

    """
    content = reply.get("content")
    if not isinstance(content, list):
        raise malformed("has no content", asked)
    try:
        said = read_assistant({"content": [_kept(block) for block in content]}, "$")
    except UnreadableRequest as e:
        raise malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = _text(reply.get("stop_reason"))
    return ModelOutput(
        message=_plain(said),
        finish_reason=_FINISH.get(word or "", FinishReason.OTHER),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=_text(reply.get("model")),
        response_id=_text(reply.get("id")),
        extra={name: value for name, value in reply.items() if name not in _MODELLED and value is not None},
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    The protocol counts apart what was read from the cache and what was written to it; here both are part of the
    input. What was written stands in `raw` under ``cache_creation_input_tokens``.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh, details = _count(usage.get("input_tokens")), usage.get("output_tokens_details")
    cached = sum(_count(usage.get(name)) or 0 for name in _CACHE_COUNTS)
    return Usage(
        input_tokens=None if fresh is None else fresh + cached,
        output_tokens=_count(usage.get("output_tokens")),
        cached_input_tokens=_count(usage.get("cache_read_input_tokens")),
        reasoning_tokens=_count(details.get("thinking_tokens")) if isinstance(details, dict) else None,
        raw=usage,
    )


def malformed(reason: str, asked: Asked) -> MalformedReply:
    """Return the error for an answer that is none of this protocol."""
    return MalformedReply(
        f"The answer of {asked.provider} {reason}; check that the base URL leads to a messages endpoint.",
        provider=asked.provider,
        model=asked.model,
    )


def _plain(said: AssistantMessage) -> AssistantMessage:
    """Return an answer that is one text, or none, as plain text."""
    match said.content:
        case ():
            return AssistantMessage(content="")
        case (TextPart(text=text) as only,) if not only.extra:
            return AssistantMessage(content=text)
    return said


def _kept(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    return {name: value for name, value in block.items() if value is not None}


def _no_answer(status: int, body: bytes, asked: Asked) -> ProviderError:
    evidence = lift(status, body)
    verdict = judge(evidence)
    if 200 <= status < 300 and not verdict.is_context_overflow and (evidence.data is None or not evidence.message):
        return malformed("is no JSON object", asked)
    return refusal(evidence, asked, verdict=verdict)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
