"""What a scripted chat completions server says, and the bytes in which it says it.

The answers carry a fixed time and counted ids, so that the same script gives the same bytes. The refusals have the
wording of real servers; where each was taken from stands beside it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from copyfit.shapes.messages import ToolCall
from copyfit_adapters.openai_chat.dialect import PROTOCOL

CREATED: Final = 1_767_225_600
"""The ``created`` of every answer, in Unix seconds: 2026-01-01T00:00:00Z."""
PIECE_CHARS: Final = 12
"""Code points of one streamed piece of text or of a call's arguments."""

BYTES_A_TOKEN: Final = 4
"""UTF-8 bytes that stand for one token here: the usual rule of thumb for English text."""


def rough_tokens(text: bytes) -> int:
    """Return the tokens that a scripted server counts in the UTF-8 `text`, rounded up."""
    return -(-len(text) // BYTES_A_TOKEN)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer: a text, calls, or both; a call's fields of this protocol that copyfit does not model go along.

    `thinking` is what the model thought before it; a server of chat completions does not tell it.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = field(default=(), kw_only=True)
    thinking: str = field(default="", kw_only=True)

    @property
    def finish_reason(self) -> str:
        """Why the answer ends, in the protocol's words."""
        return "tool_calls" if self.calls else "stop"

    @property
    def tokens(self) -> int:
        """What the answer is said to cost, in tokens."""
        return rough_tokens("".join([self.text, *(call.name + call.arguments for call in self.calls)]).encode())


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error: its HTTP status and its JSON body.

    With `after_text` a client that streams first gets status 200 and that text, and then the error as an event.
    """

    status: int
    body: Mapping[str, Any]
    after_text: str | None = field(default=None, kw_only=True)


Reply = Say | Refuse


class Wording(StrEnum):
    """Whose words a refusal of too long an input has."""

    OPENAI = "openai"
    LLAMA_CPP = "llama.cpp"


def overflow(wording: Wording, *, requested: int, limit: int) -> Refuse:
    """Return the refusal of `requested` tokens by a server whose window has `limit`.

    OpenAI's words are those of its error code ``context_length_exceeded``; llama.cpp's were recorded from its
    server (b11549).
    """
    if wording is Wording.OPENAI:
        message = (
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
            f"{requested} tokens. Please reduce the length of the messages."
        )
        error = {"message": message, "type": "invalid_request_error", "param": "messages"}
        return Refuse(400, {"error": error | {"code": "context_length_exceeded"}})
    message = (
        f"request ({requested} tokens) exceeds the available context size ({limit} tokens), try increasing it"
    )
    sizes = {"n_prompt_tokens": requested, "n_ctx": limit}
    return Refuse(400, {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"} | sizes})


def overflow_in_stream(text: str) -> Refuse:
    """Return llama.cpp's refusal after it has streamed `text`: the window filled up while it answered (b11549)."""
    error = {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}
    return Refuse(500, {"error": error}, after_text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What an answer repeats of its request: the model, what the prompt costs in tokens, and how to stream."""

    number: int
    model: str
    prompt_tokens: int
    include_usage: bool

    def top(self, kind: str) -> dict[str, Any]:
        """Return the fields that every object of the answer begins with."""
        return {
            "id": f"chatcmpl-scripted-{self.number:04d}",
            "object": kind,
            "created": CREATED,
            "model": self.model,
        }

    def usage(self, answer: Say) -> dict[str, Any]:
        """Return the token counts of `answer`."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": answer.tokens,
            "total_tokens": self.prompt_tokens + answer.tokens,
        }


def whole_body(answer: Say, heading: Heading) -> bytes:
    """Return `answer` as one JSON body."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [_call(call, arguments=call.arguments) for call in answer.calls]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    return dumped(heading.top("chat.completion") | {"choices": [choice], "usage": heading.usage(answer)})


def stream_events(reply: Reply, heading: Heading) -> Iterator[bytes]:
    """Yield `reply` as the events of a stream, one chunk of bytes an event."""
    top = heading.top("chat.completion.chunk")

    def event(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
        return _event(top | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})

    text = reply.text if isinstance(reply, Say) else reply.after_text or ""
    yield event({"role": "assistant", "content": "" if text else None})
    for piece in _pieces(text):
        yield event({"content": piece})
    if isinstance(reply, Refuse):
        yield _event(reply.body)
        return
    for index, call in enumerate(reply.calls):
        yield event({"tool_calls": [{"index": index} | _call(call, arguments="")]})
        for piece in _pieces(call.arguments):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, reply.finish_reason)
    if heading.include_usage:
        yield _event(top | {"choices": [], "usage": heading.usage(reply)})
    yield b"data: [DONE]\n\n"


def dumped(value: Mapping[str, Any]) -> bytes:
    """Return `value` as compact JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _call(call: ToolCall, *, arguments: str) -> dict[str, Any]:
    fields = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    return {**fields, **call.extra.get(PROTOCOL, {})}


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + dumped(value) + b"\n\n"


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
