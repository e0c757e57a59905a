import pytest

from copyfit.errors import ContextOverflow
from copyfit.runtime.shorter_answer import shorter_answer


def shorter(
    *,
    limit: int | None = 10_000,
    requested: int | None = None,
    combined: bool = True,
    estimate: int = 9_000,
    asked: int | None = 2_000,
    window: int = 16_000,
) -> int | None:
    overflow = ContextOverflow(
        "too long", provider="p", limit_tokens=limit, requested_tokens=requested, combined=combined
    )
    return shorter_answer(overflow, window_tokens=window, estimated_input_tokens=estimate, asked_tokens=asked)


def test_the_answer_gets_what_the_input_leaves_of_the_window() -> None:
    assert shorter(requested=10_700) == 1_300


def test_the_providers_count_goes_before_the_estimate() -> None:
    assert shorter(requested=10_700, estimate=11_000) == 1_300


def test_without_the_providers_count_the_estimate_is_taken() -> None:
    assert shorter(estimate=8_800) == 1_200


def test_without_the_providers_limit_the_known_window_is_taken() -> None:
    assert shorter(limit=None, requested=16_900) == 1_100


def test_without_a_length_asked_for_at_least_256_tokens_must_be_left() -> None:
    assert shorter(asked=None, requested=10_700, estimate=9_744) == 256
    assert shorter(asked=None, requested=10_700, estimate=9_745) is None


@pytest.mark.parametrize(
    ("asked", "left", "helps"),
    [(2_000, 256, True), (2_000, 255, False), (400, 100, True), (400, 99, False), (401, 100, False)],
)
def test_a_quarter_of_the_answer_or_256_tokens_are_enough(asked: int, left: int, helps: bool) -> None:
    assert shorter(asked=asked, requested=10_000 - left + asked) == (left if helps else None)


def test_an_input_that_fills_the_window_alone_is_not_helped() -> None:
    assert shorter(requested=12_001) is None


def test_a_refusal_of_the_input_alone_is_not_helped() -> None:
    assert shorter(requested=10_700, combined=False) is None


def test_an_estimate_that_says_everything_fits_is_not_believed() -> None:
    assert shorter(estimate=3_000) is None
