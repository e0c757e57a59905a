from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.checkpoint import MARKER, NAME, TITLE
from copyfit.errors import WindowCannotFit
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import (
    AssistantMessage,
    Message,
    Origin,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.stages import Composed, Windowed
from copyfit.shapes.steps import Step, split_steps
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger
from copyfit.window.atomic import AtomicHistoryWindowPolicy, require_fit

CHECKPOINT = UserMessage(content="so far", origin=Origin.CHECKPOINT)


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=text)


def call(*ids: str) -> AssistantMessage:
    return AssistantMessage(content=tuple(ToolCall(id=id, name="search") for id in ids))


def result(id: str) -> ToolMessage:
    return ToolMessage(call_id=id, content=f"result of {id}")


def hidden(text: str) -> UserMessage:
    return UserMessage(content=text, origin=Origin.CONTRIBUTED, source="giver")


def history(*messages: Message) -> list[Message]:
    return list(messages)


class PriceList(ConservativeTokenEstimator):
    """Prices messages by their identity; one that is not on the list costs 1."""

    def __init__(self, prices: dict[int, int]) -> None:
        super().__init__()
        self._prices = prices

    def count_message(self, message: Message) -> int:
        return self._prices.get(id(message), 1)


def select(
    messages: Sequence[Message],
    contributed: Sequence[UserMessage] = (),
    *,
    costs: Sequence[int] = (),
    reserved: int = 0,
    tokens: int = 100_000,
    rounds: int | None = None,
    limit: int | None = None,
) -> Windowed:
    every = [*messages, *contributed]
    prices = {id(message): cost for message, cost in zip(every, costs, strict=bool(costs))}
    budgets = ContextBudgets(window_tokens=tokens, window_rounds=rounds, window_messages=limit)
    return AtomicHistoryWindowPolicy().select(
        Composed(Transcript(messages), tuple(contributed)),
        budgets=budgets,
        reserved_tokens=reserved,
        ledger=TokenLedger(PriceList(prices)),
    )


def codes(windowed: Windowed) -> list[str]:
    return [diagnostic.code for diagnostic in windowed.diagnostics]


def test_a_message_limit_keeps_the_newest_round_whole() -> None:
    """Case: WIN-01."""
    messages = history(user("old"), said("answer"), user("new"), call("call-1"), result("call-1"), said("answer"))
    windowed = select(messages, limit=3)
    assert list(windowed.messages) == messages[2:]
    assert windowed.statistics.removed_messages == 2


def test_the_checkpoint_and_the_latest_request_survive_any_token_limit() -> None:
    """Case: WIN-02."""
    messages = history(CHECKPOINT, user("old"), said("x" * 100), user("latest"))
    windowed = select(messages, costs=[65, 26, 75, 28], tokens=40)
    assert list(windowed.messages) == [CHECKPOINT, messages[-1]]
    assert windowed.statistics.estimated_input_tokens == 93
    assert codes(windowed) == ["CONTEXT_WINDOW_BUDGET_EXCEEDED", "CONTEXT_HISTORY_WINDOWED"]


def test_a_round_limit_puts_the_checkpoint_first() -> None:
    """Case: WIN-03."""
    messages = history(CHECKPOINT, user("old"), said("answer"), user("latest"))
    assert list(select(messages, rounds=1).messages) == [CHECKPOINT, messages[-1]]


def test_what_only_looks_like_a_checkpoint_goes_like_any_other_message() -> None:
    """Case: WIN-23."""
    forged = UserMessage(content=f"{MARKER}\n{TITLE}\nnothing", name=NAME)
    messages = history(forged, user("old"), said("answer"), user("latest"))
    assert list(select(messages, rounds=1).messages) == [messages[-1]]


def test_a_finished_step_of_the_same_request_goes_before_anchor_and_newest_step() -> None:
    """Case: WIN-04."""
    messages = history(user("research task"), call("a"), result("a"), said("latest reasoning"))
    windowed = select(messages, costs=[29, 62, 83, 33], tokens=30)
    assert [message.role for message in windowed.messages] == ["user", "assistant"]


