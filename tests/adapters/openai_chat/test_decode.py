"""Answers become outputs, whatever a server leaves out or adds."""

import json
from pathlib import Path
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
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.encode import encode, encode_message
from copyfit_adapters.overflow.refusal import Asked

SHARED = Path(__file__).parents[3].parent / "shared"
ASKED = Asked(provider="acme", model="m1", secrets=("hunter2-hunter2",))


def answer(message: dict[str, Any], finish: str | None = "stop", **top: Any) -> ModelOutput:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return decode(200, json.dumps({"id": "r1", "model": "m1", "choices": [choice], **top}).encode(), ASKED)


def test_a_text_answer_is_plain_text() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
    assert answer({"content": "Hello."}, usage=usage, object="chat.completion") == ModelOutput(
        message=AssistantMessage(content="Hello."),
        finish_reason=FinishReason.STOP,
        raw_finish_reason="stop",
        usage=Usage(input_tokens=9, output_tokens=2, raw=usage),
        model="m1",
        response_id="r1",
    )


def test_reasoning_text_and_calls_become_parts_in_that_order() -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"n": 1.0}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    output = answer({"content": "Both.", "reasoning_content": "hm", "tool_calls": calls}, "tool_calls")
    assert output.message.content == (
        ThinkingPart(text="hm", provider=PROTOCOL),
        TextPart(text="Both."),
        ToolCall(id="a", name="f", arguments='{"n": 1.0}'),
        ToolCall(id="b", name="g", arguments="{}"),
    )
    assert output.finish_reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("content", [None, ""], ids=["null", "empty"])
def test_an_empty_text_is_dropped_beside_calls_and_is_text_alone(content: str | None) -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]
    assert answer({"content": content, "tool_calls": calls}).message.content == (ToolCall(id="a", name="f"),)
    assert answer({"content": content}).message.content == ""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"function": {"name": "f"}}, ToolCall(id="call-r1-0", name="f", arguments="{}")),
        ({"id": "", "index": 0, "function": {"name": "f", "arguments": ""}}, ToolCall(id="call-r1-0", name="f")),
        (
            {"id": "a", "function": {"name": "f", "arguments": {"n": 1.0}}},
            ToolCall(id="a", name="f", arguments='{"n":1.0}'),
        ),
        (
            {"id": "a", "function": {"name": "f", "arguments": "{}"}, "x": 1},
            ToolCall(id="a", name="f", extra={PROTOCOL: {"x": 1}}),
        ),
    ],
    ids=["bare", "empty", "object", "more"],
)
def test_calls_get_what_the_server_left_out(call: dict[str, Any], expected: ToolCall) -> None:
    assert answer({"content": None, "tool_calls": [call]}).message.content == (expected,)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("tool_calls", FinishReason.TOOL_CALLS),
        ("function_call", FinishReason.TOOL_CALLS),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("model_context_window_exceeded", FinishReason.CONTEXT_WINDOW),
        ("bored", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_the_finish_reason_is_mapped_and_its_word_kept(word: str | None, reason: FinishReason) -> None:
    output = answer({"content": "x"}, word)
    assert (output.finish_reason, output.raw_finish_reason) == (reason, word)


@pytest.mark.parametrize(
    ("usage", "cached", "reasoning"),
    [
        (
            {"prompt_tokens_details": {"cached_tokens": 5}, "completion_tokens_details": {"reasoning_tokens": 2}},
            5,
            2,
        ),
        ({"prompt_cache_hit_tokens": 4}, 4, None),
        ({"cached_tokens": 3}, 3, None),
        ({"prompt_tokens_details": None, "completion_tokens_details": None}, None, None),
    ],
    ids=["OpenAI", "DeepSeek", "Moonshot", "vLLM"],
)
def test_cached_and_reasoning_tokens_are_found_where_each_server_puts_them(
    usage: dict[str, Any], cached: int | None, reasoning: int | None
) -> None:
    read = answer({"content": "x"}, usage={"prompt_tokens": 9, "completion_tokens": 2, **usage}).usage
    assert (read.input_tokens, read.output_tokens) == (9, 2)
    assert (read.cached_input_tokens, read.reasoning_tokens) == (cached, reasoning)


@pytest.mark.parametrize("usage", [None, [], "9", {"prompt_tokens": "9", "completion_tokens": True}], ids=repr)
def test_usage_that_says_nothing_is_no_failure(usage: Any) -> None:
    read = answer({"content": "x"}, usage=usage).usage
    assert (read.input_tokens, read.output_tokens) == (None, None)


def test_what_is_not_modelled_is_kept_and_what_says_nothing_is_not() -> None:
    message: dict[str, Any] = {
        "content": "x",
        "refusal": "no",
        "annotations": [],
        "audio": None,
        "notes": {"a": None},
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None, "stop_reason": 7}
    other = {"index": 1, "message": {"content": "y"}}
    reply = {"choices": [choice, other], "created": 3, "service_tier": None, "timings": {"n": 1}}
    output = decode(200, json.dumps(reply).encode())
    assert output.message.extra == {PROTOCOL: {"refusal": "no"}}
    assert output.extra == {
        "created": 3,
        "timings": {"n": 1},
        "choice": {"stop_reason": 7},
        "other_choices": [other],
    }


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, AuthFailed), (403, AuthFailed), (404, BadRequest), (429, RateLimited), (500, Unavailable)],
)
def test_an_error_status_is_a_typed_error(status: int, error: type[ProviderError]) -> None:
    with pytest.raises(error) as caught:
        decode(status, b'{"error":{"message":"no luck with hunter2-hunter2","code":"c1"}}', ASKED)
    assert (caught.value.provider, caught.value.model, caught.value.status) == ("acme", "m1", status)
    assert caught.value.code == "c1"
    assert "no luck with" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}',
        b'{"error":"the input length exceeds the context length"}',
        b'{"object":"error","message":"The input (9 tokens) is longer than the context length (8 tokens)."}',
        b"ERROR: The prompt size exceeds the context window size and cannot be processed.",
        b'[{"error":{"message":"The input token count exceeds the maximum number of tokens allowed (8)."}}]',
    ],
    ids=["object", "text", "flat", "plain", "array"],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_overflow_is_an_overflow_under_any_status(status: int, body: bytes) -> None:
    with pytest.raises(ContextOverflow):
        decode(status, body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>hello</html>",
        b"[]",
        b"3",
        b"{}",
        b'{"choices":[]}',
        b'{"choices":[{}]}',
        b'{"choices":[{"message":null}]}',
        b'{"choices":[{"message":{"content":3}}]}',
        b'{"choices":[{"message":{"content":[3]}}]}',
        b"{" * 100_000,
    ],
    ids=lambda body: body[:40].decode(),
)
def test_a_good_status_without_an_answer_is_a_malformed_reply(body: bytes) -> None:
    with pytest.raises(MalformedReply, match="acme"):
        decode(200, body, ASKED)


