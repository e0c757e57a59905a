"""Read a chat completions answer.

Tolerant where servers differ: missing ids, null or absent usage and logprobs, arguments as an object, an error
under status 200. What copyfit does not model is kept: fields of the message in its `extra` (they go back with
it), the rest in the output's `extra`.
"""

import json
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import AssistantMessage
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, digest_of, spoken
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.messages import read_assistant
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.refusal import Asked, refusal

_FINISH = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "model_context_window_exceeded": FinishReason.CONTEXT_WINDOW,
}
"""OpenAI's five words, and those of Together (eos), Z.ai (sensitive, model_context_window_exceeded) and of
Anthropic's models behind a gateway (end_turn, max_tokens)."""

BROKEN_OFF = frozenset({"error", "network_error"})
"""Words of OpenRouter and of Z.ai for an answer that broke off at the provider behind them."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_MODELLED = frozenset({"id", "object", "model", "choices", "usage"})
_MODELLED_CHOICE = frozenset({"index", "message", "finish_reason"})


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no chat completion.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error"):
        return True
    return "choices" not in reply and any(
        isinstance(reply.get(name), str) for name in ("message", "detail", "error_message", "msg")
    )


REPLIES = Replies("a chat completions endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a chat completion object.

    Raises:
        MalformedReply: there is no first choice with a message.
        ProviderError: the choice holds an error, for a gateway whose provider failed in the middle of the answer
            has promised a good status already.

    """
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    said = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(said, dict):
        raise REPLIES.malformed("has no choice with a message", asked)
    if choice.get("error"):
        raise refusal(lift(None, json.dumps({"error": choice["error"]})), asked)
    response_id = string(reply.get("id"))
    try:
        message = read_assistant(_sendable(said, response_id or digest_of(reply)), "$.choices[0].message")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    others = choices[1:] if isinstance(choices, list) else []
    extra = spoken(reply, _MODELLED) | {"choice": spoken(choice, _MODELLED_CHOICE), "other_choices": others}
    word = string(choice.get("finish_reason"))
    return ModelOutput(
        message=message,
        finish_reason=_finish_reason(word, message),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=string(reply.get("model")),
        response_id=response_id,
        extra=spoken(extra),
    )


def _finish_reason(word: str | None, message: AssistantMessage) -> FinishReason:
    """Return why the answer ended; a refusal is told in the message, and calls are not told by every server."""
    if message.extra.get(PROTOCOL, {}).get("refusal"):
        return FinishReason.REFUSAL
    reason = _FINISH.get(word or "", FinishReason.OTHER)
    return FinishReason.TOOL_CALLS if reason is FinishReason.STOP and message.tool_calls else reason


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    The cached share stands in ``prompt_tokens_details`` (OpenAI), ``prompt_cache_hit_tokens`` (DeepSeek) or
    ``cached_tokens`` (Moonshot); what was written to a cache, in ``prompt_tokens_details`` too (OpenRouter).
    """
    if not isinstance(usage, dict):
        return Usage()
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = prompt.get("cached_tokens") if isinstance(prompt, dict) else None
    for name in ("prompt_cache_hit_tokens", "cached_tokens"):
        cached = usage.get(name) if cached is None else cached
    return Usage(
        input_tokens=integer(usage.get("prompt_tokens")),
        output_tokens=integer(usage.get("completion_tokens")),
        cached_input_tokens=integer(cached),
        cache_write_tokens=integer(prompt.get("cache_write_tokens")) if isinstance(prompt, dict) else None,
        reasoning_tokens=integer(completion.get("reasoning_tokens")) if isinstance(completion, dict) else None,
        raw=usage,
    )


def _sendable(said: dict[str, Any], answer_id: str) -> dict[str, Any]:
    """Return the message in the form in which it may go back in a later request.

    Fields that say nothing (null, empty) go; calls get what the server left out. A text answer is plain text, and
    an empty text beside calls is none.
    """
    fields = spoken(said)
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields["tool_calls"] = [_completed(call, index, answer_id) for index, call in enumerate(calls)]
    if not fields.get("content"):
        fields["content"] = None if isinstance(calls, list) else ""
    return fields


def _completed(call: Any, index: int, answer_id: str) -> Any:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return call
    arguments = call["function"].get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    function = {**call["function"], "arguments": arguments or "{}"}
    made = {"id": call.get("id") or f"call-{answer_id}-{index}", "function": function}
    return {name: value for name, value in (call | made).items() if name != "index"}
