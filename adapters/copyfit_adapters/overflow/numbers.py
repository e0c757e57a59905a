"""Read the bound and the size of what was asked for, both in tokens, out of an error's sentence."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from copyfit_adapters.overflow.wording import compiled

_N = r"(?<![a-z0-9_.,-])(?:\d{1,3}(?:[,_']\d{3})+|\d+)(?: ?k\b)?(?:\.0)?(?!\d|[.,]\d)"
_UNIT = r"(?! ?(?:characters|chars|bytes|[kmg]i?b\b|%|percent|output|completion))"
_LIMIT = rf"\(?(?P<limit>{_N}){_UNIT}"
_REQUESTED = rf"\(?(?P<requested>{_N}){_UNIT}"
_SUM = rf"(?P<input>{_N})\)?(?: \w{{1,20}}){{0,3}}? (?:\+|and)(?: \w{{1,20}}){{0,3}} ?\(?(?P<output>{_N})\)?"

_WITH_LOWER_BOUND = (
    rf"\brequested (?P<output>{_N}) (?:output|completion) tokens and your prompt contains at least (?P<input>{_N})"
)
"""vLLM stops counting a prompt as soon as it cannot fit, so its sum with the output is a lower bound."""

_READINGS: tuple[str, ...] = (
    rf"{_SUM} (?:>|exceeds\b[^\d\n]{{0,40}}?) ?{_LIMIT}",
    rf"\bgiven:? {_SUM}",
    rf"\({_REQUESTED} tokens?, (?:n_ctx|max|limit)[ =:]{{1,3}}{_LIMIT}",
    rf"{_REQUESTED}(?: tokens?)?\)? ?>=? ?(?:\w{{1,20}}:? )?{_LIMIT}",
    rf"{_REQUESTED}\)? (?:must|should|cannot|can not) (?:not )?(?:be |exceed )[^\d\n]{{0,60}}{_LIMIT}",
    rf"{_LIMIT}[ -](?:tokens?[ -])?(?:maximum|max|context|window)\b",
    rf"\bexceeded by (?P<excess>{_N}) tokens\b[^\d\n]{{0,120}}\blimit\b[^\d\n]{{0,30}}{_LIMIT}",
    rf"{_REQUESTED} tokens? exceeds?[^\d\n]{{0,40}}{_LIMIT}",
    rf"\bfor (?:the )?model [\w./:-]{{1,60}} \({_LIMIT}\)",
    rf"{_REQUESTED} tokens? exceeds?\b|\bexceeded: (?P<size>{_N}) tokens\b"
    rf"|tokens?(?:总?数量?)[（(](?P<count>{_N})[）)]",
    rf"\bpassed {_SUM}",
    rf"\b(?:context[ _]?(?:length|size|window)|n_ctx)(?: ?(?:of|is|:|=)(?: only)?)? ?{_LIMIT}",
    rf"(?<!limit of ){_REQUESTED} ?/ ?{_LIMIT}",
    r"\bmax(?:imum)?(?:[ _](?!must|should|be\b|by\b|completion|new|output)[a-z'-]{1,20}){0,5}?"
    rf"(?: ?(?:is|of|:|=))? ?{_LIMIT}",
    rf"\blimit(?: ?(?:of|is|:|=))? ?{_LIMIT}",
    rf"(?:\b(?:less than|at most|up to|no more than|only supports?)|not exceed)(?: or equal to)? {_LIMIT}"
    rf"|<= ?\(?(?P<bound>{_N}){_UNIT}",
    rf"\[\d+, ?{_LIMIT}\]",
    rf"\bat pos(?:ition)?:? {_LIMIT}[^\n]{{0,80}}\bfull\b",
    rf"\blimit={_LIMIT} prompt={_REQUESTED}",
    rf"(?:最大|上限|最多|限制|不能超过|不得超过)[^\d\n]{{0,12}}{_LIMIT}|(?:窗口|只有|仅支持)[^\d\n:：]{{0,6}}(?P<bound>{_N}){_UNIT}",
    rf"= ?{_REQUESTED} tokens\b",
    rf"(?:输入|当前|实际|请求)[^\d\n最大上限超不]{{0,12}}{_REQUESTED}",
    r"\b(?:requested(?: tokens?| a total of| about)?|projected|estimated|received|supplied|keep the first):? "
    rf"{_REQUESTED}",
    rf"\b(?:resulted in|given:?|requires|contains|got|has)[ =]{_REQUESTED}",
    rf"\btokens {_REQUESTED}\)? (?:has |have )?exceed",
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
_STATUS = re.compile(r"\b(?:status|error)(?: code)?[ :=]{1,3}[45]\d\d\b")
"""An SDK's exception names the HTTP status beside the sentence."""
_LOWER_BOUND = re.compile(r"\bat least [\d,_']+")


