"""The messages protocol, in the words of Anthropic and of the two clouds that host Claude.

The window that fills up in mid-stream is llama.cpp's (b11549), and on Bedrock the exception that AWS sends.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from copyfit_adapters.aws_event_stream import encode_event
from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say, dumped
from copyfit_harness.scripted.voices.voice import SEAL, FillsUp, TooLong, Voice, event, pieces

AWS_STREAM = "application/vnd.amazon.eventstream"
"""The media type of AWS's binary event stream."""


def too_long_for_bedrock() -> dict[str, Any]:
    """Return AWS's own refusal, which names no numbers."""
    return {"message": "Input is too long for requested model."}


def bedrock_exception() -> bytes:
    """Return the same refusal as the exception of an event stream."""
    headers = {":exception-type": "validationException", ":message-type": "exception"}
    return encode_event({**headers, ":content-type": "application/json"}, dumped(too_long_for_bedrock()))


_GROWTH: Final[Mapping[str, tuple[Mapping[str, Any], str, str]]] = MappingProxyType(
    {
        "thinking": ({"thinking": "", "signature": ""}, "thinking_delta", "thinking"),
        "text": ({"text": ""}, "text_delta", "text"),
        "tool_use": ({"input": {}}, "input_json_delta", "partial_json"),
    }
)
"""How a block of each kind begins in a stream, and what its pieces are called."""


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": SEAL})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in answer.calls
    ]
    usage = {"input_tokens": heading.prompt_tokens, "output_tokens": answer.tokens}
    ended = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    return _top(heading) | {"content": content, "usage": usage} | ended


def _top(heading: Heading) -> dict[str, Any]:
    top = {"id": f"msg_{heading.number:04d}", "type": "message", "role": "assistant", "model": heading.model}
    usage = {"input_tokens": heading.prompt_tokens, "output_tokens": 1}
    return top | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _events(answer: Say, heading: Heading) -> Iterator[dict[str, Any]]:
    whole = _whole(answer, heading)
    yield {"type": "message_start", "message": _top(heading)}
    grown = [*filter(None, (answer.thinking, answer.text)), *(call.arguments for call in answer.calls)]
    for index, (block, text) in enumerate(zip(whole["content"], grown, strict=True)):
        yield from _block(index, block, text)
        yield {"type": "content_block_stop", "index": index}
    delta = {name: whole[name] for name in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": answer.tokens}}
    yield {"type": "message_stop"}


def _block(index: int, block: Mapping[str, Any], text: str) -> Iterator[dict[str, Any]]:
    empty, kind, name = _GROWTH[block["type"]]
    yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
    for piece in pieces(text):
        yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}}
    if "signature" in block:
        delta = {"type": "signature_delta", "signature": block["signature"]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}


def _begun(reply: FillsUp, heading: Heading) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _top(heading)}
    yield from _block(0, {"type": "text"}, reply.text)


def _sse(said: Mapping[str, Any]) -> bytes:
    return event(said, kind=said["type"])


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    yield from map(_sse, _events(answer, heading))


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield from map(_sse, _begun(reply, heading))
    error = {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}
    yield event({"error": error}, kind="error")


def _refuse(too_long: TooLong) -> Refuse:
    message = f"prompt is too long: {too_long.requested} tokens > {too_long.limit} maximum"
    error = {"type": "invalid_request_error", "message": message}
    return Refuse(400, {"type": "error", "error": error, "request_id": "req_0001"})


def _chunk(said: Mapping[str, Any]) -> bytes:
    held = {"bytes": b64encode(dumped(said)).decode(), "p": "abcdefgh"}
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return encode_event(headers, dumped(held))


def _bedrock_stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    yield from map(_chunk, _events(answer, heading))


def _bedrock_fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield from map(_chunk, _begun(reply, heading))
    yield bedrock_exception()


VOICE = Voice(path=re.compile("/messages$"), whole=_whole, stream=_stream, refuse=_refuse, fill_up=_fill_up)
ON_VERTEX = Voice(
    path=re.compile("/publishers/anthropic/models/[^/]+:rawPredict$"),
    stream_path=re.compile("/publishers/anthropic/models/[^/]+:streamRawPredict$"),
    whole=_whole,
    stream=_stream,
    refuse=_refuse,
    fill_up=_fill_up,
)
ON_BEDROCK = Voice(
    path=re.compile("/model/.+/invoke$"),
    stream_path=re.compile("/model/.+/invoke-with-response-stream$"),
    media_type=AWS_STREAM,
    whole=_whole,
    stream=_bedrock_stream,
    refuse=lambda _: Refuse(400, too_long_for_bedrock()),
    fill_up=_bedrock_fill_up,
)
