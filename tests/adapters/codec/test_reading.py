"""A field that the shapes can hold is taken, anything else stays, and what must be there is demanded."""

from typing import Any

import pytest

from copyfit_adapters.codec.reading import (
    Reader,
    boolean,
    given_fields,
    integer,
    pop_text,
    positive,
    real,
    split_system,
    system_text,
    take,
    text_or_texts,
    texts,
)
from copyfit_adapters.errors import UnreadableRequest

READER = Reader("p")


@pytest.mark.parametrize(
    ("body", "where"),
    [(b"\xff", "the body"), (b"{", "the body"), (b'{"a": NaN}', "the body"), (b"[1]", r"\$"), (b"7", r"\$")],
    ids=["bytes", "cut", "nan", "list", "number"],
)
def test_a_body_that_is_no_object_is_told_as_the_protocol_s(body: bytes, where: str) -> None:
    with pytest.raises(UnreadableRequest, match=f"This p request cannot be read back: {where}"):
        READER.request(body)


def test_what_must_be_there_is_told_by_its_path() -> None:
    for read in (READER.object, READER.list, READER.text):
        with pytest.raises(UnreadableRequest) as caught:
            read(7, "$.messages[3]")
        assert caught.value.where == "$.messages[3]"


@pytest.mark.parametrize(
    ("read", "takes", "leaves"),
    [
        (positive, [(1, 1)], [0, -1, True, 1.0, "1", None]),
        (integer, [(0, 0), (-1, -1)], [True, 1.0, "1"]),
        (real, [(1, 1.0), (0.5, 0.5), (2**53, 2.0**53)], [True, 2**53 + 1, "1"]),
        (boolean, [(True, True), (False, False)], [0, "true", None]),
        (texts, [([], ()), (["a"], ("a",))], ["a", [1], None]),
        (text_or_texts, [("a", ("a",)), (["a", "b"], ("a", "b"))], [1, [1]]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_value_is_taken_as_it_is_or_left(read: Any, takes: list[tuple[Any, Any]], leaves: list[Any]) -> None:
    for value, taken in takes:
        assert read(value) == taken
        assert type(read(value)) is type(taken)
    assert [read(value) for value in leaves] == [None] * len(leaves)


def test_settings_are_taken_out_and_the_rest_stays() -> None:
    fields = given_fields({"model": "m", "t": 1, "n": None, "x": None}, {"model"}, {"t", "n"})
    assert fields == {"t": 1, "x": None}
    assert take(fields, {"t": ("temperature", real), "n": ("stop", texts)}) == {"temperature": 1.0}
    assert fields == {"x": None}


def test_a_name_that_is_no_text_stays() -> None:
    fields: dict[str, Any] = {"name": "ann", "other": 7, "null": None}
    assert [pop_text(fields, name) for name in ("name", "other", "null", "absent")] == ["ann", None, None, None]
    assert fields == {"other": 7}


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ({"role": "system", "content": "x"}, "x"),
        ({"role": "system", "content": [{"type": "text", "text": "x"}]}, "x"),
        ({"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {}}]}, None),
        ({"role": "system", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, None),
        ({"role": "system", "content": "x", "name": "n"}, None),
        ({"role": "developer", "content": "x"}, None),
        ({"role": ["system"], "content": "x"}, None),
        (7, None),
    ],
    ids=str,
)
def test_a_system_message_is_the_system_text_if_it_says_nothing_more(first: Any, text: str | None) -> None:
    assert system_text([first, {"role": "user", "content": "y"}], "system") == text
    assert system_text([], "system") is None


def test_the_messages_beside_the_system_text_keep_their_paths() -> None:
    first, other = {"role": "system", "content": "x"}, {"role": "user", "content": "y"}
    assert split_system([first, other], "system") == ("x", [("$.messages[1]", other)])
    assert split_system([first, other], "developer") == ("", [("$.messages[0]", first), ("$.messages[1]", other)])
