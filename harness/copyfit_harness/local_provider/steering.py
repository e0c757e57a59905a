"""Decide what each token does to the model: the mark it carries in, and the pull that brings it out.

The weights are random: by themselves they would answer with any of 131,072 tokens. A few channels of the hidden
state are kept free of that noise and give the answers a shape: words rather than symbols, an end now and then,
and, in the variant that calls tools, JSON that the server's grammar accepts and that stays short.

The sizes were found by trial against the server's default sampling (temperature 0.8 to 1, top-k 40);
tests/live/test_server.py states what they have to achieve.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from copyfit_harness.local_provider.options import ModelVariant
from copyfit_harness.local_provider.vocabulary import Vocabulary


class Channel(IntEnum):
    """Name the hidden dimensions that the random weights neither read nor write."""

    STEADY = 0
    """1 in every token, so that an output row that reads it has a constant pull."""

    BEACON = 1
    """Set in [AVAILABLE_TOOLS] alone: what one attention head looks for."""

    OFFERED = 2
    """Written by that head: tools are offered somewhere in the prompt."""

    TURN = 3
    """Set in the tokens that end a message: an answer begins here."""

    OPENED = 4
    """Set in the double quote: a string may have been opened just now."""


MARKS = (
    ("[AVAILABLE_TOOLS]", Channel.BEACON, 4.0),
    ("[/AVAILABLE_TOOLS]", Channel.TURN, 2.0),
    ("[/SYSTEM_PROMPT]", Channel.TURN, 2.0),
    ("[/INST]", Channel.TURN, 2.0),
    ("[/TOOL_RESULTS]", Channel.TURN, 2.0),
    ("</s>", Channel.TURN, 2.0),
    ('"', Channel.OPENED, 2.0),
)
"""The tokens whose embedding carries a mark, its channel and its size; the noise of an embedding has length 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """Say how strongly each channel brings a token out, and whether noise may add to it."""

    steady: float = 0.0
    offered: float = 0.0
    turn: float = 0.0
    opened: float = 0.0
    noisy: bool = False

    def by_channel(self) -> tuple[float, ...]:
        """Return the weights of the token's output row, in the order of `Channel`; nothing reads the beacon."""
        return (self.steady, 0.0, self.offered, self.turn, self.opened)


# Prose is words, and so is what follows the opening of a string.
_WORD = Pull(steady=1.0, opened=-1.0, noisy=True)
_FRAGMENT = Pull(opened=1.0, noisy=True)
_SYMBOL = Pull(noisy=True)
# Blanks would pad the JSON; a token of several JSON signs could close one call and open the next.
_UNWANTED = Pull(steady=-6.0, noisy=True)

_END_OF_PROSE = {
    # Never first, so that no answer is empty; later about one token in seventy.
    "</s>": Pull(steady=2.4, turn=-3.0),
}
_TOOL_CALLS = {
    # Only where an answer begins AND tools are offered: either alone stays below zero.
    "[TOOL_CALLS]": Pull(steady=-21.5, offered=10.0, turn=10.0),
    # A string ends after its first word, a list after its first item; an object may go on.
    '"': Pull(offered=4.0, opened=-4.2),
    "]": Pull(offered=2.8, opened=-3.0),
    "}": Pull(offered=0.75, opened=-1.9),
    ",": Pull(offered=0.75, opened=-1.9),
    # Nothing follows the list of calls.
    "</s>": Pull(steady=2.4, offered=4.5, turn=-3.0),
}

_WORDS = re.compile(rb" [A-Za-z]{2,}")
_FRAGMENTS = re.compile(rb"[A-Za-z]{2,}")
_BLANK = re.compile(rb"\s")
_JSON_SIGN = re.compile(rb'[][{}:,"]')


def token_id(vocabulary: Vocabulary, name: str) -> int:
    """Return the id of the control token `name` or, where there is none, of the ordinary token spelt so."""
    if name in vocabulary.control:
        return vocabulary.control_id(name)
    return vocabulary.ordinary_id(name.encode())


def pull_of_bytes(token: bytes) -> Pull:
    """Return the pull of an ordinary token, judged by its bytes."""
    if _WORDS.fullmatch(token):
        return _WORD
    if _FRAGMENTS.fullmatch(token):
        return _FRAGMENT
    body = token.removeprefix(b" ")
    if not body or _BLANK.search(body) or (len(token) > 1 and _JSON_SIGN.search(body)):
        return _UNWANTED
    return _SYMBOL


def pulls(vocabulary: Vocabulary, variant: ModelVariant) -> list[Pull]:
    """Return the pull of each token of the vocabulary, by id."""
    result = [_UNWANTED] * len(vocabulary.control)
    result += [pull_of_bytes(token) for token in vocabulary.ordinary]
    steered = _TOOL_CALLS if variant is ModelVariant.TOOLS else _END_OF_PROSE
    for name, pull in steered.items():
        result[token_id(vocabulary, name)] = pull
    return result
