"""An answer is told from an error whatever its status, and what it does not say is not made up."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import (
    AuthFailed,
    BadRequest,
    ContextOverflow,
    MalformedReply,
    ProviderError,
    RateLimited,
    Unavailable,
)
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall
from copyfit_adapters.answers.reply import Replies, plain, spoken
from copyfit_adapters.codec.reading import integer, string
from copyfit_adapters.overflow.refusal import Asked

ASKED = Asked(provider="p", model="m", secrets=("hunter2",))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def is_error(reply: Mapping[str, Any]) -> bool:
    return "error" in reply


REPLIES = Replies("an endpoint of tests", is_error)


def parsed(status: int, reply: Any) -> dict[str, Any]:
    body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return REPLIES.parsed(status, body, ASKED)


@pytest.mark.parametrize("status", [200, 201, 299])
def test_an_object_under_a_good_status_is_the_answer(status: int) -> None:
    assert parsed(status, {"a": [1, "é"]}) == {"a": [1, "é"]}


def test_bytes_that_are_no_utf_8_do_not_spoil_the_answer() -> None:
    assert parsed(200, b'{"a": "x\xff"}') == {"a": "x\ufffd"}


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_of_a_protocol_with_names_of_its_own_is_judged_by_its_words(status: int) -> None:
    theirs = Replies("an endpoint of tests", lambda reply: "fault" in reply)
    body = json.dumps({"fault": {"about": "prompt is too long: 9 tokens > 8 maximum"}}).encode()
    with pytest.raises(ContextOverflow) as caught:
        theirs.parsed(status, body, ASKED)
    assert (caught.value.requested_tokens, caught.value.limit_tokens) == (9, 8)


@pytest.mark.parametrize(
    ("status", "reply", "kind"),
    [
        (400, {"error": {"message": "no good"}}, BadRequest),
        (400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, ContextOverflow),
        (401, {"error": "who are you?"}, AuthFailed),
        (429, {"error": {"message": "slow down"}}, RateLimited),
        (500, b"<html>Bad gateway</html>", Unavailable),
        (503, b"", Unavailable),
        (500, {"choices": []}, Unavailable),
        (404, b"\xff\xfe", BadRequest),
        (200, {"error": {"message": "Overloaded", "type": "overloaded_error"}}, Unavailable),
        (200, {"error": "the prompt is too long"}, ContextOverflow),
        (200, [{"error": {"message": "the prompt is too long"}}], ContextOverflow),
        (200, b"ERROR: the prompt is too long", ContextOverflow),
    ],
)
def test_anything_else_is_a_typed_error_that_says_who_was_asked(
    status: int, reply: Any, kind: type[ProviderError]
) -> None:
    with pytest.raises(kind) as caught:
        parsed(status, reply)
    assert not isinstance(caught.value, MalformedReply)
    assert (caught.value.provider, caught.value.model) == ("p", "m")
    assert status == 200 or caught.value.status == status


@pytest.mark.parametrize("body", [b"", b"null", b"3", b'"x"', b"[]", b"<html>", b"{", b"[" * 100_000])
def test_a_good_status_without_an_object_is_malformed_and_names_the_endpoint(body: bytes) -> None:
    says = r"The answer of p is no JSON object; .* an endpoint of tests"
    with pytest.raises(MalformedReply, match=says) as caught:
        parsed(200, body)
    assert (caught.value.provider, caught.value.model) == ("p", "m")


def test_an_error_that_was_no_json_chains_the_reason() -> None:
    with pytest.raises(MalformedReply) as caught:
        parsed(200, b"{")
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_secret_in_an_error_is_masked() -> None:
    with pytest.raises(BadRequest) as caught:
        parsed(400, {"error": {"message": "the key hunter2 is no good"}})
    assert "is no good" in str(caught.value)
    assert "hunter2" not in str(caught.value) + repr(vars(caught.value))


@given(
    st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()), st.sampled_from([200, 400, 502])
)
def test_whatever_comes_is_an_object_or_a_typed_error(body: bytes, status: int) -> None:
    try:
        reply = REPLIES.parsed(status, body, ASKED)
    except ProviderError:
        return
    assert status == 200
    assert reply == json.loads(body.decode("utf-8", "replace"))
    assert not is_error(reply)


def test_a_malformed_stream_is_called_one() -> None:
    error = REPLIES.malformed("goes nowhere", ASKED, what="stream")
    assert str(error) == ("The stream of p goes nowhere; check that the base URL leads to an endpoint of tests.")


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ((), ""),
        ((TextPart(text="x"),), "x"),
        ((TextPart(text=""),), ""),
        ("x", "x"),
    ],
)
def test_one_text_or_none_is_plain_text(content: Any, read: str) -> None:
    said = AssistantMessage(content=content, name="n", extra={"p": {"a": 1}})
    assert plain(said) == AssistantMessage(content=read, name="n", extra={"p": {"a": 1}})


@pytest.mark.parametrize(
    "content",
    [
        (TextPart(text="x", extra={"p": {"a": 1}}),),
        (TextPart(text="x"), TextPart(text="y")),
        (ThinkingPart(text="t", provider="p"),),
        (ThinkingPart(text="t", provider="p"), TextPart(text="x")),
        (ToolCall(id="c", name="f"),),
    ],
    ids=["with fields", "two texts", "reasoning", "reasoning and text", "a call"],
)
def test_anything_more_stays_parts(content: Any) -> None:
    said = AssistantMessage(content=content)
    assert plain(said) is said


def test_only_what_says_something_is_spoken() -> None:
    fields: dict[str, Any] = {
        "id": 1,
        "a": None,
        "b": [],
        "c": {},
        "d": {"x": None, "y": {"z": []}},
        "e": 0,
        "f": "",
        "g": False,
    }
    assert spoken(fields, frozenset({"id"})) == {"e": 0, "f": "", "g": False}
    assert spoken({"d": {"x": None, "y": 0}, "l": [None]}) == {"d": {"x": None, "y": 0}, "l": [None]}


@pytest.mark.parametrize(
    ("value", "count"), [(3, 3), (0, 0), (True, None), (1.0, None), ("3", None), (None, None)]
)
def test_a_count_is_a_whole_number_alone(value: Any, count: int | None) -> None:
    assert integer(value) == count
    assert integer(value) is not True


@pytest.mark.parametrize(("value", "text"), [("", ""), ("x", "x"), (1, None), (None, None), (["x"], None)])
def test_a_text_is_a_text_alone(value: Any, text: str | None) -> None:
    assert string(value) == text
