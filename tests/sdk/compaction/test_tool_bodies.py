from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.tool_bodies import Projection, project_body, project_tool_bodies
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OutputRef,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger

REF = "tool-output-abcdef12"


class LengthEstimator:
    """A token a character, and one more a message."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


class FlatEstimator(LengthEstimator):
    """Every message costs the same."""

    def count_message(self, message: Message) -> int:
        return 7


def stored(content: str, *, call_id: str = "c", ref: str = REF) -> ToolMessage:
    size = OutputRef(ref=ref, bytes=len(content.encode()), lines=1, tool_name="read")
    return ToolMessage(call_id=call_id, name="read", content=content, output_ref=size)


def pair(number: int, content: str) -> list[Message]:
    call_id = f"call-{number}"
    calls = (ToolCall(id=call_id, name="read"),)
    return [AssistantMessage(content=calls), stored(content, call_id=call_id, ref=f"tool-output-{number:x}")]


def three_pairs() -> Transcript:
    body = "x" * 5_000
    return Transcript([UserMessage(content="task"), *pair(1, body), *pair(2, body), *pair(3, body)])


def project(history: Transcript, *, target: int, preview: int = 256) -> Projection:
    return project_tool_bodies(
        history, ledger=TokenLedger(LengthEstimator()), target=target, preview_bytes=preview
    )


def previews(message: ToolMessage | None) -> tuple[str, str]:
    assert message is not None
    head, tail = message.text.split("\n[head preview]\n")[1].split("\n[tail preview]\n")
    return head, tail


def test_old_bodies_are_cut_in_order_until_the_target_is_met() -> None:
    """Case: HCP-23."""
    done = project(three_pairs(), target=6_000)
    assert done.refs == ("tool-output-1", "tool-output-2")
    assert done.tokens <= 6_000
    assert done.tokens == TokenLedger(LengthEstimator()).transcript(done.history)
    assert [message.projected for message in done.history if isinstance(message, ToolMessage)] == [
        True,
        True,
        False,
    ]


def test_the_newest_body_is_cut_last() -> None:
    """Case: HCP-24."""
    done = project(three_pairs(), target=1_500)
    assert done.refs == ("tool-output-1", "tool-output-2", "tool-output-3")
    assert project(three_pairs(), target=11_000).refs == ("tool-output-1",)


def test_a_history_within_the_target_is_returned_as_it_is() -> None:
    history = three_pairs()
    assert project(history, target=100_000).history is history


def test_call_id_name_and_ref_stay_and_the_body_names_the_ref() -> None:
    body = "".join(f"row {number}\n" for number in range(1_000))
    cut = project_body(stored(body, call_id="call-1"), preview_bytes=256)
    assert cut is not None
    assert (cut.call_id, cut.name, cut.projected) == ("call-1", "read", True)
    assert cut.output_ref == stored(body).output_ref
    assert f"\nref={REF}; " in cut.text
    assert "read_tool_output" in cut.text
    head, tail = previews(cut)
    assert body.startswith(head)
    assert body.endswith(tail)


@pytest.mark.parametrize(
    ("character", "count", "preview", "head", "tail"),
    [
        ("科", 5_000, 256, 55, 30),
        ("😀", 1_000, 300, 48, 26),
        ("x", 5_000, 10, 166, 90),
        ("x", 9_000, 2_048, 1_331, 717),
    ],
)
def test_head_and_tail_share_the_preview_between_code_points(
    character: str, count: int, preview: int, head: int, tail: int
) -> None:
    """Case: HCP-25, HCP-26, HCP-27."""
    cut = project_body(stored(character * count), preview_bytes=preview)
    assert previews(cut) == (character * head, character * tail)


def test_a_body_that_would_not_shrink_is_left_alone() -> None:
    assert project_body(stored("x" * 640), preview_bytes=2_048) is None
    assert project_body(stored(""), preview_bytes=256) is None


def test_a_body_that_would_not_cost_less_is_left_alone() -> None:
    history = three_pairs()
    done = project_tool_bodies(
        history,
        ledger=TokenLedger(FlatEstimator()),
        target=1,
        preview_bytes=256,
    )
    assert done.history is history


def test_a_cut_body_is_never_cut_again() -> None:
    cut = project_body(stored("x" * 9_000), preview_bytes=2_048)
    assert cut is not None
    assert project_body(cut, preview_bytes=256) is None
    once = project(three_pairs(), target=1)
    assert project(once.history, target=1).history is once.history


def test_a_result_without_a_stored_output_is_never_touched() -> None:
    """Case: HCP-22."""
    text = f'see ref "{REF}" ' + "x" * 9_000
    calls = (ToolCall(id="c", name="read"),)
    history = Transcript([AssistantMessage(content=calls), ToolMessage(call_id="c", content=text)])
    assert project(history, target=1).history is history


def test_results_of_an_open_step_are_never_touched() -> None:
    calls = (ToolCall(id="a", name="read"), ToolCall(id="b", name="read"))
    history = Transcript([AssistantMessage(content=calls), stored("x" * 9_000, call_id="a")])
    assert project(history, target=1).history is history


def test_an_image_of_a_result_stays_for_the_store_keeps_only_text() -> None:
    image = ImagePart(data="QUJD", media_type="image/png")
    message = stored("").model_copy(update={"content": (TextPart(text="x" * 9_000), image)})
    cut = project_body(message, preview_bytes=256)
    assert cut is not None
    assert cut.content[1:] == (image,)


BODIES = st.lists(st.text(alphabet="ab科😀\n", max_size=30).map(lambda text: text * 60), min_size=1, max_size=6)


@given(bodies=BODIES, target=st.integers(1, 8_000))
def test_cutting_only_shrinks_and_changes_nothing_else(bodies: list[str], target: int) -> None:
    messages: list[Message] = [UserMessage(content="task")]
    for number, body in enumerate(bodies):
        messages += pair(number, body)
    history = Transcript(messages)
    done = project(history, target=target)
    ledger = TokenLedger(LengthEstimator())
    assert done.tokens == ledger.transcript(done.history) <= ledger.transcript(history)
    assert [len(step.messages) for step in done.history.steps] == [len(step.messages) for step in history.steps]
    for before, after in zip(history, done.history, strict=True):
        if after is before:
            continue
        assert isinstance(before, ToolMessage)
        assert isinstance(after, ToolMessage)
        assert len(after.text.encode()) < len(before.text.encode())
        assert after.model_copy(update={"content": before.content, "projected": False}) == before
    again = project(done.history, target=target)
    assert again.history == done.history
    assert done.history == project(history, target=target).history
