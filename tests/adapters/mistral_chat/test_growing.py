"""The pieces of a streamed content add up to the content of a whole answer."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.mistral_chat.growing import joined


def text(said: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **fields}


def thinking(*chunks: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": list(chunks), **fields}


REFERENCE = {"type": "reference", "reference_ids": [1]}


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([], ""),
        (["", "a", "b"], "ab"),
        (["\ud83d", "\ude00"], "\U0001f600"),
        (["a", text("b"), "", "c"], [text("abc")]),
        ([text("\ud83d"), "\ude00"], [text("\U0001f600")]),
        ([text("a"), text("b", x=1), text("c")], [text("a"), text("b", x=1), text("c")]),
        ([thinking(text("a")), "", thinking(text("b")), "c"], [thinking(text("ab")), text("c")]),
        ([thinking(text("a")), "b", thinking(text("c"))], [thinking(text("a")), text("b"), thinking(text("c"))]),
        (
            [thinking(text("a")), thinking(REFERENCE), thinking(text("b"), closed=True)],
            [thinking(text("a"), REFERENCE, text("b"), closed=True)],
        ),
        (
            [thinking(text("a"), signature="s"), thinking(text("b"), signature="t")],
            [thinking(text("a"), signature="s"), thinking(text("b"), signature="t")],
        ),
        ([thinking(text("a"), signature=None), thinking(text("b"))], [thinking(text("ab"), signature=None)]),
        ([REFERENCE, REFERENCE, "a"], [REFERENCE, REFERENCE, text("a")]),
        ([{"type": "thinking", "thinking": "a"}, 3], [{"type": "thinking", "thinking": "a"}, 3]),
    ],
    ids=repr,
)
def test_neighbours_that_are_pieces_of_one_are_joined(pieces: list[Any], whole: Any) -> None:
    assert joined(pieces) == whole


@given(
    st.lists(
        st.text(max_size=3) | st.text(max_size=3).map(text) | st.text(max_size=3).map(lambda t: thinking(text(t)))
    )
)
def test_joining_loses_no_character_and_leaves_nothing_to_join(pieces: list[Any]) -> None:
    def letters(chunks: Any) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for chunk in [chunks] if isinstance(chunks, str) else chunks:
            kind = "text" if isinstance(chunk, str) else chunk["type"]
            texts = [text(chunk)] if isinstance(chunk, str) else chunk.get("thinking", [chunk])
            found += [(kind, letter) for each in texts for letter in each["text"]]
        return found

    whole = joined(pieces)
    assert letters(whole) == letters(pieces)
    kinds = [] if isinstance(whole, str) else [chunk["type"] for chunk in whole]
    assert all(first != second for first, second in pairwise(kinds))