_CAP_READINGS: tuple[str, ...] = (
    rf"(?P<requested>{_N}) is not less or equal to (?P<limit>{_N})",
    rf"\bmax\w*tokens\w*:? ?\(?(?P<requested>{_N})\)? ?(?:>|(?:cannot|must not|should not|may not) (?:exceed|be)"
    rf"|exceeds|is (?:greater|larger|more|higher)\b)[^\d\n]{{0,60}}(?P<limit>{_N})",
    rf"[\[(]\d+ ?(?:,|-|~|to) ?(?P<limit>{_N})[\])]",
    rf"\bbetween \d+ and (?P<limit>{_N})",
    rf"(?:<=|less than or equal to|at most|no more than|up to|lower than|cannot exceed|must not exceed"
    rf"|maximum (?:value )?(?:of|is)|limit(?: for [^\d\n]{{1,40}}?)?(?: (?:of|is))?)(?: ?[:=])? ?(?P<limit>{_N})",
    rf"\bexceeded the (?P<limit>{_N})",
    rf"(?:上限|最大|不能超过|不得超过|限制)[^\d\n]{{0,12}}(?P<limit>{_N})",
    rf"\b(?:provided|got|requested|received|current|too large)(?: ?[:=])? ?(?P<requested>{_N})",
)
"""Tried in order on what is no overflow: caps on the answer, and rates of tokens."""


class Counts(NamedTuple):
    """The bound and the whole of what was asked for, in tokens; `at_least`: the latter is a lower bound."""

    limit: int | None
    requested: int | None
    at_least: bool = False


def token_counts(message: str, counts: Mapping[str, int]) -> Counts:
    """Return the window and the requested size in tokens that the plain `message` or the named `counts` give.

    The size is the whole of what was asked for, output included where the message adds it. None stands for what is
    not said exactly; a size below the window is taken for a misreading and left out.
    """
    limit, requested = counts.get("n_ctx"), counts.get("n_prompt_tokens")
    text = "\n".join(line for line in message.split("\n") if "token" in line or not _OTHER_UNIT.search(line))
    text = _STATUS.sub("", _ECHO.sub("", text))
    lower = compiled(_WITH_LOWER_BOUND).search(text) if requested is None else None
    if lower is not None:
        requested = _value(lower["output"]) + _value(lower["input"])
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
            requested = read.get("requested", read.get("size", read.get("count")))
        if requested is None and "input" in read:
            requested = read["input"] + read["output"]
        if requested is None and "excess" in read and limit is not None:
            requested = limit + read["excess"]
    if requested is not None and requested < (limit or 1):
        requested = None
    return Counts(limit, requested, at_least=lower is not None and requested is not None)


def cap_counts(message: str) -> Counts:
    """Return the cap or the rate, and what was asked for, that the plain `message` of another error gives."""
    limit: int | None = None
    requested: int | None = None
    for pattern in _CAP_READINGS:
        if limit is not None and requested is not None:
            break
        if found := compiled(pattern).search(message):
            read = {name: _value(digits) for name, digits in found.groupdict().items() if digits}
            limit = limit if limit is not None else read.get("limit")
            requested = requested if requested is not None else read.get("requested")
    return Counts(limit, requested)


def _value(digits: str) -> int:
    thousands = digits.endswith("k")
    digits = digits.removesuffix(".0")
    return int(re.sub(r"\D", "", digits)) * (1000 if thousands else 1)
