"""What is written is compact JSON; what is left out is told; what has no form is refused."""

import logging

import pytest

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart
from copyfit_adapters.codec.writing import Writer, separated
from copyfit_adapters.errors import UnencodableInput

WRITER = Writer("p")


def test_reasoning_of_another_protocol_is_told_once_and_never_repeated(caplog: pytest.LogCaptureFixture) -> None:
    foreign = ThinkingPart(text="a private thought", provider="q")
    own = ThinkingPart(text="mine", provider="p")
    messages = [AssistantMessage(content=(own, TextPart(text="x"))), AssistantMessage(content=(foreign,))]
    known: IdentityMemo[bytes] = IdentityMemo()
    with caplog.at_level(logging.WARNING, logger="copyfit.adapters"):
        for _ in range(2):
            assert list(WRITER.fragments(messages, known, lambda _, where: where.encode())) == [
                b"messages[0]",
                b"messages[1]",
            ]
    (record,) = caplog.records
    told = record.getMessage()
    assert told == "p does not take the reasoning that q made; messages[1] was sent without it."


def test_a_lone_surrogate_is_written_with_an_escape() -> None:
    assert WRITER.dumps({"a": "\ud83d"}, "x") == b'{"a":"\\ud83d"}'
    assert WRITER.dumps({"a": "é"}, "x") == '{"a":"é"}'.encode()


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), object(), {"a": {1, 2}}], ids=["nan", "inf", "object", "set"]
)
def test_what_json_has_no_form_for_is_refused_by_its_place(value: object) -> None:
    with pytest.raises(UnencodableInput) as caught:
        WRITER.dumps(value, "tools[3]")
    assert caught.value.where == "tools[3]"


def test_commas_stand_between_fragments_alone() -> None:
    assert b"".join(separated([])) == b""
    assert b"".join(separated([b"1"])) == b"1"
    assert b"".join(separated([b"1", b"2", b"3"])) == b"1,2,3"
