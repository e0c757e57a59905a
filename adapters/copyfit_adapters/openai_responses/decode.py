"""Read a Responses answer.

Tolerant where servers differ: missing ids, absent usage, null fields, arguments as an object, an error under
status 200. What copyfit does not model is kept: fields of the items in the `extra` of their parts (they go back
with them), the rest in the output's `extra`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from copyfit.shapes.messages import AssistantPart, TextPart, ToolCall
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, digest_of, spoken
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.openai_responses.dialect import PROTOCOL
from copyfit_adapters.openai_responses.items import as_message, read_item
from copyfit_adapters.overflow.refusal import Asked

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_FINISH = {
    "completed": FinishReason.STOP,
    "max_output_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}
"""The status, and for an incomplete answer its reason."""

_MODELLED = frozenset({"id", "object", "model", "output", "status", "usage"})


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no response.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer is an error in truth."""
    if reply.get("error") or reply.get("status") == "failed" or reply.get("type") == "error":
        return True
    return "output" not in reply and any(isinstance(reply.get(name), str) for name in ("message", "detail", "msg"))


REPLIES = Replies("a Responses endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a response object.

    Items that no assistant says, such as the output of a tool that ran at the provider, are kept under
    ``other_items``.

    Raises:
        MalformedReply: it has no list of output items.

    """
    output = reply.get("output")
    if not isinstance(output, list):
        raise REPLIES.malformed("has no output", asked)
    response_id = string(reply.get("id"))
    answer_id = response_id or digest_of(reply)
    parts: list[AssistantPart] = []
    others: list[Any] = []
    for index, item in enumerate(output):
        try:
            read = read_item(_sendable(item, f"{answer_id}-{index}"), f"$.output[{index}]")
        except UnreadableRequest as e:
            raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
        if isinstance(read, tuple):
            parts += read
        else:
            others.append(item)
    finish, word = _finish(reply, parts)
    return ModelOutput(
        message=as_message(parts),
        finish_reason=finish,
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=string(reply.get("model")),
        response_id=response_id,
        extra=spoken(reply, _MODELLED) | spoken({"other_items": others}),
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing."""
    if not isinstance(usage, dict):
        return Usage()
    given, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    return Usage(
        input_tokens=integer(usage.get("input_tokens")),
        output_tokens=integer(usage.get("output_tokens")),
        cached_input_tokens=integer(given.get("cached_tokens")) if isinstance(given, dict) else None,
        cache_write_tokens=integer(given.get("cache_write_tokens")) if isinstance(given, dict) else None,
        reasoning_tokens=integer(made.get("reasoning_tokens")) if isinstance(made, dict) else None,
        raw=usage,
    )


def _finish(reply: Mapping[str, Any], parts: Sequence[AssistantPart]) -> tuple[FinishReason, str | None]:
    word, details = string(reply.get("status")), reply.get("incomplete_details")
    if word == "incomplete" and isinstance(details, dict):
        word = string(details.get("reason")) or word
    finish = _FINISH.get(word or "", FinishReason.OTHER)
    if finish is FinishReason.STOP and any(isinstance(part, ToolCall) for part in parts):
        finish = FinishReason.TOOL_CALLS
    elif finish is FinishReason.STOP and any(_is_refusal(part) for part in parts):
        finish = FinishReason.REFUSAL
    return finish, word


def _is_refusal(part: AssistantPart) -> bool:
    return isinstance(part, TextPart) and part.extra.get(PROTOCOL, {}).get("type") == "refusal"


def _sendable(item: Any, item_id: str) -> Any:
    """Return the item in the form in which it may go back: without nulls, and with what the server left out.

    `item_id` names it where the server does not.
    """
    if not isinstance(item, dict):
        return item
    fields = _without_nulls(item)
    match fields.get("type"):
        case "message":
            return {"role": "assistant"} | fields
        case "function_call":
            arguments = fields.get("arguments")
            if isinstance(arguments, dict):
                arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
            call_id = fields.get("call_id") or fields.get("id") or f"call-{item_id}"
            return fields | {"call_id": call_id, "arguments": arguments or "{}"}
    return fields


def _without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    kept = {name: entry for name, entry in value.items() if entry is not None}
    content = kept.get("content")
    if isinstance(content, list):
        kept["content"] = [_without_nulls(entry) if isinstance(entry, dict) else entry for entry in content]
    return kept
