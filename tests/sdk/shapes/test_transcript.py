import pickle

from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.landmarks import Landmarks
from copyfit.shapes.messages import (
    AssistantMessage,
    Message,
    Origin,
    OutputRef,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.steps import split_steps
from copyfit.shapes.transcript import Transcript

CHECKPOINT = UserMessage(content="so far", origin=Origin.CHECKPOINT)


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id=each, name="read") for each in ids))


def answer(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=call_id, content="found")


def stored(call_id: str) -> ToolMessage:
    ref = OutputRef(ref="tool-output-1", bytes=9, lines=1, tool_name="read")
    return ToolMessage(call_id=call_id, content="the whole", output_ref=ref)


def said(text: str) -> UserMessage:
    return UserMessage(content=text)


message = st.one_of(
    st.builds(said, st.sampled_from("ab")),
    st.just(CHECKPOINT),
    st.builds(AssistantMessage, content=st.just("well")),
    st.builds(asks, st.sampled_from("xy"), st.sampled_from("zw")),
    st.builds(answer, st.sampled_from("xyzw")),
    st.builds(stored, st.sampled_from("xyzw")),
)
batches = st.lists(st.lists(message, max_size=4), max_size=6)


@given(batches)
def test_a_grown_transcript_is_the_one_made_at_once(turns: list[list[Message]]) -> None:
    grown = Transcript()
    for turn in turns:
        grown = grown.append(*turn)
    at_once = Transcript(each for turn in turns for each in turn)
    assert grown == at_once
    assert grown.steps == at_once.steps == split_steps(grown)
    assert grown.landmarks == at_once.landmarks == Transcript.of_steps(grown.steps).landmarks
    assert (grown.anchor, grown.checkpoint) == (at_once.anchor, at_once.checkpoint)


@given(batches, st.lists(st.tuples(st.integers(0, 20), st.lists(message, max_size=3)), max_size=6))
def test_branches_of_one_conversation_leave_each_other_alone(
    turns: list[list[Message]], branches: list[tuple[int, list[Message]]]
) -> None:
    base = [each for turn in turns for each in turn]
    made = [(Transcript(base), base)]
    for place, more in branches:
        transcript, messages = made[place % len(made)]
        made.append((transcript.append(*more), [*messages, *more]))
    for transcript, messages in made:
        assert list(transcript) == messages
        assert transcript.steps == split_steps(messages)
        assert transcript.landmarks == Transcript(messages).landmarks


def test_growing_shares_messages_and_settled_steps() -> None:
    base = Transcript([said("task"), asks("a"), answer("a")])
    grown = base.append(asks("b"), answer("b"))
    assert base.messages.shared_with(grown.messages) == len(base)
    assert base.steps.shared_with(grown.steps) == len(base.steps) - 1
    assert grown.steps[1].messages[0] is base.steps[1].messages[0]


def test_the_last_step_takes_in_a_result_that_comes_later() -> None:
    waiting = Transcript([said("task"), asks("a", "b"), answer("a")])
    done = waiting.append(answer("b"))
    assert (waiting.steps[-1].open_calls, waiting.landmarks.open) == (("b",), (1,))
    assert (done.steps[-1].open_calls, done.landmarks.open) == ((), ())


def test_landmarks_are_where_the_steps_stand() -> None:
    transcript = Transcript(
        [CHECKPOINT, said("one"), asks("a"), said("two"), answer("a"), asks("b"), answer("b"), asks("c")]
    )
    assert transcript.landmarks == Landmarks(
        requests=(1, 3), checkpoint=0, latest_user=3, open=(2, 6), strays=(4,)
    )
    assert transcript.anchor == said("two")
    assert transcript.checkpoint is CHECKPOINT


def test_a_step_whose_results_are_stored_is_a_landmark_once_it_is_closed() -> None:
    projected = stored("a").model_copy(update={"projected": True})
    transcript = Transcript([asks("a"), projected, asks("a", "b"), stored("a")])
    assert transcript.landmarks.stored == ()
    assert transcript.append(answer("b")).landmarks.stored == (1,)


def test_an_empty_transcript_has_no_landmarks() -> None:
    assert Transcript().landmarks == Landmarks()
    assert (Transcript().anchor, Transcript().checkpoint) == (None, None)


def test_a_transcript_can_be_pickled_and_goes_on() -> None:
    transcript = Transcript([said("task"), asks("a")])
    other = pickle.loads(pickle.dumps(transcript))
    assert other == transcript
    assert other.append(answer("a")).steps == transcript.append(answer("a")).steps
