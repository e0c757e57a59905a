"""An answer becomes one message, its reason and its cost; an error becomes a typed one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import (
    AuthFailed,
    ContextOverflow,
    MalformedReply,
    ProviderError,
    RateLimited,
    Unavailable,
)
from copyfit.shapes.messages import ImagePart, TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason
from copyfit_adapters.bedrock_converse.decode import _FINISH, decode, read_usage
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode
from copyfit_adapters.overflow.refusal import Asked

HELLO = {"text": "Hello."}


def reply(*blocks: Any, **fields: Any) -> bytes:
    message = {"role": "assistant", "content": list(blocks)}
    return json.dumps({"output": {"message": message}} | fields).encode()


def test_one_text_is_plain_text_and_the_rest_is_kept() -> None:
    output = decode(200, reply(HELLO, stopReason="end_turn", metrics={"latencyMs": 5}, trace=None))
    assert output.message.content == "Hello."
    assert (output.finish_reason, output.raw_finish_reason) == (FinishReason.STOP, "end_turn")
    assert output.extra == {"metrics": {"latencyMs": 5}}


def test_parts_keep_the_order_of_the_wire() -> None:
    server_tool = {"toolUse": {"toolUseId": "s", "name": "search", "input": {}, "type": "server_tool_use"}}
    output = decode(
        200,
        reply(
            {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
            {"reasoningContent": {"redactedContent": "eHl6"}},
            HELLO,
            {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "a"}]}},
            {"image": {"format": "png", "source": {"bytes": "QUJD"}}},
            {"toolUse": {"toolUseId": "c", "name": "f", "input": {"a": 1.0}}, "text": None},
            server_tool,
            {"hologram": {"hue": 1}},
        ),
    )
    assert output.message.content == (
        ThinkingPart(text="t", signature="s", provider=PROTOCOL),
        ThinkingPart(provider=PROTOCOL, opaque={"redactedContent": "eHl6"}),
        TextPart(text="Hello."),
        TextPart(text="So.", extra={PROTOCOL: {"citationsContent": {"citations": [{"title": "a"}]}}}),
        ImagePart(data="QUJD", media_type="image/png"),
        ToolCall(id="c", name="f", arguments='{"a":1.0}'),
        TextPart(text="", extra={PROTOCOL: server_tool}),
        TextPart(text="", extra={PROTOCOL: {"hologram": {"hue": 1}}}),
    )
    assert output.message.text == "Hello.So."


@pytest.mark.parametrize("shown", [{}, {"text": None}, {"text": ""}])
def test_a_thought_that_is_not_shown_goes_back_with_its_signature_and_a_text(shown: dict[str, Any]) -> None:
    output = decode(200, reply({"reasoningContent": {"reasoningText": shown | {"signature": "s"}}}, HELLO))
    thought, _ = output.message.parts
    assert thought == ThinkingPart(signature="s", provider=PROTOCOL)
    (sent,) = json.loads(encode(ModelInput("", (output.message,)), "m").body)["messages"]
    assert sent["content"][0] == {"reasoningContent": {"reasoningText": {"text": "", "signature": "s"}}}


def test_a_call_without_anything_in_it_is_a_call() -> None:
    output = decode(200, reply({"toolUse": {"toolUseId": "c", "name": "f", "input": None, "type": None}}))
    assert output.message.content == (ToolCall(id="c", name="f", arguments="{}"),)


def test_a_cited_text_in_pieces_is_one_text_that_knows_them() -> None:
    cited = {"content": [{"text": "So "}, {"text": "be it."}], "citations": []}
    output = decode(200, reply({"citationsContent": cited}))
    assert output.message.content == (TextPart(text="So be it.", extra={PROTOCOL: {"citationsContent": cited}}),)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("max_tokens", FinishReason.LENGTH),
        ("guardrail_intervened", FinishReason.CONTENT_FILTER),
        ("content_filtered", FinishReason.CONTENT_FILTER),
        ("model_context_window_exceeded", FinishReason.CONTEXT_WINDOW),
        ("malformed_model_output", FinishReason.OTHER),
        ("malformed_tool_use", FinishReason.OTHER),
        ("a_new_word", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_why_it_ended_is_said_in_our_words_and_in_theirs(word: str | None, reason: FinishReason) -> None:
    output = decode(200, reply(HELLO, stopReason=word))
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


def test_the_words_for_an_end_are_those_of_the_service_model() -> None:
    import botocore.session

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    words = set(service.shape_for("StopReason").enum)
    assert words - _FINISH.keys() == {"malformed_model_output", "malformed_tool_use"}
    assert _FINISH.keys() <= words


def test_input_tokens_include_what_the_cache_gave_and_took() -> None:
    usage = read_usage(
        {
            "inputTokens": 5,
            "cacheReadInputTokens": 100,
            "cacheWriteInputTokens": 20,
            "outputTokens": 9,
            "totalTokens": 134,
        }
    )
    counts = (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens, usage.output_tokens)
    assert counts == (125, 100, 20, 9)
    assert usage.raw["totalTokens"] == 134


@pytest.mark.parametrize("usage", [None, [], {}, {"inputTokens": None}, {"inputTokens": True}])
def test_usage_that_says_nothing_is_none(usage: Any) -> None:
    assert read_usage(usage).input_tokens is None


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (
            400,
            {"message": "The model returned the following errors: prompt is too long: 2083 tokens > 2000 maximum"},
            ContextOverflow,
        ),
        (
            400,
            {"__type": "ValidationException", "message": "Input is too long for requested model."},
            ContextOverflow,
        ),
        (429, {"message": "Too many tokens, please wait before trying again."}, RateLimited),
        (403, {"message": "The security token included in the request is invalid."}, AuthFailed),
        (503, {"message": "Service capacity limit has been reached. Please try again later."}, Unavailable),
        (
            200,
            {"__type": "ServiceUnavailableException", "message": "Bedrock is unable to process."},
            ProviderError,
        ),
    ],
)
def test_an_error_is_typed(status: int, error: dict[str, str], kind: type[ProviderError]) -> None:
    with pytest.raises(kind) as caught:
        decode(status, json.dumps(error).encode(), Asked(provider="p", model="m"))
    assert not isinstance(caught.value, MalformedReply)
    assert (caught.value.provider, caught.value.model) == ("p", "m")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"output": 1}',
        b'{"output": {"message": {"content": "x"}}}',
        b'{"output": {"message": {"content": [{}]}}}',
        b'{"output": {"message": {"content": ["x"]}}}',
    ],
)
def test_what_is_no_answer_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReply):
        decode(200, body)


@given(st.binary(max_size=60), st.sampled_from([200, 400, 500]))
def test_garbage_is_a_typed_error(body: bytes, status: int) -> None:
    with pytest.raises(ProviderError):
        decode(status, body)
