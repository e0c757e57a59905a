"""What a local provider can be asked to be: which model, how wide a window, how many slots, which caches."""

from dataclasses import dataclass
from enum import StrEnum

TRAINING_CONTEXT = 131_072
"""Tokens that the model file declares as its training context: no window can be wider."""

CONTEXT_STEP = 256
"""llama.cpp rounds a window up to a multiple of this many tokens, so other sizes would not be what is served."""


class ModelVariant(StrEnum):
    """Name the two models; both have the same vocabulary and answer prose when no tools are offered."""

    PLAIN = "plain"
    """Answers prose always, even when tools are offered."""

    TOOLS = "tools"
    """Answers every request that offers tools with exactly one valid tool call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProviderOptions:
    """Describe one local provider.

    `context_tokens` is the window of one request, in tokens, a multiple of 256. `slots` is how many requests run
    at once. With `shared_kv` all slots draw on one pool of `context_tokens`, so that requests that fit one by one
    can overflow together, in mid-stream. `prompt_cache` lets a request reuse the longest prefix it shares with an
    earlier one, reported as cached tokens; off, a request's usage does not depend on what ran before. `seed`
    shapes the model's random weights; sampling has a seed of its own in each request.

    Raises:
        ValueError: a number is out of its range, or `shared_kv` is asked for with a single slot.

    """

    variant: ModelVariant = ModelVariant.PLAIN
    context_tokens: int = 4096
    slots: int = 1
    shared_kv: bool = False
    prompt_cache: bool = False
    seed: int = 7

    def __post_init__(self) -> None:
        if not 0 < self.context_tokens <= TRAINING_CONTEXT or self.context_tokens % CONTEXT_STEP:
            allowed = f"a multiple of {CONTEXT_STEP} up to {TRAINING_CONTEXT}"
            raise ValueError(f"context_tokens is {self.context_tokens}: give {allowed}.")
        if self.slots < 1:
            raise ValueError(f"slots is {self.slots}: give at least 1.")
        if self.shared_kv and self.slots == 1:
            raise ValueError("shared_kv is set with one slot: give at least two slots to share the pool.")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}: give a number of at least 0.")

    @property
    def pool_tokens(self) -> int:
        """Count the tokens that the server reserves for all slots together."""
        return self.context_tokens if self.shared_kv else self.context_tokens * self.slots
