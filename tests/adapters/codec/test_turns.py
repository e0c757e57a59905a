"""Neighbours under one role are one wire message, and reading takes them apart again."""

import json

import pytest

from copyfit.shapes.messages import AssistantMessage, Message, Origin, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit_adapters.codec.reading import Reader
from copyfit_adapters.codec.turns import AROUND, Turn, around, as_turns, last_stable, read_turn, with_names
from copyfit_adapters.codec.writing import Writer
from copyfit_adapters.errors import UnencodableInput

WRITER, READER = Writer("p"), Reader("p")
RESULT = ToolMessage(call_id="c", content="x")


def test_neighbours_are_one_but_for_those_with_fields_around_them() -> None:
    turns = [
        Turn("user", b"1"),
        Turn("user", b"2"),
        Turn("user", b""),
        Turn("user", b"3", b'{"x":1}'),
        Turn("user", b"4"),
        Turn("model", b"5"),
    ]
    assert json.loads(b"[" + b"".join(as_turns(turns, "parts")) + b"]") == [
        {"role": "user", "parts": [1, 2]},
        {"role": "user", "parts": [3], "x": 1},
        {"role": "user", "parts": [4]},
        {"role": "model", "parts": [5]},
    ]
    assert b"".join(as_turns([])) == b""


def test_fields_around_a_message_are_its_own_or_beside_those_of_its_result() -> None:
    assert around(UserMessage(content="x", extra={"p": {"a": 1}}), WRITER, "w") == b'{"a":1}'
    assert around(UserMessage(content="x", extra={"q": {"a": 1}}), WRITER, "w") == b""
    held = RESULT.model_copy(update={"extra": {"p": {"own": 1, AROUND: {"a": 1}}}})
    assert around(held, WRITER, "w") == b'{"a":1}'


@pytest.mark.parametrize("forged", [{"role": "system"}, {"content": []}], ids=str)
def test_a_role_cannot_be_forged(forged: dict[str, object]) -> None:
    with pytest.raises(UnencodableInput, match="messages"):
        around(UserMessage(content="x", extra={"p": forged}), WRITER, "messages[0]")


def test_results_and_what_stands_between_them_are_messages_of_their_own() -> None:
    said = TextPart(text="then")
    read = read_turn([RESULT, said, RESULT], {"a": 1}, READER)
    assert read == [
        RESULT.model_copy(update={"extra": {"p": {AROUND: {"a": 1}}}}),
        UserMessage(content=(said,)),
        RESULT,
    ]
    assert read_turn([], {"a": 1}, READER) == [UserMessage(content=(), extra={"p": {"a": 1}})]


def test_the_last_stable_message_is_the_last_that_says_something_before_an_invocation_local_one() -> None:
    kept = UserMessage(content="x")
    passing = UserMessage(content="x", origin=Origin.CONTRIBUTED)
    assert last_stable([kept, kept, passing, kept], [b"1", b"2", b"3", b"4"]) == 1
    assert last_stable([kept, kept], [b"1", b""]) == 0
    assert last_stable([passing], [b"1"]) is None


def test_a_result_without_a_name_gets_that_of_the_last_call_before_it() -> None:
    calls = AssistantMessage(content=(ToolCall(id="c", name="f"),))
    again = AssistantMessage(content=(ToolCall(id="c", name="g"),))
    named = with_names([RESULT, calls, RESULT, again, RESULT])
    assert [message.name for message in named if isinstance(message, ToolMessage)] == [None, "f", "g"]
    whole: list[Message] = [calls, RESULT.model_copy(update={"name": "own"})]
    assert with_names(whole) == whole
