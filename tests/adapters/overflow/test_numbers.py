"""The window and the size of an overflow are read where they are said exactly, and nowhere else."""

import pytest

from copyfit_adapters.overflow.numbers import token_counts
from copyfit_adapters.overflow.wording import plain


@pytest.mark.parametrize(
    ("message", "limit", "requested"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192, 9000),
        ("prompt is too long: 210,000 tokens > 200,000 maximum", 200_000, 210_000),
        ("input length and `max_tokens` exceed context limit: 199 + 8 > 200", 200, 207),
        ("Model context window is 128k tokens, you requested 256k tokens", 128_000, 256_000),
        ("size limit exceeded by 300 tokens. The limit for this model is 1000 tokens.", 1000, 1300),
        ("Range of input length should be [1, 4096]", 4096, None),
        ("`inputs` must have less than 4096 tokens. Given: 4545", 4096, 4545),
        ("The input (400013 tokens) is longer than the model's context length (262144 tokens).", 262_144, 400_013),
    ],
)
def test_both_numbers_are_read_in_tokens(message: str, limit: int | None, requested: int | None) -> None:
    assert token_counts(plain(message), {}) == (limit, requested)


@pytest.mark.parametrize(
    "message",
    [
        "maximum context length is 2048 tokens, but your prompt contains at least 2049 input tokens",
        "maximum context length is 2048 tokens. However, your prompt contains 800042 characters",
        "maximum context length is 2048 tokens. (parameter=input_tokens, value=2049)",
        "maximum context length is 2048 tokens; you requested 100 output tokens",
    ],
)
def test_lower_bounds_characters_and_output_are_no_size(message: str) -> None:
    assert token_counts(plain(message), {}) == (2048, None)


@pytest.mark.parametrize(
    "message",
    [
        "too many total text bytes: 10000002 > 9000000",
        "string too long. Expected a string with maximum length 1048576, but got a string with length 1744259",
        "the prompt is too long",
        "exceeded max context length by 119 tokens",
    ],
)
def test_a_message_without_a_count_of_tokens_gives_no_window(message: str) -> None:
    assert token_counts(plain(message), {}) == (None, None)


def test_named_numbers_win_over_the_text() -> None:
    text = "request (9 tokens) exceeds the available context size (8 tokens)"
    assert token_counts(text, {"n_ctx": 2048, "n_prompt_tokens": 3003}) == (2048, 3003)
    assert token_counts(text, {}) == (8, 9)


def test_a_size_below_the_window_is_a_misreading() -> None:
    assert token_counts("you requested 10 tokens, maximum context length is 2048", {}) == (2048, None)
