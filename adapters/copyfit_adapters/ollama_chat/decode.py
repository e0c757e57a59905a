"""Read an answer of Ollama's chat.

Tolerant where servers differ: calls without ids, absent counts, a missing reason, arguments as text, an error
under status 200. What copyfit does not model is kept: fields of the message in its `extra` (they go back with
it), the rest in the output's `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, spoken
from copyfit_adapters.codec.json_text import ExactJson
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.ids import made_id
from copyfit_adapters.ollama_chat.messages import read_assistant
from copyfit_adapters.overflow.refusal import Asked

_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
"""The words for an answer; ``load`` and ``unload`` stand where there is none, only a model that came or went."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_METRICS = (
    "prompt_eval_count",
    "prompt_eval_cached_count",
    "eval_count",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
)
"""Counts are of tokens, durations in nanoseconds."""
_MODELLED = frozenset({"model", "message", "done", "done_reason", *_METRICS})


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no chat answer.

    """
    return read_reply(REPLIES.parsed(status, body, asked), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error"):
        return True
    return "done" not in reply and any(isinstance(reply.get(name), str) for name in ("message", "detail", "msg"))


REPLIES = Replies("Ollama's chat endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a chat response object.

    A server says ``stop`` where it stopped to call tools; here that is a reason of its own.

    Raises:
        MalformedReply: there is no message.

    """
    said = reply.get("message")
    if not isinstance(said, dict):
        raise REPLIES.malformed("has no message", asked)
    try:
        message = read_assistant(_sendable(said, reply), "$.message")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = string(reply.get("done_reason"))
    reason = _FINISH.get(word or "", FinishReason.OTHER)
    if message.tool_calls and word in ("stop", "", None):
        reason = FinishReason.TOOL_CALLS
    return ModelOutput(
        message=message,
        finish_reason=reason,
        raw_finish_reason=word,
        usage=read_usage(reply),
        model=string(reply.get("model")),
        extra=spoken(reply, _MODELLED),
    )


def read_usage(reply: Mapping[str, Any]) -> Usage:
    """Return the token counts of an answer; `raw` holds its durations as well.

    ``prompt_eval_count`` is of the whole prompt, what came from the cache included; the newest servers say that
    share apart. Servers from before July 2024 left cached tokens out of the count, and the count out of the answer
    where all were cached, so there it is no measure of the input's size. After a silent cut it counts what was
    left of the prompt: about half the window where tokens were cut out of its middle (ollama issue 17889).
    """
    return Usage(
        input_tokens=integer(reply.get("prompt_eval_count")),
        output_tokens=integer(reply.get("eval_count")),
        cached_input_tokens=integer(reply.get("prompt_eval_cached_count")),
        raw={name: reply[name] for name in _METRICS if reply.get(name) is not None},
    )


def _sendable(said: dict[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message in the form in which it may go back in a later request: calls have ids and arguments."""
    fields = spoken(said)
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields["tool_calls"] = [completed(call, index, reply) for index, call in enumerate(calls)]
    return fields


def completed(call: Any, index: int, reply: Mapping[str, Any]) -> Any:
    """Return the call at `index` with what the server left out; `reply` is the answer or piece that it came in."""
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return call
    arguments = call["function"].get("arguments")
    whole = ExactJson(arguments) if isinstance(arguments, str) else arguments or {}
    call_id = call.get("id") or made_id(reply, index)
    return call | {"id": call_id, "function": call["function"] | {"arguments": whole}}
