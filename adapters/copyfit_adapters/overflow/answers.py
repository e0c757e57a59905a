"""Read how an answer ended and what it used, whichever protocol it came in.

A server that cuts an input to fit says nothing: the answer comes with status 200. Only its own figures, held
against the window that the caller knows, and its finish reason give it away.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from copyfit_adapters.overflow.rules import Kind

_FULL_PERCENT = 99
"""Share of the window from which an input without room for an answer is taken for one that was cut to fit.

Xiaomi's server fills 1,048,570 of 1,048,576 tokens, and Ollama all but one.
"""

_INPUT_KEYS = ("prompt_tokens", "promptTokenCount", "prompt_eval_count", "input_tokens", "inputTokens", "input")
_CACHED_BESIDE_INPUT = (
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cacheReadInputTokens",
    "cacheWriteInputTokens",
    "cacheRead",
    "cacheWrite",
)
_OUTPUT_KEYS = (
    "completion_tokens",
    "candidatesTokenCount",
    "eval_count",
    "output_tokens",
    "outputTokens",
    "output",
)
_FINISH_KEYS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
_LENGTH_WORDS = frozenset({"length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_length"})
_WINDOW_WORDS = frozenset(
    {
        "model_context_window_exceeded",
        "context_window_exceeded",
        "context_length_exceeded",
        "model_length",
        "max_context",
        "reason_max_context",
        "context_length",
    }
)
_FILTER_WORDS = frozenset(
    {
        "content_filter",
        "content_filtered",
        "refusal",
        "safety",
        "sensitive",
        "guardrail_intervened",
        "prohibited_content",
        "blocklist",
        "recitation",
        "spii",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished answer's own figures: its finish reason in lower case, input and output tokens; None: not said.

    `input_tokens` counts cached tokens as well.
    """

    finish: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRule:
    """What an answer's figures came to: a kind, and the sentence that says why."""

    name: str
    kind: Kind
    why: str


_STOPPED_BY_WINDOW = AnswerRule(
    name="stopped-by-window",
    kind=Kind.CONTEXT_OVERFLOW,
    why="the finish reason says that the context window was full",
)
_INPUT_OVER_WINDOW = AnswerRule(
    name="input-over-window",
    kind=Kind.SILENT_TRUNCATION,
    why="the reported input is as large as the known window, or larger, and yet an answer came",
)
_WINDOW_FILLED = AnswerRule(
    name="window-filled",
    kind=Kind.SILENT_TRUNCATION,
    why=f"the reported input fills {_FULL_PERCENT} % of the known window and left no room for an answer",
)
_STOPPED_BY_CAP = AnswerRule(
    name="stopped-by-output-cap",
    kind=Kind.OUTPUT_LIMIT,
    why="the answer ended at its own cap, and nothing shows that the input filled the window",
)
_STOPPED_BY_FILTER = AnswerRule(
    name="stopped-by-filter",
    kind=Kind.CONTENT_FILTER,
    why="the finish reason says that the content was refused",
)
ANSWER_RULES = (_STOPPED_BY_WINDOW, _INPUT_OVER_WINDOW, _WINDOW_FILLED, _STOPPED_BY_CAP, _STOPPED_BY_FILTER)
"""Tried in this order."""


def answer_in(data: Any) -> Answer | None:
    """Return the figures of the finished answer (or closing stream event) `data`, or None when it is none."""
    if not isinstance(data, Mapping) or any(data.get(key) for key in ("error", "errors", "Error")):
        return None
    told = data.get("base_resp")
    if isinstance(told, Mapping) and told.get("status_code"):
        return None
    finish, input_tokens, output_tokens = None, None, None
    for part in _parts(data):
        if part.get("error"):
            return None
        finish = finish or _first_word(part)
        if input_tokens is None:
            input_tokens = _input(part)
        if output_tokens is None:
            output_tokens = _first_count(part, _OUTPUT_KEYS)
    if finish is None and input_tokens is None and output_tokens is None:
        return None
    return Answer(finish=finish, input_tokens=input_tokens, output_tokens=output_tokens)


def rule_for(answer: Answer, *, window_tokens: int | None) -> AnswerRule | None:
    """Return the rule that fits `answer`, given the window when it is known; None: nothing is wrong with it."""
    used = answer.input_tokens or 0
    at_cap = answer.finish in _LENGTH_WORDS
    if answer.finish in _WINDOW_WORDS:
        return _STOPPED_BY_WINDOW
    if window_tokens and used >= window_tokens:
        return _INPUT_OVER_WINDOW
    if window_tokens and 100 * used >= _FULL_PERCENT * window_tokens and (at_cap or answer.output_tokens == 0):
        return _WINDOW_FILLED
    if at_cap:
        return _STOPPED_BY_CAP
    return _STOPPED_BY_FILTER if answer.finish in _FILTER_WORDS else None


def _parts(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of an answer that may carry its figures: the answer, its choice, its usage."""
    inner = data.get("response")
    for holder in (data, inner) if isinstance(inner, Mapping) else (data,):
        yield holder
        for key in ("choices", "candidates"):
            listed = holder.get(key)
            if isinstance(listed, list) and listed and isinstance(listed[0], Mapping):
                yield listed[0]
        for key in ("delta", "message", "incomplete_details", "usage", "usageMetadata", "usage_metadata", "meta"):
            part = holder.get(key)
            if isinstance(part, Mapping):
                yield part
                for within in ("usage", "tokens"):
                    if isinstance(part.get(within), Mapping):
                        yield part[within]


def _first_word(part: Mapping[str, Any]) -> str | None:
    for key in (*_FINISH_KEYS, "reason"):
        word = part.get(key)
        if isinstance(word, str) and word and " " not in word:
            return word.lower()
    return None


def _input(part: Mapping[str, Any]) -> int | None:
    for key in _INPUT_KEYS:
        count = _count(part.get(key))
        if count is None:
            continue
        if key.startswith("prompt"):
            return count
        return count + sum(_count(part.get(beside)) or 0 for beside in _CACHED_BESIDE_INPUT)
    return None


def _first_count(part: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((count for key in keys if (count := _count(part.get(key))) is not None), None)


def _count(value: Any) -> int | None:
    """Return `value` where it is a number; a few servers write counts as floats."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