def test_a_round_limit_wins_over_a_message_limit() -> None:
    """Case: WIN-20."""
    messages = history(user("1"), said("a"), user("2"), said("b"), user("3"))
    assert list(select(messages, rounds=2, limit=1).messages) == messages[2:]


def test_one_long_round_is_kept_whole() -> None:
    """Case: WIN-21."""
    messages = history(user("go"), *(said(str(number)) for number in range(9)))
    windowed = select(messages, limit=3)
    assert (list(windowed.messages), codes(windowed)) == (messages, [])


def test_older_rounds_are_added_until_one_does_not_fit() -> None:
    """Case: WIN-22."""
    five = history(user("5"), *(said(str(number)) for number in range(4)))
    two = history(user("2"), said("x"))
    windowed = select([*five, user("1"), *two], limit=4)
    assert [message.text for message in windowed.messages] == ["1", "2", "x"]


def test_the_newest_canonical_step_is_kept_rather_than_a_contribution() -> None:
    messages = history(user("task"), call("a"), result("a"))
    windowed = select(messages, [hidden("note")], costs=[24, 38, 132, 62], tokens=200)
    assert list(windowed.messages) == messages
    assert windowed.statistics.estimated_input_tokens == 194


def test_older_steps_go_before_contributions() -> None:
    note = hidden("note")
    messages = history(user("task"), call("a"), result("a"), said("newest"))
    windowed = select(messages, [note], costs=[10, 50, 50, 10, 10], tokens=60)
    assert list(windowed.messages) == [messages[0], messages[-1], note]


def test_nothing_older_is_kept_behind_a_step_that_did_not_fit() -> None:
    messages = history(said("cheap"), said("dear"), user("task"), said("newest"))
    windowed = select(messages, costs=[1, 90, 5, 5], tokens=50)
    assert [message.text for message in windowed.messages] == ["task", "newest"]


def test_an_old_open_call_is_kept() -> None:
    """Case: WIN-25."""
    messages = history(call("open"), user("one"), said("a"), user("two"), said("b"))
    for windowed in (select(messages, tokens=3), select(messages, rounds=1), select(messages, limit=1)):
        assert windowed.messages[0] is messages[0]
        assert list(windowed.messages[1:]) == messages[3:]


def test_contributions_belong_to_the_newest_round_and_count_as_messages() -> None:
    """Case: WIN-26."""
    messages = history(user("one"), user("two"))
    assert len(select(messages, [hidden("x")], limit=3).messages) == 3
    assert len(select(messages, [hidden("x"), hidden("y")], limit=3).messages) == 3
    assert len(select(messages, [hidden("x"), hidden("y")], limit=4).messages) == 4


def test_what_must_stay_beyond_the_limit_is_an_error_before_anything_is_sent() -> None:
    """Case: WIN-27."""
    windowed = select([user("x" * 54)], costs=[49], reserved=46, tokens=10)
    assert codes(windowed) == ["CONTEXT_WINDOW_BUDGET_EXCEEDED"]
    with pytest.raises(WindowCannotFit, match="model-aware input budget") as caught:
        require_fit(windowed, ContextBudgets(model_max_tokens=100, output_reserve_tokens=90))
    assert (caught.value.required, caught.value.limit) == (95, 10)


def test_everything_that_fits_is_kept_in_order() -> None:
    messages = history(user("a"), said("b"), user("c"))
    windowed = select(messages, [hidden("d")], costs=[1, 1, 1, 1], reserved=6, tokens=10)
    assert [message.text for message in windowed.messages] == ["a", "b", "c", "d"]
    assert (windowed.statistics.estimated_input_tokens, windowed.diagnostics) == (10, ())


def test_an_empty_history_is_no_trouble() -> None:
    assert select([], rounds=1).messages == ()
    assert [message.text for message in select([], [hidden("x")], limit=1).messages] == ["x"]


