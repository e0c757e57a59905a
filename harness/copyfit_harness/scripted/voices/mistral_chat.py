"""Chat completions as Mistral speaks them: calls come whole, and usage with the last chunk.

No recording of a window that fills up in mid-stream is known: here it is the usual refusal as an event.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say
from copyfit_harness.scripted.voices.voice import FillsUp, TooLong, Voice, event, pieces


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    content: str | list[Any] = answer.text
    if answer.thinking:
        content = [_thought(answer.thinking), {"type": "text", "text": answer.text}]
    message = {"role": "assistant", "content": content, "tool_calls": _calls(answer) or None}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    return heading.top("chat.completion") | {"choices": [choice], "usage": heading.usage(answer)}


def _thought(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def _calls(answer: Say) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "index": index, "function": {"name": call.name, "arguments": call.arguments}}
        for index, call in enumerate(answer.calls)
    ]


def _chunk(heading: Heading, delta: Mapping[str, Any], ended: Say | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None if ended is None else ended.finish_reason}
    usage = {} if ended is None else {"usage": heading.usage(ended)}
    return event(heading.top("chat.completion.chunk") | {"choices": [choice]} | usage)


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    yield _chunk(heading, {"role": "assistant", "content": ""})
    for piece in pieces(answer.thinking):
        yield _chunk(heading, {"content": [_thought(piece)]})
    yield from _text(answer.text, heading)
    calls = _calls(answer)
    yield _chunk(heading, {"content": ""} | ({"tool_calls": calls} if calls else {}), answer)
    yield b"data: [DONE]\n\n"


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield _chunk(heading, {"role": "assistant", "content": ""})
    yield from _text(reply.text, heading)
    yield event(_refuse(TooLong(requested=heading.prompt_tokens, limit=heading.prompt_tokens - 1)).body)


def _text(text: str, heading: Heading) -> Iterator[bytes]:
    for piece in pieces(text):
        yield _chunk(heading, {"content": piece})


def _refuse(too_long: TooLong) -> Refuse:
    message = (
        f"Prompt contains {too_long.requested} tokens and 0 draft tokens, too large for model with "
        f"{too_long.limit} maximum context length"
    )
    error = {"object": "error", "message": message, "type": "invalid_request_prompt_too_long"}
    return Refuse(400, error | {"param": None, "code": "3051"})


VOICE = Voice(
    path=re.compile("/chat/completions$"), whole=_whole, stream=_stream, refuse=_refuse, fill_up=_fill_up
)
