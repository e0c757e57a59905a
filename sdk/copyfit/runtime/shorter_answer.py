"""Tell how long an answer may be when a provider refuses the input and the answer asked for together."""

from typing import Final

from copyfit.errors import ContextOverflow

ENOUGH_TOKENS: Final = 256
"""An answer of this length is worth having, however much was asked for."""
ENOUGH_SHARE: Final = 4
"""So is one of a quarter of the length that was asked for."""


def shorter_answer(
    overflow: ContextOverflow, *, window_tokens: int, estimated_input_tokens: int, asked_tokens: int | None
) -> int | None:
    """Return the longest answer in tokens that fits beside the refused input, or None if cutting it cannot help.

    It cannot when the refusal is not about both together, when the input alone fills the window, when too little
    would be left to answer in, and when the counts contradict the refusal. The provider's own numbers go before
    `window_tokens` and the estimate.
    """
    if not overflow.combined:
        return None
    window = window_tokens if overflow.limit_tokens is None else overflow.limit_tokens
    if overflow.requested_tokens is None or asked_tokens is None:
        input_tokens = estimated_input_tokens
    else:
        input_tokens = overflow.requested_tokens - asked_tokens
    room = window - input_tokens
    if asked_tokens is None:
        return room if room >= ENOUGH_TOKENS else None
    enough = min(ENOUGH_TOKENS, -(-asked_tokens // ENOUGH_SHARE))
    return room if enough <= room < asked_tokens else None
