"""A call that waits for its result is never lost, and never stops the run."""

from typing import TYPE_CHECKING

import pytest

from copyfit import AssistantMessage, TextPart, ToolCall, Transcript
from copyfit.shapes.messages import ThinkingPart

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_a_call_that_never_returns_stops_no_compaction(bench: "Bench") -> None:
    """Case: adk-7236."""
    history = [bench.user("t"), bench.asks("dead"), bench.user("status?"), *bench.steps(20, 1_000, stored=False)]
    turn = await bench.assemble(history, window=4_000, reserve=500)
    assert turn.abandoned_calls == ("dead",)
    assert turn.compaction.summarized_messages > 0
    assert turn.estimated_tokens <= 3_500


async def test_a_forced_pass_leaves_the_call_that_waits(bench: "Bench") -> None:
    """Case: openai-agents-2317."""
    history = Transcript([bench.user("q"), bench.asks("f")])
    forced = await bench.assemble(history, forced=True)
    assert forced.history == history
    sent = (await bench.assemble(forced.history.append(bench.result("f", "o")))).model_input.messages
    assert [message.text for message in sent] == ["q", "", "o"]


def reasoned(call_id: str, signature: str) -> AssistantMessage:
    return AssistantMessage(
        content=(
            ThinkingPart(text="a plan", signature=signature, provider="anthropic-messages"),
            ToolCall(id=call_id, name="tool", extra={"gemini": {"thoughtSignature": f"T-{signature}"}}),
        )
    )


async def test_reasoning_goes_back_unchanged_or_goes_with_its_message(bench: "Bench") -> None:
    """Case: claude-code-12362, gptel-1146."""
    history = [
        bench.user("t"),
        reasoned("a", "SIG1"),
        bench.result("a", "x" * 8_000),
        reasoned("b", "SIG2"),
        bench.result("b", "y" * 8_000),
        reasoned("c", "SIG3"),
        bench.result("c", "z"),
    ]
    turn = await bench.assemble(history, window=10_000, forced=True)
    assert turn.compaction.summarized_messages == 2
    assert turn.model_input.messages[-4:] == tuple(history[-4:])
    assert [message.role for message in turn.model_input.messages[:-4]] == ["user", "user"]
    assert not any("SIG" in request.prompt for request in bench.requests)


@pytest.mark.parametrize("window", [120, 200, 400, 5_000])
async def test_an_assistant_message_is_sent_whole_or_not_at_all(bench: "Bench", window: int) -> None:
    """Case: vercel-ai-13435, openai-agents-js-1280."""
    thought = reasoned("a", "SIG")
    spoken = AssistantMessage(content=(TextPart(text="fine " * 40),))
    history = [bench.user("check"), thought, bench.result("a", "ok " * 100, stored=True), spoken, bench.user("go")]
    for given in (history, [*history[:2], *history[3:]]):
        turn = await bench.assemble(given, window=window, forced=window < 1_000)
        assert bench.paired(turn.model_input.messages)
        for message in turn.model_input.messages:
            assert message.role != "assistant" or message in (thought, spoken)