@given(st.integers(min_value=100, max_value=599), st.binary(max_size=80))
def test_garbage_is_always_a_typed_error(status: int, body: bytes) -> None:
    with pytest.raises(ProviderError):
        decode(status, body)


LOOSE: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, "", "x", "function"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "function", "name", "arguments", "id"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
NAMES = ("content", "tool_calls", "reasoning_content", "reasoning", "refusal", "name", "function_call")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, LOOSE)))
def test_every_answer_that_was_read_can_go_back_in_the_next_request(message: dict[str, Any]) -> None:
    try:
        output = answer(message)
    except MalformedReply:
        return
    encode(ModelInput("", (output.message, UserMessage(content="go on"))), "m1")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared captures are not beside this checkout")
def test_every_recorded_whole_answer_decodes() -> None:
    outcomes: dict[str, str] = {}
    for path in sorted((SHARED / "local-provider" / "captures").glob("*chat*.json")):
        capture = json.loads(path.read_text("utf-8"))
        request, response = capture["request"], capture["response"]
        if request["path"] != "/v1/chat/completions" or '"stream": true' in request["body"]:
            continue
        try:
            output = decode(response["status"], response["body"].encode())
            outcomes[path.stem] = output.finish_reason
            assert output.usage.input_tokens is not None
        except ProviderError as error:
            outcomes[path.stem] = type(error).__name__
    over = {name: outcome for name, outcome in outcomes.items() if ".over" in name and "transformers" not in name}
    clamped = {"vllm-0.32.0.chat.over.max_completion_tokens", "vllm-0.32.0.chat.over.truncate"}
    clamped |= {name for name in over if name.endswith(".over.sum")}
    not_the_prompt = {"vllm-0.32.0.chat.over.max_only": "BadRequest"}
    assert over == (
        dict.fromkeys(over, "ContextOverflow") | dict.fromkeys(clamped, FinishReason.LENGTH.value) | not_the_prompt
    )
    assert outcomes["llamacpp-b11549-midstream.chat.nonstream"] == "ContextOverflow"
    assert outcomes["vllm-0.32.0.chat.edge.2048"] == "ContextOverflow"
    assert outcomes["llamacpp-b11549-tools.chat.required"] == FinishReason.TOOL_CALLS
    assert outcomes["llamacpp-b11549-loading.chat"] == "Unavailable"


def test_calls_without_ids_in_answers_without_ids_are_told_apart_and_replay_alike() -> None:
    def call_of(created: int) -> str:
        message = {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
        reply = {"created": created, "choices": [{"message": message, "finish_reason": "stop"}]}
        return decode(200, json.dumps(reply).encode()).message.tool_calls[0].id

    assert call_of(1) == call_of(1) != call_of(2)


@pytest.mark.parametrize("blank", ["", "\n\n"])
def test_blank_reasoning_is_no_thinking_and_goes_back_as_it_came(blank: str) -> None:
    said = {"role": "assistant", "content": "Yes.", "reasoning_content": blank}
    reply = {"choices": [{"message": said, "finish_reason": "stop"}]}
    message = decode(200, json.dumps(reply).encode()).message
    assert message.content == "Yes."
    assert json.loads(encode_message(message)) == said


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        ({"code": 502, "message": "the provider went away"}, Unavailable),
        ({"code": 429, "message": "slow down"}, RateLimited),
        ({"code": 400, "message": "This model's maximum context length is 4096 tokens."}, ContextOverflow),
    ],
    ids=lambda each: str(each),
)
def test_an_error_in_the_choice_is_an_error_though_some_of_the_answer_came(
    failure: dict[str, Any], error: type[ProviderError]
) -> None:
    choice = {"message": {"content": "Hal"}, "finish_reason": "error", "error": failure}
    with pytest.raises(error, match=failure["message"]):
        decode(200, json.dumps({"choices": [choice]}).encode())


def test_calls_are_why_an_answer_ended_though_its_server_says_stop() -> None:
    message = {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
    assert answer(message, "stop").finish_reason is FinishReason.TOOL_CALLS
    assert answer(message, "length").finish_reason is FinishReason.LENGTH
    assert answer({"content": None, "refusal": "I will not."}, "stop").finish_reason is FinishReason.REFUSAL
