"""Responses, in OpenAI's words; a stream that breaks off for length ends with ``response.failed``."""

import re
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from copyfit.shapes.messages import ToolCall
from copyfit_harness.scripted.chat_replies import CREATED, Heading, Refuse, Say
from copyfit_harness.scripted.voices.voice import SEAL, FillsUp, TooLong, Voice, event, pieces

_TOO_LONG: Final = {
    "code": "context_length_exceeded",
    "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
}
"""OpenAI's own words, which name no numbers."""


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    usage = {
        "input_tokens": heading.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": heading.prompt_tokens + answer.tokens,
    }
    items = [_reasoning(answer.thinking, heading)] if answer.thinking else []
    items += [_message(answer.text, heading)] if answer.text else []
    items += [_call(call, heading, index) for index, call in enumerate(answer.calls)]
    return _top(heading, "completed") | {"output": items, "usage": usage}


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    whole = _whole(answer, heading)
    numbers = count()
    yield _event(numbers, "response.created", response=_top(heading, "in_progress"))
    for index, item in enumerate(whole["output"]):
        yield from _GROWN[item["type"]](item, index, numbers)
        yield _event(numbers, "response.output_item.done", output_index=index, item=item)
    yield _event(numbers, "response.completed", response=whole)


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    numbers = count()
    yield _event(numbers, "response.created", response=_top(heading, "in_progress"))
    yield from _text(_message(reply.text, heading), 0, numbers)
    yield _event(numbers, "response.failed", response=_top(heading, "failed") | {"error": _TOO_LONG})


def _refuse(too_long: TooLong) -> Refuse:
    return Refuse(400, {"error": _TOO_LONG | {"type": "invalid_request_error", "param": "input"}})


def _top(heading: Heading, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{heading.number:04d}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": heading.model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
    }


def _message(text: str, heading: Heading) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    message = {"type": "message", "id": f"msg_{heading.number:04d}", "role": "assistant"}
    return message | {"status": "completed", "content": content}


def _reasoning(text: str, heading: Heading) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}]
    item = {"type": "reasoning", "id": f"rs_{heading.number:04d}", "summary": summary}
    return item | {"encrypted_content": SEAL}


def _call(call: ToolCall, heading: Heading, index: int) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{heading.number:04d}_{index}", "call_id": call.id}
    return item | {"name": call.name, "arguments": call.arguments, "status": "completed"}


def _text(item: Mapping[str, Any], index: int, numbers: Iterator[int]) -> Iterator[bytes]:
    begun = {**item, "status": "in_progress", "content": []}
    yield _event(numbers, "response.output_item.added", output_index=index, item=begun)
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield _event(numbers, "response.content_part.added", **where, part=part | {"text": ""})
    for piece in pieces(part["text"]):
        yield _event(numbers, "response.output_text.delta", **where, delta=piece, logprobs=[])


def _arguments(item: Mapping[str, Any], index: int, numbers: Iterator[int]) -> Iterator[bytes]:
    begun = {**item, "status": "in_progress", "arguments": ""}
    yield _event(numbers, "response.output_item.added", output_index=index, item=begun)
    where = {"item_id": item["id"], "output_index": index}
    for piece in pieces(item["arguments"]):
        yield _event(numbers, "response.function_call_arguments.delta", **where, delta=piece)


def _thoughts(item: Mapping[str, Any], index: int, numbers: Iterator[int]) -> Iterator[bytes]:
    begun = {**item, "summary": [], "encrypted_content": ""}
    yield _event(numbers, "response.output_item.added", output_index=index, item=begun)
    where = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    part = item["summary"][0]
    yield _event(numbers, "response.reasoning_summary_part.added", **where, part=part | {"text": ""})
    for piece in pieces(part["text"]):
        yield _event(numbers, "response.reasoning_summary_text.delta", **where, delta=piece)


def _event(numbers: Iterator[int], kind: str, **fields: Any) -> bytes:
    return event({"type": kind, "sequence_number": next(numbers)} | fields, kind=kind)


_GROWN: Final = {"message": _text, "function_call": _arguments, "reasoning": _thoughts}
VOICE = Voice(path=re.compile("/responses$"), whole=_whole, stream=_stream, refuse=_refuse, fill_up=_fill_up)
