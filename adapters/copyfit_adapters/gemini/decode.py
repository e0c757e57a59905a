"""Read a generateContent answer, whole or as the JSON array of chunks that a stream without SSE is.

Tolerant where servers differ: missing ids, absent usage, null fields, a candidate without content, enums as
numbers, an error under status 200. What copyfit does not model is kept: fields of the parts in their `extra` (they
go back with them), the rest in the output's `extra`. A prompt that was blocked is an answer without text that the
content filter ended; its raw finish reason is the block reason, and the feedback stands in the output's `extra`.
"""

import json
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.answers.reply import Replies, plain, spoken
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.gemini.chunks import Chunks
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.messages import read_assistant
from copyfit_adapters.overflow.refusal import Asked

_FINISH = {"STOP": FinishReason.STOP, "MAX_TOKENS": FinishReason.LENGTH} | dict.fromkeys(
    (
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
        "ESCALATION",
    ),
    FinishReason.CONTENT_FILTER,
)
"""Google's words; calls that cannot be read (MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL) are none of ours."""

_NUMBERS = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
"""The words by their numbers, as ``$alt=json;enum-encoding=int`` gives them; later ones differ between servers."""

SOMEONE = Asked(provider=PROTOCOL)
"""Stands in where nobody says who was asked."""

_MODELLED = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId"})
_MODELLED_CANDIDATE = frozenset({"content", "finishReason", "index"})


def decode(status: int, body: bytes, asked: Asked = SOMEONE) -> ModelOutput:
    """Return the answer in `body`; `asked` says who was asked, for errors.

    Raises:
        ContextOverflow: the answer is an error that says the input is too long.
        ProviderError: the answer is another error.
        MalformedReply: it is no GenerateContentResponse.

    """
    chunks = _array(body) if 200 <= status < 300 else []
    read = Chunks()
    try:
        for chunk in chunks or [REPLIES.parsed(status, body, asked)]:
            read.add(chunk)
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    return read_reply(read.whole(), asked)


def is_error(reply: Mapping[str, Any]) -> bool:
    """Whether a JSON object that came as an answer, whole or in a stream, is an error in truth."""
    if reply.get("error"):
        return True
    return "candidates" not in reply and any(
        isinstance(reply.get(name), str) for name in ("message", "detail", "msg")
    )


REPLIES = Replies("a generateContent endpoint", is_error)


def read_reply(reply: Mapping[str, Any], asked: Asked) -> ModelOutput:
    """Return the answer in a whole response.

    Raises:
        MalformedReply: it has no candidate, and does not say that the prompt was blocked.

    """
    candidates = reply.get("candidates") or [{}]
    first, others = candidates[0], candidates[1:]
    feedback = reply.get("promptFeedback")
    blocked = _word(feedback.get("blockReason")) if isinstance(feedback, dict) else None
    if not first and not blocked:
        raise REPLIES.malformed("has no candidate", asked)
    try:
        said = read_assistant(_kept(first.get("content") or {}), "$.candidates[0].content")
    except UnreadableRequest as e:
        raise REPLIES.malformed(f"cannot be read: {e.where} {e.reason}", asked) from e
    word = _word(first.get("finishReason"))
    reason = _FINISH.get(word or "", FinishReason.OTHER)
    if word is None and blocked:
        word, reason = blocked, FinishReason.CONTENT_FILTER
    elif said.tool_calls and word in ("STOP", None):
        reason = FinishReason.TOOL_CALLS
    extra = spoken(reply, _MODELLED)
    extra |= {"candidate": spoken(first, _MODELLED_CANDIDATE), "other_candidates": others}
    return ModelOutput(
        message=plain(said),
        finish_reason=reason,
        raw_finish_reason=word,
        usage=read_usage(reply.get("usageMetadata")),
        model=string(reply.get("modelVersion")),
        response_id=string(reply.get("responseId")),
        extra=spoken(extra),
    )


def read_usage(usage: Any) -> Usage:
    """Return the token counts in a `usageMetadata` object; anything else says nothing.

    The protocol counts apart what the results of the provider's own tools took of the input, and what the model
    thought; here the first is part of the input and the second of the output. The cached share is part of
    ``promptTokenCount`` already.
    """
    if not isinstance(usage, dict):
        return Usage()
    return Usage(
        input_tokens=_sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=_sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        cached_input_tokens=integer(usage.get("cachedContentTokenCount")),
        reasoning_tokens=integer(usage.get("thoughtsTokenCount")),
        raw=usage,
    )


def _sum(usage: Mapping[str, Any], *names: str) -> int | None:
    counts = [count for name in names if (count := integer(usage.get(name))) is not None]
    return sum(counts) if counts else None


def _word(value: Any) -> str | None:
    """Return an enum's word; a number that stands for none is its own word."""
    number = integer(value)
    return string(value) if number is None else _NUMBERS.get(number, str(number))


def _kept(content: Any) -> Any:
    """Return a content without fields that say nothing."""
    if not isinstance(content, dict):
        return content
    return {name: value for name, value in content.items() if value is not None}


def _array(body: bytes) -> list[dict[str, Any]]:
    """Return the chunks of a stream that came as one JSON array; an array with an error in it is none."""
    if not body.lstrip().startswith(b"["):
        return []
    try:
        chunks = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    whole = all(isinstance(chunk, dict) and not is_error(chunk) for chunk in chunks)
    return chunks if whole else []
