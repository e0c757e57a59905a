"""An answer becomes one message, its reason and its cost; an error becomes a typed one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ContextOverflow, MalformedReply, ProviderError, RateLimited, Unavailable
from copyfit.shapes.messages import TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_output import FinishReason
from copyfit_adapters.anthropic_messages.decode import decode, read_usage
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.overflow.refusal import Asked

HELLO = {"type": "text", "text": "Hello.", "citations": None}


def reply(*blocks: Any, **fields: Any) -> bytes:
    top = {"id": "r1", "type": "message", "role": "assistant", "model": "m1", "content": list(blocks)}
    return json.dumps(top | fields).encode()


def test_one_text_is_plain_text() -> None:
    output = decode(200, reply(HELLO, stop_reason="end_turn", container=None, diagnostics={"a": 1}))
    assert output.message.content == "Hello."
    assert (output.model, output.response_id, output.raw_finish_reason) == ("m1", "r1", "end_turn")
    assert output.extra == {"diagnostics": {"a": 1}}


def test_parts_keep_the_order_of_the_wire() -> None:
    output = decode(
        200,
        reply(
            {"type": "thinking", "thinking": "t", "signature": "s"},
            HELLO,
            {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1.0}},
            {"type": "hologram", "data": 1},
        ),
    )
    assert output.message.content == (
        ThinkingPart(text="t", signature="s", provider=PROTOCOL),
        TextPart(text="Hello."),
        ToolCall(id="c", name="f", arguments='{"a":1.0}'),
        TextPart(text="", extra={PROTOCOL: {"type": "hologram", "data": 1}}),
    )


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("refusal", FinishReason.REFUSAL),
        ("model_context_window_exceeded", FinishReason.CONTEXT_WINDOW),
        ("pause_turn", FinishReason.OTHER),
        ("a_new_word", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_why_it_ended_is_said_in_our_words_and_in_theirs(word: str | None, reason: FinishReason) -> None:
    output = decode(200, reply(HELLO, stop_reason=word))
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


def test_input_tokens_include_what_the_cache_gave_and_took() -> None:
    usage = read_usage(
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_5m_input_tokens": 15, "ephemeral_1h_input_tokens": 5},
            "output_tokens": 9,
            "output_tokens_details": {"thinking_tokens": 4},
        }
    )
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (125, 100, 20)
    assert (usage.output_tokens, usage.reasoning_tokens) == (9, 4)
    assert usage.raw["cache_creation"] == {"ephemeral_5m_input_tokens": 15, "ephemeral_1h_input_tokens": 5}


def test_a_cache_that_nobody_speaks_of_is_not_taken_for_an_empty_one() -> None:
    silent = read_usage({"input_tokens": 5, "output_tokens": 9, "cache_read_input_tokens": None})
    assert (silent.input_tokens, silent.cached_input_tokens, silent.cache_write_tokens) == (5, None, None)
    spoken = read_usage({"input_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0})
    assert (spoken.input_tokens, spoken.cached_input_tokens, spoken.cache_write_tokens) == (5, 0, 0)


@pytest.mark.parametrize("usage", [None, [], {}, {"input_tokens": None}, {"input_tokens": True}])
def test_usage_that_says_nothing_is_none(usage: Any) -> None:
    assert read_usage(usage).input_tokens is None


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"},
            ContextOverflow,
        ),
        (429, {"type": "rate_limit_error", "message": "This would exceed your rate limit."}, RateLimited),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, Unavailable),
        (200, {"type": "overloaded_error", "message": "Overloaded"}, Unavailable),
    ],
)
def test_an_error_is_typed(status: int, error: dict[str, str], kind: type[ProviderError]) -> None:
    with pytest.raises(kind) as caught:
        decode(status, json.dumps({"type": "error", "error": error}).encode(), Asked(provider="p", model="m"))
    assert (caught.value.provider, caught.value.model) == ("p", "m")


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"content": 1}', b'{"content": [{}]}'])
def test_what_is_no_message_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReply):
        decode(200, body)


@given(st.binary(max_size=60), st.sampled_from([200, 400, 500]))
def test_garbage_is_a_typed_error(body: bytes, status: int) -> None:
    with pytest.raises(ProviderError):
        decode(status, body)
