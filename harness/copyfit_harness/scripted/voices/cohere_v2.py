"""Cohere's chat v2: what is said beside calls is their plan.

No recording of a window that fills up in mid-stream is known: here the last event says it, as the API documents.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit.shapes.messages import ToolCall
from copyfit_harness.scripted.chat_replies import Heading, Refuse, Say
from copyfit_harness.scripted.voices.voice import FillsUp, TooLong, Voice, event, pieces


def _whole(answer: Say, heading: Heading) -> Mapping[str, Any]:
    content = [{"type": "thinking", "thinking": answer.thinking}] if answer.thinking else []
    message: dict[str, Any] = {"role": "assistant"}
    if answer.calls:
        message["tool_plan"] = answer.text
        message["tool_calls"] = [_call(call, call.arguments) for call in answer.calls]
    else:
        content.append({"type": "text", "text": answer.text})
    if content:
        message["content"] = content
    return {"id": f"answer-{heading.number:04d}", "message": message} | _end(answer, heading)


def _end(answer: Say, heading: Heading) -> dict[str, Any]:
    counts = {"input_tokens": heading.prompt_tokens, "output_tokens": answer.tokens}
    reason = "TOOL_CALL" if answer.calls else "COMPLETE"
    return {"finish_reason": reason, "usage": {"billed_units": counts, "tokens": counts}}


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _stream(answer: Say, heading: Heading) -> Iterator[bytes]:
    yield _begin(heading)
    if answer.thinking:
        yield from _content("thinking", answer.thinking, 0)
        yield _event("content-end", index=0)
    if answer.calls:
        for piece in pieces(answer.text):
            yield _event("tool-plan-delta", delta={"message": {"tool_plan": piece}})
        for index, call in enumerate(answer.calls):
            yield _event("tool-call-start", index=index, delta={"message": {"tool_calls": _call(call, "")}})
            for piece in pieces(call.arguments):
                grown = {"function": {"arguments": piece}}
                yield _event("tool-call-delta", index=index, delta={"message": {"tool_calls": grown}})
            yield _event("tool-call-end", index=index)
    else:
        index = 1 if answer.thinking else 0
        yield from _content("text", answer.text, index)
        yield _event("content-end", index=index)
    yield _event("message-end", id=f"answer-{heading.number:04d}", delta=_end(answer, heading))


def _fill_up(reply: FillsUp, heading: Heading) -> Iterator[bytes]:
    yield _begin(heading)
    yield from _content("text", reply.text, 0)
    said = _refuse(TooLong(requested=heading.prompt_tokens, limit=heading.prompt_tokens - 1)).body
    yield _event("message-end", delta={"finish_reason": "ERROR", "error": said["message"]})


def _begin(heading: Heading) -> bytes:
    empty = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    return _event("message-start", id=f"answer-{heading.number:04d}", delta={"message": empty})


def _content(kind: str, text: str, index: int) -> Iterator[bytes]:
    """Yield a part of the content, whose text is called as its `kind` is."""
    opened = {"content": {"type": kind, kind: ""}}
    yield _event("content-start", index=index, delta={"message": opened})
    for piece in pieces(text):
        yield _event("content-delta", index=index, delta={"message": {"content": {kind: piece}}})


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind} | fields, kind=kind)


def _refuse(too_long: TooLong) -> Refuse:
    message = (
        f"too many tokens: size limit exceeded by {too_long.requested - too_long.limit} tokens. Try using "
        f"shorter or fewer inputs. The limit for this model is {too_long.limit} tokens."
    )
    return Refuse(400, {"id": "answer-0000", "message": message})


VOICE = Voice(path=re.compile("/v2/chat$"), whole=_whole, stream=_stream, refuse=_refuse, fill_up=_fill_up)
