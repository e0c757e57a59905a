"""What the families of models charge: their text weights and the tokens they add around the text.

The text weights of the OpenAI and the open families were fitted to seven of their vocabularies on 1,149 chunks of
prose, code, data and thirty languages, none of which they undercount. Claude's vocabulary is closed: its weights
are OpenAI's, raised by published ratios, and checked against recorded usage alone. With what is added around the
text, fewer than one in two hundred of 2,136 recorded requests came out below what the provider reported.

The bound is an experience, not a proof: text of random letters or random punctuation can cost twice as much.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from copyfit.tokens.text_bound import TextWeights


@dataclass(frozen=True, slots=True, kw_only=True)
class Surcharges:
    """What a model adds around the texts of an input, in tokens.

    `text_base` is charged once an input, `tools_base` instead of it when there are tools; the others for each
    message, tool, call with its result, response schema, image, and file that cannot be read as text.

    Of the models whose images were measured only gpt-4o-mini (14,000 and more) charges over 2,400 for one; what a
    document costs depends on its pages, so `file` is a guess.
    """

    text_base: int
    tools_base: int
    message: int
    tool: int
    call: int
    schema: int
    image: int = 3_000
    file: int = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFamily:
    """Models that count alike: how their text is weighed, and what they add to it."""

    name: str
    weights: TextWeights
    surcharges: Surcharges


# A character of the basic plane is at most three bytes, an astral one four, and no vocabulary spends more than one
# token on a byte, but for Claude's, which goes 7 % over that: no weight need be higher.
_O200K = TextWeights(
    letter=0.05,
    word=0.9,
    long=0.13,
    very_long=1.0,
    title=1.2,
    capital=0.3,
    digit=0.34,
    number=1.15,
    spaced_number=0.55,
    mark=0.4,
    mark_run=0.42,
    newline=0.94,
    indent=0.6,
    simplified=1.2,
    traditional=1.7,
    ideograph=3.2,
    kana=1.45,
    hangul=1.7,
    cjk_mark=1.8,
    latin=2.1,
    cyrillic=0.9,
    semitic=2.2,
    indic=2.3,
    sign=2.6,
    astral=4.2,
)
_CL100K = replace(_O200K, simplified=1.65, traditional=2.1)
_OPEN = replace(
    _O200K,
    word=0.94,
    long=0.39,
    title=0.5,
    capital=0.35,
    digit=1.02,
    number=1.3,
    newline=1.2,
    simplified=1.55,
    traditional=2.0,
    cjk_mark=2.43,
    indic=3.2,
    sign=3.0,
)
_CLAUDE_3 = replace(
    _O200K,
    word=1.12,
    long=0.2,
    title=1.5,
    capital=0.4,
    number=1.5,
    mark=0.52,
    mark_run=0.55,
    simplified=1.5,
    traditional=2.0,
    cjk_mark=2.0,
    indic=3.2,
)
_CLAUDE = replace(_CLAUDE_3, word=1.45, long=0.25, title=2.0, capital=0.7, mark=0.6, mark_run=0.6)
_ANY = replace(
    _CLAUDE,
    long=0.39,
    digit=1.02,
    newline=1.2,
    simplified=1.65,
    traditional=2.1,
    cjk_mark=2.43,
    sign=3.0,
)


def _family(name: str, weights: TextWeights, surcharges: Surcharges) -> TokenFamily:
    return TokenFamily(name=name, weights=weights, surcharges=surcharges)


def _adds(text_base: int, tools_base: int, *, message: int, tool: int, call: int, schema: int) -> Surcharges:
    return Surcharges(
        text_base=text_base, tools_base=tools_base, message=message, tool=tool, call=call, schema=schema
    )


UNKNOWN = _family("unknown", _ANY, _adds(560, 1480, message=16, tool=60, call=110, schema=260))
"""What a model is counted by until its family is named: the highest weights of all, and a larger hidden preamble
than any model's but Cohere's reasoning one. Naming the family gives most of the preamble back."""

FAMILIES: Mapping[str, TokenFamily] = MappingProxyType(
    {
        family.name: family
        for family in (
            UNKNOWN,
            _family("gpt-4", _CL100K, _adds(6, 90, message=5, tool=8, call=30, schema=40)),
            _family("gpt-4o", _O200K, _adds(6, 90, message=5, tool=8, call=30, schema=40)),
            _family("gpt-5", _O200K, _adds(6, 110, message=6, tool=8, call=30, schema=40)),
            _family("gpt-oss", _O200K, _adds(90, 110, message=12, tool=20, call=60, schema=220)),
            _family("claude-3", _CLAUDE_3, _adds(40, 680, message=5, tool=20, call=80, schema=260)),
            _family("claude", _CLAUDE, _adds(40, 680, message=5, tool=20, call=80, schema=260)),
            _family("gemini", _OPEN, _adds(6, 90, message=4, tool=40, call=60, schema=40)),
            _family("grok", _OPEN, _adds(225, 460, message=16, tool=30, call=120, schema=130)),
            _family("cohere", _OPEN, _adds(560, 1480, message=25, tool=50, call=110, schema=130)),
            _family("cohere-reasoning", _OPEN, _adds(1440, 1500, message=25, tool=50, call=110, schema=130)),
            _family("nova-1", _OPEN, _adds(20, 400, message=8, tool=60, call=60, schema=60)),
            _family("nova-2", _OPEN, _adds(110, 920, message=10, tool=60, call=60, schema=60)),
            _family("llama-3", _OPEN, _adds(60, 260, message=8, tool=60, call=60, schema=60)),
            _family("llama-4", _OPEN, _adds(50, 720, message=10, tool=60, call=60, schema=60)),
            _family("deepseek", _OPEN, _adds(90, 340, message=8, tool=30, call=90, schema=60)),
            _family("mistral", _OPEN, _adds(20, 60, message=6, tool=30, call=40, schema=60)),
            _family("qwen", _OPEN, _adds(20, 320, message=10, tool=30, call=60, schema=240)),
        )
    }
)
"""The families by name. ``claude-3`` holds up to Claude 4.6, ``claude`` from 4.7 on; ``gpt-4`` is cl100k_base
(up to gpt-4-turbo), ``gpt-4o`` also holds for gpt-4.1, ``gpt-5`` for the o-series; ``qwen`` also for GLM."""
