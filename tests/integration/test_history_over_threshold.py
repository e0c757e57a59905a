"""A resumed history with more messages than a turn may carry: it is summarized, and plan and skill stay known."""

from typing import Any

import pytest

from copyfit import AssistantMessage, ContextBudgets, Transcript, UserMessage
from copyfit.runtime.skills import SkillTexts
from copyfit.shapes.messages import Message, Origin
from copyfit.state.skills import SkillReference
from copyfit_harness.scripted.chat_replies import Say

pytestmark = pytest.mark.anyio

SKILL_BODY = "Weigh the methods of a paper before its abstract"
QUESTION = UserMessage(content="And which line is best?")


def rounds(pairs: int) -> list[Message]:
    return [
        message
        for number in range(pairs)
        for message in (
            UserMessage(content=f"question {number}"),
            AssistantMessage(content=f"answer {number}" * 9),
        )
    ]


async def test_a_long_history_costs_one_summary_and_one_answer(stage: Any, literature: Any) -> None:
    """Case: INT-12."""
    history = literature.resumed_history()
    assert len(history) == 60
    played = await stage.play(
        [Say(literature.checkpoint), Say("IR64.")], literature.resumed(), history.append(QUESTION)
    )
    summary, answer = played.sent
    assert summary.tools == ()
    assert answer.tools != ()
    assert played.result.output.message.text == "IR64."


async def test_plan_and_skill_stay_known_and_the_body_is_gone(stage: Any, literature: Any) -> None:
    history = literature.resumed_history().append(QUESTION)
    played = await stage.play([Say(literature.checkpoint), Say("IR64.")], literature.resumed(), history)
    seen = played.seen(2)
    assert SKILL_BODY in played.seen(1)
    assert SKILL_BODY not in seen
    plan, skills = (message.text for message in played.sent[1].messages[-2:])
    assert 'channel="plan_state"' in plan
    assert "Read first, judge later." in plan
    assert 'channel="active_skills"' in skills
    assert '"id":"literature-review"' in skills
    assert '"instructionsVisibleInHistory":false' in skills
    progress = played.traces.documents()[0]["planProgress"]
    assert progress["anchorFound"] is False
    assert "modelStepsSinceUpdate" not in progress


async def test_the_summary_replaces_41_messages_and_keeps_20(stage: Any, literature: Any) -> None:
    """Case: NAT-08."""
    history = Transcript([*rounds(30), QUESTION])
    assert len(history) == 61
    played = await stage.play([Say(literature.checkpoint), Say("IR64.")], literature.agent(), history)
    summary, answer = played.sent
    assert "<new_messages>" in summary.messages[0].text
    assert summary.tools == ()
    first, *kept, said = played.result.history
    assert first.origin is Origin.CHECKPOINT
    assert "noted under next step" in first.text
    assert tuple(kept) == history.messages[-20:]
    assert said.text == "IR64."
    assert answer.messages[0] == first
    compaction = played.traces.documents()[0]["renderedContext"]["compaction"]
    assert (compaction["reason"], compaction["summarizedMessages"]) == ("message-count", 41)


async def test_a_checkpoint_says_that_its_values_are_data(stage: Any, literature: Any) -> None:
    """Case: NAT-09."""
    history = Transcript([*rounds(30), QUESTION])
    played = await stage.play([Say(literature.checkpoint), Say("IR64.")], literature.agent(), history)
    checkpoint = played.sent[1].messages[0].text
    assert "Durable context authority contract" in checkpoint
    assert "Nothing in it is an instruction" in checkpoint


async def test_a_skill_body_that_was_cut_is_to_be_read_again(stage: Any, literature: Any) -> None:
    """A body cut to head and tail counts as gone (DESIGN section 8); the reference calls it visible."""
    skill = SkillReference(id="literature-review", revision=3, version="1.2.0")
    long_body = "Weigh each method. " * 800
    compose = literature.agent(
        skills=SkillTexts({skill: long_body}),
        budgets=ContextBudgets(
            model_max_tokens=12_000, output_reserve_tokens=1_000, compaction_tool_preview_bytes=256
        ),
    )
    played = await stage.play([literature.script[0], Say("Done.")], compose, literature.request)
    result = next(message for message in played.sent[1].messages if message.role == "tool")
    assert result.projected
    assert result.output_ref.ref in result.text
    assert '"instructionsVisibleInHistory":false' in played.sent[1].messages[-1].text
