"""Ollama's chat: one JSON object a line, a stream unless it is told otherwise; an error in a stream is a line."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say, dumped
from copyfit_harness.scripted.voices.voice import FillsUp, TooLong, Voice, pieces

_TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, adjust "
    "the context length in settings, or use a model with a longer context length"
)


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    calls = _calls(answer)
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    message |= {"thinking": answer.thinking} if answer.thinking else {}
    message |= {"tool_calls": calls} if calls else {}
    return _top(heading) | {"message": message} | _end(answer, heading)


def _top(heading: Heading) -> dict[str, Any]:
    return {"model": heading.model, "created_at": "2026-01-01T00:00:00Z"}


def _end(answer: Say, heading: Heading) -> dict[str, Any]:
    durations = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 1_000)
    counts = {"prompt_eval_count": heading.prompt_tokens, "eval_count": answer.tokens}
    return {"done": True, "done_reason": "stop"} | durations | counts


def _calls(answer: Say) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "function": {"index": index, "name": call.name, "arguments": json.loads(call.arguments)},
        }
        for index, call in enumerate(answer.calls)
    ]


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    for piece in pieces(answer.thinking):
        yield _line(_top(heading) | _piece(thinking=piece))
    yield from _text(answer.text, heading)
    for call in _calls(answer):
        yield _line(_top(heading) | _piece(tool_calls=[call]))
    yield _line(_top(heading) | _piece() | _end(answer, heading))


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield from _text(reply.text, heading)
    yield _line({"error": _TOO_LONG})


def _text(text: str, heading: Heading) -> Iterator[bytes]:
    for piece in pieces(text):
        yield _line(_top(heading) | _piece(content=piece))


def _piece(**fields: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": ""} | fields, "done": False}


def _line(said: Mapping[str, Any]) -> bytes:
    return dumped(said) + b"\n"


def _refuse(too_long: TooLong) -> Refuse:
    return Refuse(400, {"error": _TOO_LONG})


VOICE = Voice(
    path=re.compile("/api/chat$"),
    streams_unasked=True,
    media_type="application/x-ndjson",
    whole=_whole,
    stream=_stream,
    refuse=_refuse,
    fill_up=_fill_up,
)
