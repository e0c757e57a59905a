from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.running import RunningFact
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript


def texts(fact: tuple[str, ...], index: int, step: Step) -> tuple[str, ...]:
    return (*fact, f"{index}:{'+'.join(message.text for message in step.messages)}")


def anew(transcript: Transcript) -> tuple[str, ...]:
    fresh: RunningFact[Step, tuple[str, ...]] = RunningFact((), texts)
    return fresh.of(transcript.steps)


user = st.builds(UserMessage, content=st.sampled_from("ab"))
calling = st.just(AssistantMessage(content=(ToolCall(id="c", name="t"),)))
answering = st.builds(ToolMessage, call_id=st.just("c"), content=st.sampled_from("xy"))
pieces = st.lists(user | calling | answering, max_size=4)


@given(st.lists(st.tuples(st.booleans(), pieces), max_size=8))
def test_a_fact_kept_along_is_the_fact_made_anew(turns: list[tuple[bool, list[Message]]]) -> None:
    running: RunningFact[Step, tuple[str, ...]] = RunningFact((), texts)
    transcript = Transcript()
    for restart, messages in turns:
        transcript = Transcript(messages) if restart else transcript.append(*messages)
        assert running.of(transcript.steps) == anew(transcript)


def test_a_growing_history_is_looked_at_once() -> None:
    looked: list[int] = []

    def note(fact: int, index: int, step: Step) -> int:
        looked.append(index)
        return fact + 1

    running = RunningFact(0, note)
    transcript = Transcript(UserMessage(content=str(number)) for number in range(100))
    assert running.of(transcript.steps) == 100
    looked.clear()
    assert running.of(transcript.append(UserMessage(content="new")).steps) == 101
    assert looked == [99, 100]


def test_a_visible_part_is_followed_beside_the_whole_history() -> None:
    looked: list[int] = []

    def note(fact: int, index: int, step: Step) -> int:
        looked.append(index)
        return fact + 1

    running = RunningFact(0, note)
    transcript = Transcript(UserMessage(content=str(number)) for number in range(100))
    running.of(transcript.steps)
    running.of(Transcript(transcript[90:]).steps)
    looked.clear()
    running.of(transcript.steps)
    assert looked == [99]
