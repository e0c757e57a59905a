"""Read a whole answer of Mistral's chat completions.

What copyfit does not model is kept in the output's `extra`. Fields of the message that a request's has no place
for are among it, under ``message``: the API gives some out (``reasoning_content``) that it refuses to take back
(status 422, ``extra_forbidden``).
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, digest_of, plain, spoken
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import integer, string, without
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.mistral_chat.dialect import PROTOCOL, sendable_id
from copyfit_adapters.mistral_chat.messages import read_assistant
from copyfit_adapters.overflow.refusal import Asked

NO_ID = "null"
"""What stands for the id of a call that has none (the default in the models of mistralai 3.7.0)."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "model_length": FinishReason.CONTEXT_WINDOW,
    "tool_calls": FinishReason.TOOL_CALLS,
}
_MODELLED = frozenset({"id", "object", "model", "choices", "usage"})
_MODELLED_CHOICE = frozenset({"index", "message", "finish_reason"})
_SENDABLE = ("content", "tool_calls", "prefix")
"""The fields that an assistant's message has in a request, beside its role (``AssistantMessage`` of the SDK)."""


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
    said = any(reply.get(name) for name in ("message", "detail"))
    return bool(reply.get("error")) or (said and "choices" not in reply)


REPLIES = Replies("Mistral's chat completions", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a chat completion object.

    Raises:
        MalformedReply: there is no first choice with a message.

    """
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    said = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(said, dict):
        raise REPLIES.malformed("has no choice with a message", asked)
    response_id = string(reply.get("id"))
    try:
        message = read_assistant(_sendable(said, response_id or digest_of(reply)), "$.choices[0].message")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    beside = spoken(said, frozenset({"role", *_SENDABLE}))
    others = choices[1:] if isinstance(choices, list) else []
    extra = {"message": beside, "choice": spoken(choice, _MODELLED_CHOICE), "other_choices": others}
    word = string(choice.get("finish_reason"))
    return ModelOutput(
        message=plain(message),
        finish_reason=_FINISH.get(word or "", FinishReason.OTHER),
        raw_finish_reason=word,
        usage=read_usage(reply.get("usage")),
        model=string(reply.get("model")),
        response_id=response_id,
        extra=spoken(spoken(reply, _MODELLED) | extra),
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usage` object; anything else says nothing.

    The cached share stands in ``prompt_tokens_details`` or in ``num_cached_tokens`` (both are recorded). Reasoning
    is not counted apart.
    """
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=integer(usage.get("prompt_tokens")),
        output_tokens=integer(usage.get("completion_tokens")),
        cached_input_tokens=integer(usage.get("num_cached_tokens") if cached is None else cached),
        raw=usage,
    )


def _sendable(said: dict[str, Any], answer_id: str) -> dict[str, Any]:
    """Return the message in the form in which it may go back in a later request.

    Fields that say nothing go: null, empty, a `prefix` that is false. Calls get what the server left out. An empty
    text beside calls is none.
    """
    fields = spoken({name: said[name] for name in _SENDABLE if name in said})
    if fields.get("prefix") is False:
        del fields["prefix"]
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields["tool_calls"] = [_completed(call, index, answer_id) for index, call in enumerate(calls)]
    if not fields.get("content"):
        fields["content"] = None if isinstance(calls, list) else ""
    return fields


def _completed(call: Any, index: int, answer_id: str) -> Any:
    """Return a call with an id and arguments, and without its index, which its place says."""
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return call
    function, call_id = call["function"], call.get("id")
    if not call_id or call_id == NO_ID:
        call_id = sendable_id(f"call-{answer_id}-{index}")
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else as_arguments(arguments)
    return without(call, "index") | {"id": call_id, "function": function | {"arguments": text or "{}"}}
