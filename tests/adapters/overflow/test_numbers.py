"""The window and the size of an overflow are read where they are said exactly, and nowhere else."""

import pytest

from copyfit_adapters.overflow.numbers import cap_counts, token_counts
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
        ("Inputs cannot exceed 2048 tokens - received 6354", 2048, 6354),
        ("Prompt token count exceeds the token limit (5910 / 4095)", 4095, 5910),
        ("This model has an 8192-token context; your request has 9000 tokens", 8192, 9000),
        ("输入32000超过最大8192", 8192, 32_000),
    ],
)
def test_both_numbers_are_read_in_tokens(message: str, limit: int | None, requested: int | None) -> None:
    assert token_counts(plain(message), {})[:2] == (limit, requested)


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
    assert token_counts(plain(message), {})[:2] == (2048, None)


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
    assert token_counts(plain(message), {})[:2] == (None, None)


@pytest.mark.parametrize("status", ["status code: 400", "Error code: 400", "HTTP status 400"])
def test_the_status_that_an_exception_names_is_no_count(status: str) -> None:
    assert token_counts(plain(f"the request exceeds the context window ({status})"), {})[:2] == (None, None)


def test_named_numbers_win_over_the_text() -> None:
    text = "request (9 tokens) exceeds the available context size (8 tokens)"
    assert token_counts(text, {"n_ctx": 2048, "n_prompt_tokens": 3003})[:2] == (2048, 3003)
    assert token_counts(text, {})[:2] == (8, 9)


def test_a_size_below_the_window_is_a_misreading() -> None:
    assert token_counts("you requested 10 tokens, maximum context length is 2048", {})[:2] == (2048, None)


def test_a_sum_with_a_lower_bound_is_one() -> None:
    text = (
        "maximum context length is 100 tokens. However, you requested 60 output tokens and your prompt contains "
        "at least 41 input tokens"
    )
    assert token_counts(text, {}) == (100, 101, True)


@pytest.mark.parametrize(
    ("message", "limit", "requested"),
    [
        ("max_tokens: 128001 > 64000, which is the maximum allowed", 64_000, 128_001),
        ("max_tokens (90,000) cannot exceed 8,192", 8192, 90_000),
        ("max_output_tokens range is [1, 4096]", 4096, None),
        ("max_tokens should be less than or equal to 12288.0", 12_288, None),
        ("integer above maximum value, expected a value <= 12288, but got 32000 instead", 12_288, 32_000),
        ("tokens per min (TPM): Limit 30000, Requested 31538", 30_000, 31_538),
        ("rate limit of 80,000 input tokens per minute", 80_000, None),
        ("max_tokens 不能超过 8192", 8192, None),
        ("max_tokens is too large", None, None),
    ],
)
def test_a_cap_and_a_rate_are_read_as_well(message: str, limit: int | None, requested: int | None) -> None:
    assert cap_counts(plain(message))[:2] == (limit, requested)


@pytest.mark.parametrize(
    ("message", "limit", "requested"),
    [
        ("该模型最大支持 32768 个 token，当前请求 40000 个", 32_768, 40_000),
        ("提示词长度不能超过 8000 个 token", 8000, None),
        ("请求内容超出模型最大上下文长度 8192", 8192, None),
    ],
)
def test_numbers_are_read_in_chinese(message: str, limit: int | None, requested: int | None) -> None:
    assert token_counts(plain(message), {})[:2] == (limit, requested)
