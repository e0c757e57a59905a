"""Read an answer of Cohere's chat API v2.

Tolerant where servers differ: missing ids, absent usage, null fields, content as a plain text, an error under
status 200. What copyfit does not model is kept: fields of the message, its citations among them, in its `extra`
(they go back with it), the rest in the output's `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, digest_of, plain, spoken
from copyfit_adapters.codec.reading import integer, string, without
from copyfit_adapters.cohere_v2.dialect import PROTOCOL, TOOL_PLAN
from copyfit_adapters.cohere_v2.messages import read_assistant
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.overflow.refusal import Asked

_FINISH = {
    "COMPLETE": FinishReason.STOP,
    "STOP_SEQUENCE": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "TOOL_CALL": FinishReason.TOOL_CALLS,
    "ERROR_TOXIC": FinishReason.CONTENT_FILTER,
    "ERROR_LIMIT": FinishReason.CONTEXT_WINDOW,
}
"""The words of API v2, and two of v1 that its SDK still knows; ERROR and TIMEOUT are none of ours."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_MODELLED = frozenset({"id", "model", "message", "finish_reason", "usage"})


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no chat answer.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth.

    The `message` of an answer is an object, that of an error a text.
    """
    if reply.get("error") or isinstance(reply.get("message"), str):
        return True
    return not reply.keys() & {"message", "type"} and any(
        isinstance(reply.get(name), str) for name in ("detail", "error_message", "msg")
    )


REPLIES = Replies("a chat endpoint of Cohere's API v2", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a chat response object.

    Raises:
        MalformedReply: there is no message in it.

    """
    said = reply.get("message")
    if not isinstance(said, dict):
        raise REPLIES.malformed("has no message", asked)
    response_id = string(reply.get("id"))
    try:
        message = read_assistant(_sendable(said, response_id or digest_of(reply)), "$.message")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = string(reply.get("finish_reason"))
    return ModelOutput(
        message=plain(message),
        finish_reason=_FINISH.get(word or "", FinishReason.OTHER),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=string(reply.get("model")),
        response_id=response_id,
        extra=spoken(reply, _MODELLED),
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    What the model read and wrote stands in ``tokens``, the cached share of what it read in ``cached_tokens``. The
    counts in ``billed_units`` leave out Cohere's own part of the prompt, and stay in `raw`.
    """
    if not isinstance(usage, dict):
        return Usage()
    tokens = usage.get("tokens")
    counts = tokens if isinstance(tokens, dict) else {}
    return Usage(
        input_tokens=_count(counts.get("input_tokens")),
        output_tokens=_count(counts.get("output_tokens")),
        cached_input_tokens=_count(usage.get("cached_tokens")),
        raw=usage,
    )


def _count(value: Any) -> int | None:
    """Return a whole number of tokens, which the protocol's schema lets be a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else integer(value)


def _sendable(said: dict[str, Any], answer_id: str) -> dict[str, Any]:
    """Return the message in the form in which it may go back in a later request.

    Fields that say nothing (null, empty) go, and calls get what the server left out.
    """
    fields = spoken(said)
    if fields.get(TOOL_PLAN) == "":
        del fields[TOOL_PLAN]
    content, calls = fields.get("content"), fields.get("tool_calls")
    if isinstance(content, list):
        fields["content"] = [spoken(part) if isinstance(part, dict) else part for part in content]
    if isinstance(calls, list):
        fields["tool_calls"] = [_completed(call, index, answer_id) for index, call in enumerate(calls)]
    return fields


def _completed(call: Any, index: int, answer_id: str) -> Any:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return call
    function = {**call["function"], "arguments": call["function"].get("arguments") or "{}"}
    made = {"id": call.get("id") or f"call-{answer_id}-{index}", "function": function}
    return without(call, "id", "function") | made
