"""Read an answer of the Converse protocol.

Tolerant where servers differ: absent usage, null fields, an error under status 200. What copyfit does not model is
kept: fields of the blocks in the `extra` of their parts (they go back with them), the rest in the output's
`extra`: the latency, a guardrail's trace, the fields that a request asked for.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, plain
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.messages import read_assistant
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.overflow.refusal import Asked

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "content_filtered": FinishReason.CONTENT_FILTER,
    "model_context_window_exceeded": FinishReason.CONTEXT_WINDOW,
}
"""Bedrock's words, from botocore 1.44; for ``malformed_model_output`` and ``malformed_tool_use`` we have none."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_MODELLED = frozenset({"output", "stopReason", "usage"})
_CACHE_COUNTS = ("cacheReadInputTokens", "cacheWriteInputTokens")
_SAID = ("message", "Message", "detail", "msg")


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no answer of the protocol.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error"):
        return True
    return "output" not in reply and any(isinstance(reply.get(name), str) for name in _SAID)


REPLIES = Replies("a Converse endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in the object of an answer.

    Raises:
        MalformedReply: it has no message with a list of content blocks.

    """
    output = reply.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    if (
        not isinstance(output, dict)
        or not isinstance(message, dict)
        or not isinstance(message.get("content"), list)
    ):
        raise REPLIES.malformed("has no message with content", asked)
    try:
        said = read_assistant(message | {"content": [_kept(block) for block in message["content"]]}, "$")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = string(reply.get("stopReason"))
    beside = {name: value for name, value in output.items() if name != "message"}
    rest = {name: value for name, value in reply.items() if name not in _MODELLED and value is not None}
    return ModelOutput(
        message=plain(said),
        finish_reason=_FINISH.get(word or "", FinishReason.OTHER),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        extra=rest | ({"output": beside} if beside else {}),
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    The protocol counts apart what was read from the cache and what was written to it; here both are part of the
    input. It does not count reasoning apart.
    """
    if not isinstance(usage, dict):
        return Usage()
    fresh = integer(usage.get("inputTokens"))
    cached = sum(integer(usage.get(name)) or 0 for name in _CACHE_COUNTS)
    return Usage(
        input_tokens=None if fresh is None else fresh + cached,
        output_tokens=integer(usage.get("outputTokens")),
        cached_input_tokens=integer(usage.get("cacheReadInputTokens")),
        cache_write_tokens=integer(usage.get("cacheWriteInputTokens")),
        raw=usage,
    )


def _kept(block: Any) -> Any:
    """Return a block without the members that are null, which some write beside the one that is not."""
    if not isinstance(block, dict):
        return block
    return {name: value for name, value in block.items() if value is not None}