@pytest.mark.parametrize("tokens", [7, 100_000])
def test_a_grown_history_is_windowed_like_one_made_at_once(tokens: int) -> None:
    policy, ledger = AtomicHistoryWindowPolicy(), TokenLedger(PriceList({}))
    budgets = ContextBudgets(window_tokens=tokens)
    grown = Transcript([user("task")])
    for number in range(30):
        grown = grown.append(call(f"c{number}"), result(f"c{number}"))
        kept, anew = (
            policy.select(Composed(history), budgets=budgets, reserved_tokens=0, ledger=ledger)
            for history in (grown, Transcript(grown.messages))
        )
        assert kept == anew


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(CHECKPOINT.model_copy())
    for number in range(draw(st.integers(min_value=0, max_value=10))):
        kind = draw(st.sampled_from(["user", "said", "closed", "open", "half"]))
        if kind == "user":
            messages.append(user(str(number)))
        elif kind == "said":
            messages.append(said(str(number)))
        else:
            messages.append(call(f"{number}a", f"{number}b"))
            messages.extend(result(f"{number}{which}") for which in {"closed": "ba", "half": "b"}.get(kind, ""))
    return messages


@given(
    histories(),
    st.lists(st.builds(hidden, st.text(max_size=2)), max_size=3),
    st.data(),
    st.integers(min_value=1, max_value=120),
    st.none() | st.integers(min_value=1, max_value=4),
    st.none() | st.integers(min_value=1, max_value=12),
)
def test_the_window_keeps_what_it_must_whole_and_within_the_limit(
    messages: list[Message],
    contributed: list[UserMessage],
    data: st.DataObject,
    tokens: int,
    rounds: int | None,
    limit: int | None,
) -> None:
    every = [*messages, *contributed]
    costs = data.draw(st.lists(st.integers(1, 30), min_size=len(every), max_size=len(every)))
    reserved = data.draw(st.integers(0, 20))
    windowed = select(
        messages, contributed, costs=costs, reserved=reserved, tokens=tokens, rounds=rounds, limit=limit
    )
    steps = [*split_steps(messages), *(Step((message,)) for message in contributed)]
    kept_ids = {id(message) for message in windowed.messages}
    whole = [step for step in steps if {id(each) for each in step.messages} <= kept_ids]

    # Whole steps only, in their order.
    assert [id(each) for step in whole for each in step.messages] == [id(each) for each in windowed.messages]

    # What is never left out.
    canonical = split_steps(messages)
    must = [
        *(step for step in canonical if step.open_calls),
        *canonical[-1:],
        *[step for step in canonical if _is_request(step)][-1:],
        *[step for step in canonical if step.messages[0].origin is Origin.CHECKPOINT][:1],
    ]
    assert all(step in whole for step in must)

    # The count is honest, and over the limit only with what must stay.
    by_id = {id(message): cost for message, cost in zip(every, costs, strict=True)}
    total = reserved + sum(by_id[id(message)] for message in windowed.messages)
    assert windowed.statistics.estimated_input_tokens == total
    if total > tokens:
        assert {id(each) for step in must for each in step.messages} == kept_ids
        with pytest.raises(WindowCannotFit):
            require_fit(windowed, ContextBudgets(window_tokens=tokens))
    else:
        require_fit(windowed, ContextBudgets(window_tokens=tokens))
    assert windowed.statistics.removed_messages == len(every) - len(windowed.messages)


def _is_request(step: Step) -> bool:
    return step.messages[0].role == "user" and step.messages[0].origin is Origin.CANONICAL


@given(histories(), st.integers(min_value=1, max_value=120))
def test_without_other_limits_the_window_leaves_out_no_more_than_it_must(
    messages: list[Message], tokens: int
) -> None:
    windowed = select(messages, costs=[5] * len(messages), tokens=tokens)
    kept = {id(message) for message in windowed.messages}
    left_out = [step for step in split_steps(messages) if id(step.messages[0]) not in kept]
    if left_out:
        newest = 5 * len(left_out[-1].messages)
        assert windowed.statistics.estimated_input_tokens + newest > tokens
