"""Converse, in AWS's words: a refusal quotes the model's own."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit_adapters.aws_event_stream import encode_event
from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say, dumped
from copyfit_harness.scripted.voices.anthropic_messages import AWS_STREAM, bedrock_exception
from copyfit_harness.scripted.voices.voice import SEAL, FillsUp, TooLong, Voice, pieces


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"reasoningContent": {"reasoningText": {"text": answer.thinking, "signature": SEAL}}})
    if answer.text:
        content.append({"text": answer.text})
    content += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}}
        for call in answer.calls
    ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if answer.calls else "end_turn",
        **_cost(answer, heading),
    }


def _cost(answer: Say, heading: Heading) -> dict[str, Any]:
    counts = {"inputTokens": heading.prompt_tokens, "outputTokens": answer.tokens}
    total = heading.prompt_tokens + answer.tokens
    return {"usage": counts | {"totalTokens": total}, "metrics": {"latencyMs": 1}}


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    yield _frame("messageStart", role="assistant")
    thoughts = [{"reasoningContent": {"text": piece}} for piece in pieces(answer.thinking)]
    thoughts += [{"reasoningContent": {"signature": SEAL}}] if thoughts else []
    said = [each for each in (thoughts, _text(answer.text)) if each]
    for index, deltas in enumerate(said):
        yield from _block(index, deltas)
    for index, call in enumerate(answer.calls, len(said)):
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        yield _frame("contentBlockStart", contentBlockIndex=index, start=start)
        yield from _block(index, [{"toolUse": {"input": piece}} for piece in pieces(call.arguments)])
    yield _frame("messageStop", stopReason="tool_use" if answer.calls else "end_turn")
    yield _frame("metadata", **_cost(answer, heading))


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield _frame("messageStart", role="assistant")
    yield from _block(0, _text(reply.text))
    yield bedrock_exception()


def _text(text: str) -> list[dict[str, Any]]:
    return [{"text": piece} for piece in pieces(text)]


def _block(index: int, deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    for delta in deltas:
        yield _frame("contentBlockDelta", contentBlockIndex=index, delta=delta)
    yield _frame("contentBlockStop", contentBlockIndex=index)


def _frame(kind: str, **fields: Any) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return encode_event(headers, dumped({**fields, "p": "abcdefgh"}))


def _refuse(too_long: TooLong) -> Refuse:
    model_said = f"prompt is too long: {too_long.requested} tokens > {too_long.limit} maximum"
    return Refuse(400, {"message": f"The model returned the following errors: {model_said}"})


VOICE = Voice(
    path=re.compile("/model/.+/converse$"),
    stream_path=re.compile("/model/.+/converse-stream$"),
    media_type=AWS_STREAM,
    whole=_whole,
    stream=_stream,
    refuse=_refuse,
    fill_up=_fill_up,
)
