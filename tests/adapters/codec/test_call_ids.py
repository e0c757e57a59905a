"""An id that an API refuses becomes one that it takes, the same for a call and its result."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import AssistantMessage, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.call_ids import call_ids_rewritten, sendable_id

ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IDS = st.text(st.characters(exclude_categories=()), max_size=70)


@given(IDS)
def test_every_id_becomes_one_that_is_allowed_and_stays_that(call_id: str) -> None:
    made = sendable_id(call_id, ALLOWED)
    assert ALLOWED.fullmatch(made)
    assert sendable_id(made, ALLOWED) == made


@pytest.mark.parametrize("call_id", ["toolu_01A", "call-1", "x" * 64])
def test_an_allowed_id_stays(call_id: str) -> None:
    assert sendable_id(call_id, ALLOWED) == call_id


def test_ids_that_differ_in_what_is_not_allowed_stay_apart() -> None:
    ids = ["functions.read:0", "functions_read:0", "functions.read:1", "", "読", "x" * 65, "x" * 66]
    assert len({sendable_id(call_id, ALLOWED) for call_id in ids}) == len(ids)


def test_two_halves_of_a_character_are_that_character() -> None:
    assert sendable_id("\ud83d\ude00", ALLOWED) == sendable_id("\U0001f600", ALLOWED)


def test_the_loss_rewrites_the_call_and_its_result_and_nothing_else() -> None:
    loss = call_ids_rewritten(lambda call_id: sendable_id(call_id, ALLOWED), reason="it is refused")
    made = sendable_id("a.b", ALLOWED)
    before, after = (
        ModelInput(
            "a.b",
            (
                UserMessage(content="a.b"),
                AssistantMessage(content=(TextPart(text="a.b"), ToolCall(id=call_id, name="a.b"))),
                ToolMessage(call_id=call_id, content="a.b"),
            ),
        ).as_data()
        for call_id in ("a.b", made)
    )
    assert loss.rewrite(before) == after
    assert loss.rewrite(after) == after
