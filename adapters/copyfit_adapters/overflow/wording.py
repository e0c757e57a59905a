"""The vocabulary that the rules are made of: what was sent, the room it needs, and how one exceeds the other.

A pattern built from these names a family of sentences. Each is written for the plain text that `plain` gives.
"""

import re
from functools import cache

SAID = (
    r"\b(?:prompts?|inputs?|messages?|request|conversation|chat|context|history|transcript|sequence|query|texts?|tokens?)"
    r"(?:'s)?(?:[ _](?:tokens?|token count|count|length|size|window|text|prompt|messages|itself)){0,3}\b"
)
"""What was sent to the model; plural "requests" are left out, for those are counted over a time."""
WINDOW = (
    r"(?:(?:context|ctx)[ _-]?(?:window|length|size|len|limit|budget|capacity|space)|n_ctx|num_ctx|context\b"
    r"|max(?:imum)?[ _](?:allowed[ _])?(?:model|seq|sequence|prompt|input|context|position"
    r"|conversation|session)[ _]?(?:len\b|length|size|tokens?|embeddings|window|limit|context)"
    r"|(?:model|prompt|input|sequence)(?:'s)?[ _](?:input |token |prompt |context )?(?:length|token|size) ?limit"
    r"|(?:prompt|input) limit"
    r"|model_max(?:_\w{1,20})?\b|(?:available|model|model's) window\b|kv[ -]?cache)"
)
"""The room that only a context has."""
LIMIT = (
    r"(?:limit|maximum|max(?:imum)? (?:\w{1,20} ){0,3}(?:length|tokens?|size)|max_\w{0,20}(?:len|length|tokens)"
    r"|allowed (?:\w{1,20} ){0,2}(?:length|tokens?)|(?:token|input) (?:capacity|allowance|budget))\b"
)
"""A bound that needs something said beside it before it means the context."""
EXCEEDS = (
    r"(?:exceed\w{0,5}|surpass\w{0,5}|overflow\w{0,5}|overr[ua]n\w{0,5}|beyond"
    r"|(?:long|larg|great|bigg|high)er than|more (?:\w{1,20} )?than"
    r"|(?:went|goes|is|are) (?:over|above)|reached|(?:has|have|you've) hit|ran out of|fills?|filled)"
)
"""How what was sent goes past a bound that is named after it."""
EXCEEDED = (
    r"(?:exceeded|overflow\w{0,5}|reached|limit hit|(?:is|was|already) full|exhausted|overrun|surpassed"
    r"|too (?:small|short)|insufficient|(?:not|n't) (?:large|long|big) enough)"
)
"""How a room that is named before it is said to be used up."""
NO_FIT = (
    r"(?:(?:\bnot|n't|cannot|can not|unable to|failed to) (?:\w{1,20} )?fit\b"
    r"|too (?:long|large|big|many)(?: \w{1,20})? (?:to fit|for)\b)"
)
"""How what was sent is said not to go into what is named after it."""
AT_MOST = (
    r"(?:(?:must|should|can|may|has to|have to|need to) (?:only )?(?:not )?(?:be |have |contain |exceed )?"
    r"(?:less|fewer|shorter|smaller|lower|at most|no more|up to|longer|greater|more|under|below|within|<|\d)"
    r"|(?:must|should|can|may)(?: ?not|n't) exceed|cannot (?:exceed|be (?:longer|greater|more|larger)))"
)
"""A bound that is put as a demand."""
CAP = (
    r"\b(?:maxtokens\b"
    r"|max(?:imum)?[_ ](?:completion[_ ]|new[_ ]|output[_ ]|generation[_ ])?tokens?\b(?! (?:per|count)\b)"
    r"|max_gen_len|maxoutputtokens|tokens_to_generate"
    r"|max(?:imum)?[ _]output[ _](?:length|size)|max length output"
    r"|(?:output|completion|response|generated|reasoning|thinking) tokens?\b)"
)
"""The cap on the answer, by any of its names."""
CAP_CUES = ("max", "output", "completion", "response", "generat", "reason", "think")
"""One of these stands wherever `CAP` does."""
NUMBER = r"\d[\d,_]{0,14}(?: ?k\b)?"


def plain(message: str) -> str:
    """Return `message` as the patterns expect it: lower case, straight quotes, simplified Chinese, no links."""
    return _BLANKS.sub(" ", _URL.sub("", message.lower()).translate(_STRAIGHT))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled `pattern`; made when it is first needed, so that importing costs nothing.

    Words are words in ASCII letters: Chinese is written without blanks, so only thus does an English word within a
    Chinese sentence begin and end where the letters do.
    """
    return re.compile(pattern, re.ASCII)


_TRADITIONAL = "輸長過請縮詞對話會數錯誤額餘鑰權無頻時圖視內審壓當實際許訊歷問題開啟達選擇單載負務繁"
_SIMPLIFIED = "输长过请缩词对话会数错误额余钥权无频时图视内审压当实际许讯历问题开启达选择单载负务繁"
"""The traditional characters of the vocabulary, and the simplified ones that the patterns are written in."""
_STRAIGHT = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": "", "\u201d": "", "`": "", "*": "", '"': "", "\\": ""}
    | dict(zip(_TRADITIONAL, _SIMPLIFIED, strict=True))
)
_URL = re.compile(r"https?://\S+")
_BLANKS = re.compile(r"[^\S\n]+")
