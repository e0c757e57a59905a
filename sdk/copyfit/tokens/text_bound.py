"""Bound the tokens of a text from above by counting its characters per script, without any vocabulary."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil

_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_INDENT = re.compile(rb"  +")
_LONG_WORD, _VERY_LONG_WORD = 4, 8
"""Letters; most words up to the first are one vocabulary entry, those past the second are often three or more."""


def _kinds() -> bytes:
    """Return the table that maps a byte to its kind: a letter, capital, digit, blank, other blank or mark."""
    table = bytearray(b"." * 256)
    table[0x00:0x20] = b"\n" * 0x20
    table[0x20:0x21] = b" "
    table[0x30:0x3A] = b"0" * 10
    table[0x41:0x5B] = b"A" * 26
    table[0x61:0x7B] = b"a" * 26
    table[0x7F:0x80] = b"\n"
    return bytes(table)


def _alone(kinds: bytes) -> bytes:
    """Return the table that keeps `kinds` as ``x`` and blanks everything else."""
    return bytes(0x78 if code in kinds else 0x20 for code in range(256))


_KINDS = _kinds()
_LETTERS, _DIGITS, _MARKS = _alone(b"aA"), _alone(b"0"), _alone(b".")
_CASES = bytes(code if code in b"aA" else 0x20 for code in range(256))

# The first code point of each stretch, and the field of TextWeights that its characters are charged with.
_STRETCHES = (
    (0x0080, "latin"),
    (0x0300, "sign"),
    (0x0370, "latin"),
    (0x0400, "cyrillic"),
    (0x0530, "semitic"),
    (0x0900, "indic"),
    (0x1E00, "latin"),
    (0x2000, "sign"),
    (0x3000, "cjk_mark"),
    (0x3040, "kana"),
    (0x3100, "cjk_mark"),
    (0x3400, "ideograph"),
    (0xA000, "sign"),
    (0xAC00, "hangul"),
    (0xD7B0, "sign"),
    (0xF900, "ideograph"),
    (0xFB00, "sign"),
    (0xFF00, "cjk_mark"),
    (0xFFF0, "sign"),
    (0x10000, "astral"),
)
_STARTS = tuple(start for start, _ in _STRETCHES)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWeights:
    """What each feature of a text may cost, in tokens.

    The features of ASCII text: each `letter`; each `word` (a run of letters of one case, the first of which may
    be a capital), and on top of it each letter past its fourth (`long`) and past its eighth (`very_long`); each
    capital that begins a run of letters (`title`) and each other one (`capital`); each `digit`, each `number` (a
    run of digits) and each number behind a blank (`spaced_number`); each `mark` of punctuation and each run of
    marks (`mark_run`); each `newline`, tab or control; each run of two or more blanks (`indent`).

    The features of other text, per character: ideographs of GB2312 level 1 (`simplified`) and of Big5 level 1
    (`traditional`), which vocabularies know, and every other `ideograph`; `kana`, `hangul`, `cjk_mark` (CJK
    punctuation and full-width forms); `latin` (with accents, and Greek), `cyrillic`, `semitic` (Armenian, Hebrew,
    Arabic), `indic` (the Indic scripts and those up to Khmer), `sign` (any other of the basic plane), `astral`.
    """

    letter: float
    word: float
    long: float
    very_long: float
    title: float
    capital: float
    digit: float
    number: float
    spaced_number: float
    mark: float
    mark_run: float
    newline: float
    indent: float
    simplified: float
    traditional: float
    ideograph: float
    kana: float
    hangul: float
    cjk_mark: float
    latin: float
    cyrillic: float
    semitic: float
    indic: float
    sign: float
    astral: float


def bound_text(text: str, weights: TextWeights) -> int:
    """Return the tokens that `text` costs at most, by `weights`; 0 for an empty text.

    The time is that of some passes in C over the bytes, plus a dictionary entry for each different character
    outside ASCII.
    """
    if text.isascii():
        return ceil(_ascii_cost(text.encode("ascii"), weights))
    # A control stands in for each stretch of other characters: it parts words and numbers as they do.
    stretches = _NON_ASCII.findall(text)
    ascii_cost = _ascii_cost(_NON_ASCII.sub("\x00", text).encode("ascii"), weights)
    return ceil(ascii_cost - weights.newline * len(stretches) + _other_cost("".join(stretches), weights))


def _ascii_cost(data: bytes, weights: TextWeights) -> float:
    kinds = data.translate(_KINDS)
    capitals = kinds.count(b"A")
    titles = _runs(kinds.translate(_CASES), b"A")
    lengths = Counter(map(len, kinds.replace(b"aA", b"a A").translate(_LETTERS).split()))
    return (
        weights.letter * (kinds.count(b"a") + capitals)
        + weights.word * lengths.total()
        + weights.long * _past(lengths, _LONG_WORD)
        + weights.very_long * _past(lengths, _VERY_LONG_WORD)
        + weights.title * titles
        + weights.capital * (capitals - titles)
        + weights.digit * kinds.count(b"0")
        + weights.number * _runs(kinds.translate(_DIGITS), b"x")
        + weights.spaced_number * kinds.count(b" 0")
        + weights.mark * kinds.count(b".")
        + weights.mark_run * _runs(kinds.translate(_MARKS), b"x")
        + weights.newline * kinds.count(b"\n")
        + weights.indent * len(_INDENT.findall(kinds))
    )


def _runs(alone: bytes, first: bytes) -> int:
    """Return how many runs between blanks begin with `first`."""
    return alone.count(b" " + first) + alone.startswith(first)


def _past(lengths: Mapping[int, int], length: int) -> int:
    """Return how many letters the words have past their first `length`."""
    return sum((own - length) * times for own, times in lengths.items() if own > length)


def _other_cost(characters: str, weights: TextWeights) -> float:
    return sum(
        times * float(getattr(weights, _feature(character))) for character, times in Counter(characters).items()
    )


def _feature(character: str) -> str:
    stretch = _STRETCHES[bisect_right(_STARTS, ord(character)) - 1][1]
    if stretch == "ideograph":
        if character in _level_one("gb2312", 0xB0, 0xD7):
            return "simplified"
        if character in _level_one("big5", 0xA4, 0xC6):
            return "traditional"
    return stretch


@cache
def _level_one(codec: str, first: int, last: int) -> frozenset[str]:
    """Return the everyday ideographs of a national standard: those with a lead byte from `first` to `last`."""
    rows = (bytes((lead, trail)) for lead in range(first, last + 1) for trail in range(0x40, 0xFF))
    return frozenset("".join(row.decode(codec, "ignore") for row in rows))
