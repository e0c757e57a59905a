"""Images are no text, dense text is not four characters a token, and Chinese is not undercounted."""

from typing import TYPE_CHECKING

import pytest

from copyfit import ConservativeTokenEstimator, TextPart, ToolMessage, UserMessage
from copyfit.errors import SettingsError
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import ImagePart

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

ESTIMATOR = ConservativeTokenEstimator()
ENCODED = "iVBORw0KGgoAAAANSUhEUgAA9xQ2" * 15_000
CHINESE = "温度升高导致反应速率加快，请继续分析实验数据。"


@pytest.mark.parametrize(
    "image",
    [
        ImagePart(url=f"data:image/png;base64,{ENCODED}"),
        ImagePart(data=ENCODED, media_type="image/png"),
        ImagePart(url="https://host/a.png"),
    ],
)
def test_an_image_costs_the_same_in_every_encoding_and_never_its_characters(image: ImagePart) -> None:
    """Case: langchain-40744, langchain-39858, gemini-cli-17923."""
    asked = ESTIMATOR.count_message(UserMessage(content=(TextPart(text="look"), image)))
    shown = ESTIMATOR.count_message(ToolMessage(call_id="n", name="plot", content=(image, TextPart(text="ok"))))
    assert 1_500 <= asked <= 5_000
    assert 1_500 <= shown <= 6_000


def test_base64_in_a_text_costs_more_than_a_quarter_token_a_character() -> None:
    """Case: senpi-233."""
    cost = ESTIMATOR.count_message(ToolMessage(call_id="c", content=f"data:image/png;base64,{ENCODED}"))
    assert cost >= 0.68 * len(ENCODED)  # what o200k makes of base64


@pytest.mark.anyio
async def test_chinese_is_counted_in_full_and_its_recent_steps_are_kept(bench: "Bench") -> None:
    """Case: pi-2562."""
    assert ESTIMATOR.count_message(UserMessage(content=CHINESE)) >= 0.9 * len(CHINESE)
    history = [bench.user(CHINESE * 10)]
    for number in range(20):
        history += [bench.asks(f"z{number}"), bench.result(f"z{number}", CHINESE * 30, stored=True)]
    turn = await bench.assemble(history, window=4_000, reserve=600)
    assert turn.estimated_tokens <= 3_400
    assert turn.model_input.messages[-2:] == tuple(history[-2:])


def test_a_reserve_that_leaves_no_room_is_refused_before_any_turn() -> None:
    """Case: windmill-10928."""
    with pytest.raises(SettingsError, match="no room is left for input"):
        ContextBudgets(model_max_tokens=8_000, output_reserve_tokens=8_192)
