"""generateContent, in Google's words, at the Gemini API and on Vertex AI, which gives calls no ids.

The first call carries a thought signature, as the answers of Gemini 3 do; it has to go back unchanged.

No recording of a window that fills up in mid-stream is known: here it is the usual refusal as an event.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say
from copyfit_harness.scripted.voices.voice import SEAL, FillsUp, TooLong, Voice, event, pieces


def _calls(answer: Say, *, with_ids: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for index, call in enumerate(answer.calls):
        named = {"id": call.id} if with_ids else {}
        signed = {} if index else {"thoughtSignature": SEAL}
        parts.append({"functionCall": named | {"name": call.name, "args": json.loads(call.arguments)}} | signed)
    return parts


def _response(parts: list[dict[str, Any]], heading: Heading, *, ended: Say | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    usage: dict[str, Any] = {"promptTokenCount": heading.prompt_tokens}
    if ended is not None:
        candidate["finishReason"] = "STOP"
        usage["candidatesTokenCount"] = ended.tokens
        usage["totalTokenCount"] = heading.prompt_tokens + ended.tokens
    named = {"modelVersion": heading.model, "responseId": f"answer-{heading.number:04d}"}
    return {"candidates": [candidate], "usageMetadata": usage} | named


def _whole(answer: Say, heading: Heading, *, with_ids: bool) -> Mapping[str, Any]:
    thoughts = [{"text": answer.thinking, "thought": True}] if answer.thinking else []
    texts = [{"text": answer.text}] if answer.text else []
    return _response([*thoughts, *texts, *_calls(answer, with_ids=with_ids)], heading, ended=answer)


def _stream(answer: Say, heading: Heading, *, with_ids: bool) -> Iterator[bytes]:
    for piece in pieces(answer.thinking):
        yield _event(_response([{"text": piece, "thought": True}], heading, ended=None))
    yield from _text(answer.text, heading)
    last = _calls(answer, with_ids=with_ids) or [{"text": ""}]
    yield _event(_response(last, heading, ended=answer))


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield from _text(reply.text, heading)
    yield _event(_refuse(TooLong(requested=heading.prompt_tokens, limit=heading.prompt_tokens - 1)).body)


def _text(text: str, heading: Heading) -> Iterator[bytes]:
    for piece in pieces(text):
        yield _event(_response([{"text": piece}], heading, ended=None))


def _event(said: Mapping[str, Any]) -> bytes:
    # Google ends its lines with both characters.
    return event(said).replace(b"\n", b"\r\n")


def _refuse(too_long: TooLong) -> Refuse:
    message = (
        f"The input token count ({too_long.requested}) exceeds the maximum number of tokens allowed "
        f"({too_long.limit})."
    )
    return Refuse(400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


def _at(models: str, *, with_ids: bool) -> Voice:
    return Voice(
        path=re.compile(f"{models}/[^/]+:generateContent$"),
        stream_path=re.compile(f"{models}/[^/]+:streamGenerateContent$"),
        whole=partial(_whole, with_ids=with_ids),
        stream=partial(_stream, with_ids=with_ids),
        refuse=_refuse,
        fill_up=_fill_up,
    )


VOICE = _at("/models", with_ids=True)
ON_VERTEX = _at("/publishers/google/models", with_ids=False)
