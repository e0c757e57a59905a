"""Old outputs are cut to head, tail and ref: the right ones, only where it helps, and never half a character."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from copyfit import ToolMessage, Transcript
from copyfit.compaction.tool_bodies import project_body
from copyfit.shapes.messages import Message

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio


def results(messages: Sequence[Message]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


async def test_a_body_that_cannot_be_cut_does_not_stop_the_next(bench: "Bench") -> None:
    """Case: codex-18052, strands-4341."""
    history = [
        bench.user("t"),
        bench.asks("kept"),
        bench.result("kept", "a" * 400),
        bench.asks("small"),
        bench.result("small", "tiny", stored=True),
        bench.asks("huge"),
        bench.result("huge", "X" * 30_000, stored=True),
        bench.user("n"),
    ]
    turn = await bench.assemble(history, window=6_000, reserve=600)
    kept, small, huge = results(turn.model_input.messages)
    assert (kept.projected, small.projected, huge.projected) == (False, False, True)
    assert len(turn.model_input.messages) == len(history)
    assert bench.requests == []


async def test_parallel_results_that_are_too_large_together_are_cut_until_they_fit(bench: "Bench") -> None:
    """Case: deepagents-3405."""
    ids = [f"p{number}" for number in range(6)]
    batch = [bench.result(each, f"{each} " * 6_000, stored=True) for each in ids]
    turn = await bench.assemble([bench.user("compare"), bench.asks(*ids), *batch], window=20_000, reserve=2_000)
    found = results(turn.model_input.messages)
    assert [result.call_id for result in found] == ids
    assert turn.estimated_tokens <= 18_000
    assert [result.projected for result in found] == sorted((result.projected for result in found), reverse=True)


async def test_the_newest_result_is_cut_to_its_ends_rather_than_dropped(bench: "Bench") -> None:
    """Case: mastra-24110."""
    body = "first row " + "row " * 6_000 + "last row"
    history = [bench.user("rows?"), bench.asks("q"), bench.result("q", body, stored=True)]
    turn = await bench.assemble(history, window=3_000, reserve=300)
    _, call, result = turn.model_input.messages
    assert call == history[1]
    assert all(part in result.text for part in ("first row", "last row", "tool-output-"))
    assert turn.estimated_tokens <= 2_700


async def test_large_outputs_are_cut_before_any_summary_is_asked_for(bench: "Bench") -> None:
    """Case: codex-13271."""
    history = [
        bench.user("t"),
        *bench.steps(20, 10_000),
        bench.asks("big"),
        bench.result("big", "o" * 40_646, stored=True),
    ]
    turn = await bench.assemble(history, window=60_000)
    assert turn.compaction.pruned_tool_results > 0
    assert turn.estimated_tokens <= 59_999
    assert bench.requests == []


async def test_only_results_are_cut_and_requests_stay_in_their_order(bench: "Bench") -> None:
    """Case: agent-framework-4991."""
    history = []
    for city in ("London", "Paris", "Oslo"):
        history += [bench.user(f"{city}?"), bench.asks(city), bench.result(city, "cloudy " * 500, stored=True)]
        history.append(bench.said("cloudy"))
    history.append(bench.user("which is warmest?"))
    turn = await bench.assemble(history, window=2_500)
    sent = turn.model_input.messages
    assert turn.compaction.pruned_tool_results > 0
    assert [message for message in sent if message.role != "tool"] == [
        message for message in history if message.role != "tool"
    ]


async def test_a_limit_of_messages_changes_no_body(bench: "Bench") -> None:
    """Case: strands-702."""
    history = [
        bench.user("hi"),
        bench.said("hello"),
        bench.user("6?"),
        bench.asks("c"),
        bench.result("c", "56088", stored=True),
        bench.said("56088"),
    ]
    turn = await bench.assemble(history, window_messages=5)
    assert turn.model_input.messages == tuple(history[2:])


async def test_a_body_that_was_cut_stays_cut_and_the_newest_is_cut_last(bench: "Bench") -> None:
    """Case: localharness-134."""
    history = Transcript([bench.user("read six files")])
    cut: set[str] = set()
    for number in range(6):
        history = history.append(
            bench.asks(f"f{number}"), bench.result(f"f{number}", "spec line\n" * 6_000, stored=True)
        )
        turn = await bench.assemble(history, window=61_440, reserve=4_000)
        assert turn.estimated_tokens <= 57_440
        found = results(turn.model_input.messages)
        assert not found[-1].projected
        now = {result.call_id for result in found if result.projected}
        assert cut <= now
        cut, history = now, turn.history
    assert cut


@pytest.mark.parametrize("body", ["a" * 8 + "🟢" + "b" * 2_000 + "🚀" + "c" * 8, "🔬🎯✅🚀👩‍🔬" * 300])
@pytest.mark.parametrize("preview", range(256, 290))
def test_no_cut_goes_through_a_character(bench: "Bench", body: str, preview: int) -> None:
    """Case: claude-code-56064, reasonix-1976."""
    cut = project_body(bench.result("h", body, stored=True), preview_bytes=preview)
    assert cut is not None
    text = cut.text.encode().decode()
    assert "\ufffd" not in text
    head = text.split("[head preview]\n")[1].split("\n[tail preview]")[0]
    assert body.startswith(head)
    assert body.endswith(text.split("[tail preview]\n")[1])
