import pytest

from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.transcript import Transcript
from copyfit.state.skills import SkillBodies, SkillReference, SkillShelf


def reading(call_id: str, skill: str) -> AssistantMessage:
    return AssistantMessage(
        content=(ToolCall(id=call_id, name="read_skill", arguments=f'{{"skillId":"{skill}"}}'),)
    )


def visible(*messages: Message) -> frozenset[str]:
    return SkillBodies().visible(Transcript(messages).steps)


def test_a_body_in_the_history_is_visible() -> None:
    assert visible(reading("a", "review"), ToolMessage(call_id="a", name="read_skill", content="the body")) == {
        "review"
    }


def test_a_result_without_a_tool_name_is_known_by_its_call() -> None:
    assert visible(reading("a", "review"), ToolMessage(call_id="a", content="the body")) == {"review"}


@pytest.mark.parametrize(
    "result",
    [
        ToolMessage(call_id="a", name="read_skill", content="head … tail", projected=True),
        ToolMessage(call_id="a", name="read_skill", content="no such skill", is_error=True),
        ToolMessage(call_id="a", name="read_skill", content='{"ok":false}'),
    ],
)
def test_a_projected_or_failed_body_is_not_visible(result: ToolMessage) -> None:
    assert visible(reading("a", "review"), result) == frozenset()


def test_a_summarized_body_is_not_visible() -> None:
    assert visible(UserMessage(content="summary that names review")) == frozenset()


def test_reading_again_makes_a_projected_skill_visible() -> None:
    assert visible(
        reading("a", "review"),
        ToolMessage(call_id="a", content="head … tail", projected=True),
        reading("b", "review"),
        ToolMessage(call_id="b", content="the body"),
    ) == {"review"}


def test_a_pending_call_shows_nothing_until_its_result_comes() -> None:
    bodies = SkillBodies()
    asked = Transcript([UserMessage(content="go"), reading("a", "review")])
    assert bodies.visible(asked.steps) == frozenset()
    assert bodies.visible(asked.append(ToolMessage(call_id="a", content="the body")).steps) == {"review"}


def test_the_shelf_lists_selected_skills_by_id() -> None:
    shelf = SkillShelf([SkillReference(id="b"), SkillReference(id="a")])
    assert [skill.id for skill in shelf.selected] == ["a", "b"]
    assert shelf.read() == ()
