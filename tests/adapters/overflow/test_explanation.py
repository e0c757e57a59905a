"""The explanation names the rule, the words that made it fit, and the numbers; it gives away no key."""

import pytest

from copyfit_adapters.overflow import explain


def test_it_names_the_rule_the_words_and_the_numbers() -> None:
    said = explain("prompt is too long: 210000 tokens > 200000 maximum", status=400)
    for part in ("context_overflow", "too-long", '"prompt is too long"', "210,000", "200,000", "Anthropic"):
        assert part in said


@pytest.mark.parametrize(
    ("error", "known", "part"),
    [
        ('{"error":{"code":"context_length_exceeded"}}', {}, "its machine word is context_length_exceeded"),
        ('{"error":{"type":"context_exceeded"}}', {}, "its machine word is context_exceeded"),
        ("", {"status": 429}, "its status is 429"),
        ("", {"status": 400, "provider": "cerebras"}, "its provider is cerebras"),
        ("no", {"status": 400}, "No rule fits its words; its HTTP status is 400"),
        ("no", {}, "it has no HTTP status"),
        ('{"choices":[{"finish_reason":"length"}]}', {}, "stopped-by-output-cap"),
        ('{"choices":[{"finish_reason":"stop"}]}', {}, "The window is not known"),
        (
            '{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}',
            {"window_tokens": 9},
            "nothing wrong",
        ),
        (
            "maximum context length is 9 tokens. However, you requested 4 output tokens and your prompt contains "
            "at least 6 input tokens",
            {},
            "at least 10 tokens were asked for and the limit is 9",
        ),
    ],
)
def test_it_says_what_decided(error: str, known: dict[str, int], part: str) -> None:
    assert part in explain(error, **known)  # type: ignore[arg-type]


def test_a_key_in_the_message_is_masked() -> None:
    said = explain("invalid api key sk-abcdefghijklmnop1234 is wrong", status=400)
    assert "auth" in said
    assert "abcdefghijkl" not in said
