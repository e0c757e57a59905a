import gc
from collections.abc import Sequence

from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger


class CountingEstimator:
    """Half a token a character, as the reference counts, and a count of the messages it was asked about."""

    method = "test"

    def __init__(self) -> None:
        self.asked = 0

    def count_message(self, message: Message) -> int:
        self.asked += 1
        return max(1, -(-len(message.text) // 2)) + 8

    def count_system(self, text: str) -> int:
        self.asked += 1
        return max(1, -(-len(text) // 2))

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        self.asked += 1
        return 10 * len(tools)


def exchange(number: int) -> tuple[Message, ...]:
    call = ToolCall(id=f"c{number}", name="read")
    return AssistantMessage(content=(call,)), ToolMessage(call_id=f"c{number}", content="x" * number)


def make() -> tuple[TokenLedger, CountingEstimator]:
    estimator = CountingEstimator()
    return TokenLedger(estimator), estimator


def test_a_message_is_counted_once_in_its_life() -> None:
    ledger, estimator = make()
    message = UserMessage(content="question")
    assert ledger.message(message) == ledger.message(message) == 12
    assert estimator.asked == 1


def test_an_equal_message_at_another_place_is_another_message() -> None:
    ledger, estimator = make()
    kept = [UserMessage(content="same"), UserMessage(content="same")]
    assert ledger.messages(kept) == 20
    assert estimator.asked == 2


def test_what_was_counted_does_not_keep_a_message_alive() -> None:
    ledger, _ = make()
    for number in range(100):
        ledger.message(UserMessage(content="x" * number))
    gc.collect()
    assert len(ledger._messages) == 0


def test_a_message_in_the_place_of_a_dead_one_is_counted_anew() -> None:
    ledger, _ = make()
    for number in range(200):
        assert ledger.message(UserMessage(content="x" * 2 * number)) == max(1, number) + 8


def test_a_growing_transcript_costs_its_new_messages_alone() -> None:
    ledger, estimator = make()
    history = Transcript([UserMessage(content="task")])
    total = ledger.transcript(history)
    for number in range(20):
        history = history.append(*exchange(number))
        estimator.asked = 0
        grown = ledger.transcript(history)
        assert estimator.asked == 2
        assert grown - total == ledger.messages(history.messages[-2:])
        total = grown


def test_an_earlier_transcript_and_a_branch_are_counted_right_as_well() -> None:
    ledger, _ = make()
    base = Transcript([UserMessage(content="task"), *exchange(4)])
    left, right = base.append(*exchange(10)), base.append(*exchange(40))
    totals = {name: ledger.transcript(each) for name, each in (("left", left), ("right", right), ("base", base))}
    assert totals == {
        "left": ledger.messages(left.messages),
        "right": ledger.messages(right.messages),
        "base": ledger.messages(base.messages),
    }


def test_a_replaced_message_in_the_middle_is_noticed() -> None:
    ledger, _ = make()
    messages = [UserMessage(content="task"), *exchange(400), *exchange(4)]
    assert ledger.transcript(Transcript(messages)) == ledger.messages(messages)
    messages[2] = ToolMessage(call_id="c400", content="short")
    assert ledger.transcript(Transcript(messages)) == ledger.messages(messages)


def test_an_empty_transcript_costs_nothing() -> None:
    assert make()[0].transcript(Transcript()) == 0


def test_a_step_costs_its_messages() -> None:
    ledger, _ = make()
    step = Step(exchange(10))
    assert ledger.step(step) == ledger.messages(step.messages)


def test_the_prompt_and_the_tools_are_counted_when_they_change() -> None:
    ledger, estimator = make()
    tools = (ToolSpec(name="read"),)
    for _ in range(3):
        assert (ledger.system("prompt"), ledger.tools(tools)) == (3, 10)
    assert estimator.asked == 2
    assert (ledger.system("longer prompt"), ledger.tools(())) == (7, 0)
    assert ledger.estimator is estimator
