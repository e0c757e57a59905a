"""An answer becomes one message, its reason and its cost; an error becomes a typed one."""

import json
import re
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
from copyfit.shapes.messages import AssistantMessage, ImagePart, TextPart, ThinkingPart, ToolCall, ToolMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason
from copyfit_adapters.ollama_chat.decode import decode, read_usage
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.encode import encode
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked
from copyfit_adapters.overflow.rules import Kind


def reply(message: dict[str, Any] | None = None, **fields: Any) -> bytes:
    said = {"role": "assistant", "content": "Hello."} | (message or {})
    top = {"model": "m1", "created_at": "2026-01-02T03:04:05.678Z", "message": said, "done": True}
    return json.dumps(top | fields).encode()


def call(name: str, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {"function": {"name": name} | ({} if arguments is None else {"arguments": arguments})} | fields


def test_one_text_is_plain_text() -> None:
    output = decode(200, reply(done_reason="stop", logprobs=[{"token": "Hello"}], remote_model=None))
    assert output.message == AssistantMessage(content="Hello.")
    assert (output.model, output.response_id, output.raw_finish_reason) == ("m1", None, "stop")
    assert output.extra == {"created_at": "2026-01-02T03:04:05.678Z", "logprobs": [{"token": "Hello"}]}


def test_parts_come_in_the_order_of_the_wire_and_unknown_fields_stay_with_the_message() -> None:
    said = {"thinking": "t", "images": ["QUJD"], "tool_calls": [call("f", {"a": 1.0}, id="c")], "mood": "calm"}
    message = decode(200, reply(said)).message
    assert message.content == (
        ThinkingPart(text="t", provider=PROTOCOL),
        TextPart(text="Hello."),
        ImagePart(data="QUJD"),
        ToolCall(id="c", name="f", arguments='{"a":1.0}'),
    )
    assert message.extra == {PROTOCOL: {"mood": "calm"}}


@pytest.mark.parametrize(
    ("arguments", "read"),
    [({"a": "é"}, '{"a":"é"}'), (None, "{}"), ({}, "{}"), ('{"a": 1', '{"a": 1'), ("", "{}")],
)
def test_arguments_come_as_an_object_and_some_servers_send_text(arguments: Any, read: str) -> None:
    (found,) = decode(200, reply({"content": "", "tool_calls": [call("f", arguments, id="c")]})).message.tool_calls
    assert found.arguments == read


def test_calls_without_ids_get_ids_that_are_theirs_alone_and_the_same_in_a_replay() -> None:
    answers = [
        reply({"content": "", "tool_calls": [call("f", {"a": 1}), call("f", {"a": 1})]}, created_at=moment)
        for moment in ("t1", "t1", "t2")
    ]
    first, again, later = ([found.id for found in decode(200, body).message.tool_calls] for body in answers)
    assert first == again
    assert len({*first, *later}) == 4


def test_what_was_answered_goes_back_unchanged_with_the_id_it_got() -> None:
    said = {
        "role": "assistant",
        "content": "",
        "thinking": "t",
        "tool_calls": [call("f", {"a": 1})],
        "mood": "calm",
    }
    said["tool_calls"][0]["function"]["index"] = 0  # type: ignore[index]
    message = decode(200, reply(said)).message
    (found,) = message.tool_calls
    result = ToolMessage(call_id=found.id, content="x")
    back, answered = json.loads(encode(ModelInput("", (message, result)), "m").body)["messages"]
    assert back["tool_calls"][0].pop("id") == answered["tool_call_id"] == found.id
    assert back == said


@pytest.mark.parametrize(
    ("word", "calls", "reason"),
    [
        ("stop", False, FinishReason.STOP),
        ("stop", True, FinishReason.TOOL_CALLS),
        (None, True, FinishReason.TOOL_CALLS),
        ("length", False, FinishReason.LENGTH),
        ("length", True, FinishReason.LENGTH),
        ("load", False, FinishReason.OTHER),
        ("unload", False, FinishReason.OTHER),
        ("a_new_word", False, FinishReason.OTHER),
        (None, False, FinishReason.OTHER),
    ],
)
def test_why_it_ended_is_said_in_our_words_and_in_theirs(
    word: str | None, calls: bool, reason: FinishReason
) -> None:
    output = decode(200, reply({"tool_calls": [call("f")]} if calls else None, done_reason=word))
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


def test_usage_is_read_and_its_durations_are_kept() -> None:
    metrics: dict[str, Any] = {
        "prompt_eval_count": 26,
        "prompt_eval_cached_count": 20,
        "eval_count": 298,
        "total_duration": 4883583458,
    }
    usage = decode(200, reply(**metrics, load_duration=None)).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (26, 20, 298)
    assert usage.raw == metrics


@pytest.mark.parametrize("fields", [{}, {"prompt_eval_count": None}, {"prompt_eval_count": True}])
def test_a_count_that_is_not_there_is_none_and_not_0(fields: dict[str, Any]) -> None:
    assert read_usage(fields).input_tokens is None


@pytest.mark.parametrize(
    ("figures", "kind"),
    [
        ({"prompt_eval_count": 4096, "eval_count": 12, "done_reason": "stop"}, Kind.SILENT_TRUNCATION),
        ({"prompt_eval_count": 4095, "eval_count": 1, "done_reason": "length"}, Kind.SILENT_TRUNCATION),
        ({"prompt_eval_count": 2050, "eval_count": 12, "done_reason": "stop"}, None),
        ({"prompt_eval_count": 26, "eval_count": 5, "done_reason": "length"}, Kind.OUTPUT_LIMIT),
    ],
    ids=["at the window", "one below it", "cut in the middle", "cap"],
)
def test_the_judge_sees_a_silent_cut_only_where_it_left_the_window_full(
    figures: dict[str, Any], kind: Kind | None
) -> None:
    # The third is the shape of ollama issue 17889, which no figure gives away: hence the overflow switches.
    verdict = judge(json.loads(reply(**figures)), provider="ollama", window_tokens=4096)
    assert (None if verdict is None else verdict.kind) == kind


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, "the prompt is longer than the context length currently available to the model", ContextOverflow),
        (400, "request (7913 tokens) exceeds the available context size (4096 tokens)", ContextOverflow),
        (400, "prompt too long; exceeded max context length by 1119046 tokens (ref: x)", ContextOverflow),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", BadRequest),
        (401, "unauthorized", AuthFailed),
        (404, "model 'nonexistent-model:latest' not found", BadRequest),
        (429, "you have reached your hourly usage limit", RateLimited),
        (500, "model requires more system memory (8.0 GiB) than is available (4.0 GiB)", Unavailable),
        (503, "server busy, please try again.  maximum pending requests exceeded", Unavailable),
        (200, "an error was encountered while running the model: unexpected EOF", ProviderError),
    ],
)
def test_an_error_is_typed(status: int, said: str, kind: type[ProviderError]) -> None:
    with pytest.raises(kind, match=re.escape(said[:9])) as caught:
        decode(status, json.dumps({"error": said}).encode(), Asked(provider="p", model="m"))
    assert (caught.value.provider, caught.value.model) == ("p", "m")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"message": 1}',
        b'{"message": {"content": [1]}}',
        b'{"message": {"content": 1}}',
    ],
)
def test_what_is_no_answer_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedReply):
        decode(200, body)


@given(st.binary(max_size=60), st.sampled_from([200, 400, 500]))
def test_garbage_is_a_typed_error(body: bytes, status: int) -> None:
    with pytest.raises(ProviderError):
        decode(status, body)
