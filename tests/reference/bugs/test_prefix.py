"""What a provider has cached stays the beginning of the next input for as long as it can."""

from typing import TYPE_CHECKING

import pytest

from copyfit import ToolSpec, Transcript
from copyfit.shapes.messages import Message

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_a_small_history_in_a_large_window_stays_as_it_is(bench: "Bench") -> None:
    history = [bench.user("t"), *bench.steps(12, 2_000)]
    turn = await bench.assemble(history, window=1_000_000, reserve=8_000)
    assert turn.model_input.messages == tuple(history)
    assert bench.requests == []


async def test_the_prefix_that_a_provider_has_cached_breaks_rarely(bench: "Bench") -> None:
    """Case: cloudflare-agents-2200."""
    history, sent, breaks = Transcript([bench.user("t")]), list[Message](), 0
    for number in range(40):
        history = history.append(bench.asks(f"n{number}"), bench.result(f"n{number}", "u" * 3_000, stored=True))
        turn = await bench.assemble(history, window=60_000, reserve=2_000)
        breaks += list(turn.model_input.messages[: len(sent)]) != sent
        history, sent = turn.history, list(turn.model_input.messages)
    assert breaks <= 5


async def test_tools_and_reasoning_go_out_as_they_were_given(bench: "Bench") -> None:
    tools = tuple(ToolSpec(name=name, description="d") for name in "bac")
    history = Transcript([bench.user("t"), bench.said("r"), bench.user("u")])
    first = (await bench.assemble(history, tools=tools)).model_input
    second = (await bench.assemble(history.append(bench.said("z"), bench.user("v")), tools=tools)).model_input
    assert first.tools == second.tools == tools
    assert second.messages[:3] == first.messages[:3]
