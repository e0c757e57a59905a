"""Read the window and the size of what was asked for, both in tokens, out of an overflow."""

import re
from collections.abc import Mapping

from copyfit_adapters.overflow.wording import compiled

_N = r"(?<![\w.,-])(?:\d{1,3}(?:[,_']\d{3})+|\d+)(?: ?k\b)?(?!\d|[.,]\d)"
_UNIT = r"(?! ?(?:characters|chars|bytes|[kmg]i?b\b|%|percent|output|completion))"
_LIMIT = rf"\(?(?P<limit>{_N}){_UNIT}"
_REQUESTED = rf"\(?(?P<requested>{_N}){_UNIT}"
_SUM = rf"(?P<input>{_N})(?: \w{{1,20}}){{0,3}}? (?:\+|and)(?: \w{{1,20}})? (?P<output>{_N})"

_READINGS: tuple[str, ...] = (
    rf"{_SUM} (?:>|exceeds\b[^\d\n]{{0,40}}?) ?{_LIMIT}",
    rf"\bgiven:? {_SUM}",
    rf"{_REQUESTED}(?: tokens?)? ?>=? ?(?:\w{{1,20}}: )?{_LIMIT}",
    rf"{_LIMIT} (?:tokens? )?(?:maximum|max)\b",
    rf"\bexceeded by (?P<excess>{_N}) tokens\b[^\d\n]{{0,120}}\blimit\b[^\d\n]{{0,30}}{_LIMIT}",
    r"\bmax(?:imum)?(?:[ _](?!must|should|be\b|by\b|completion|new|output)[a-z'-]{1,20}){0,5}?"
    rf"(?: ?(?:is|of|:|=))? ?{_LIMIT}",
    rf"\b(?:limit|context (?:length|size|window)|n_ctx)(?: ?(?:of|is|:|=))? ?{_LIMIT}",
    rf"\b(?:less than|at most|up to|no more than)(?: or equal to)? {_LIMIT}|<= ?\(?(?P<bound>{_N}){_UNIT}",
    rf"\[\d+, ?{_LIMIT}\]",
    rf"\brequested(?: a total of| about)?:? {_REQUESTED}",
    rf"\b(?:resulted in|given:?|requires|contains|got|has) {_REQUESTED}",
    r"(?<!maximum )(?<!max )(?<!model )\b(?:prompt|inputs?|request|messages|prompt_tokens|sequence|total tokens)\b"
    rf"(?:(?!exceed|limit|max|than|least|must|should|>|\d)[^\n]){{0,40}}?{_REQUESTED}",
)
"""Tried in order; each fills in what the ones before it left open.

Seen at: Anthropic (A + B > C), Petals; TGI; Anthropic, opencode; Cohere; OpenAI, vLLM, Gemini, TensorRT-LLM;
Moonshot, Copilot, llama.cpp; TGI, SiliconFlow; DashScope; OpenAI, OpenRouter, Moonshot; NIM, TGI, TabbyAPI, xAI;
llama.cpp, SGLang, vLLM, Fireworks, MLC. A count after "at least" is a lower bound (vLLM stops counting at the
limit) and is left alone, and so is every count of characters, bytes or output tokens.
"""
_OTHER_UNIT = re.compile(r"\b(?:bytes|characters|chars|string too long)\b")
_ECHO = re.compile(r"\(parameter=[^)\n]*\)")
"""vLLM repeats the offending value after its sentence, also where that is a lower bound."""
_LOWER_BOUND = re.compile(r"\bat least [\d,_']+")


def token_counts(message: str, counts: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Return the window and the requested size in tokens that the plain `message` or the named `counts` give.

    The size is the whole of what was asked for, output included where the message adds it. None stands for what is
    not said exactly; a size below the window is taken for a misreading and left out.
    """
    limit, requested = counts.get("n_ctx"), counts.get("n_prompt_tokens")
    text = "\n".join(line for line in message.split("\n") if "token" in line or not _OTHER_UNIT.search(line))
    text = _ECHO.sub("", text)
    text = _LOWER_BOUND.sub("at least some", text)
    for pattern in _READINGS:
        if limit is not None and requested is not None:
            break
        found = compiled(pattern).search(text)
        if found is None:
            continue
        read = {name: _value(digits) for name, digits in found.groupdict().items() if digits}
        limit = limit if limit is not None else read.get("limit", read.get("bound"))
        if requested is None:
            requested = read.get("requested")
        if requested is None and "input" in read:
            requested = read["input"] + read["output"]
        if requested is None and "excess" in read and limit is not None:
            requested = limit + read["excess"]
    if requested is not None and requested < (limit or 1):
        requested = None
    return limit, requested


def _value(digits: str) -> int:
    thousands = digits.endswith("k")
    return int(re.sub(r"\D", "", digits)) * (1000 if thousands else 1)
