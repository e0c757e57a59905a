"""What others really sent and received: public cassettes, the official SDK, and Mistral's own validator."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import AssistantMessage, ThinkingPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.mistral_chat.decode import decode
from copyfit_adapters.mistral_chat.encode import encode
from copyfit_adapters.mistral_chat.losses import LOSSES
from copyfit_adapters.mistral_chat.readback import readback
from copyfit_adapters.mistral_chat.stream import MistralStream

RECORDED = pytest.mark.recorded("mistral chat")
ANSWER = {
    "id": "r",
    "object": "chat.completion",
    "model": "m",
    "created": 1,
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "num_cached_tokens": 3},
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "t"}], "closed": True},
                    {"type": "text", "text": "x"},
                ],
                "tool_calls": [{"id": "Jc4AR31Hp", "function": {"name": "f", "arguments": {"a": 1}}, "index": 0}],
            },
        }
    ],
}


def official(answer: bytes, *, stream: bool, **asked: Any) -> tuple[Any, bytes]:
    """Return what the official SDK makes of `answer`, and the body of the request that it sent for it."""
    import httpx2
    from mistralai.client import Mistral

    sent: list[bytes] = []

    def reply(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.read())
        kind = "text/event-stream" if stream else "application/json"
        return httpx2.Response(200, headers={"content-type": kind}, content=answer)

    asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]} | asked
    with httpx2.Client(transport=httpx2.MockTransport(reply)) as http:
        client = Mistral(api_key="k", client=http)
        said: Any = (
            [event.data for event in client.chat.stream(**asked)] if stream else client.chat.complete(**asked)
        )
    return said, sent[0]


def ours(answer: bytes, *, stream: bool) -> ModelOutput:
    if not stream:
        return decode(200, answer)
    decoder = MistralStream()
    *_, last = [*decoder.feed(answer), *decoder.close()]
    assert isinstance(last, Finished)
    return last.output


def says_the_same(output: ModelOutput, theirs: Any, *, stream: bool) -> None:
    """Check text, reasoning, calls, reason and cost against what the SDK read."""
    chunks = theirs if stream else [theirs]
    messages = [chunk.choices[0].delta if stream else chunk.choices[0].message for chunk in chunks]
    text, thinking, calls = "", "", []
    for message in messages:
        content = message.content or []
        text += content if isinstance(content, str) else "".join(c.text for c in content if c.type == "text")
        if not isinstance(content, str):
            thinking += "".join(t.text for c in content if c.type == "thinking" for t in c.thinking)
        calls += [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    parts = output.message.parts
    assert output.message.text == text
    assert "".join(part.text for part in parts if isinstance(part, ThinkingPart)) == thinking
    assert [(call.id, call.name, json.loads(call.arguments)) for call in parts if isinstance(call, ToolCall)] == [
        (call_id, name, json.loads(given) if isinstance(given, str) else given) for call_id, name, given in calls
    ]
    assert output.raw_finish_reason == chunks[-1].choices[0].finish_reason
    usage = chunks[-1].usage
    assert (output.usage.input_tokens, output.usage.output_tokens) == (
        usage.prompt_tokens,
        usage.completion_tokens,
    )
    assert output.model == chunks[-1].model


@RECORDED
def test_a_recorded_request_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for exchange in recording:
        read = readback(exchange.sent)
        asked = json.loads(exchange.sent)
        body = encode(read, asked["model"], stream=exchange.streamed).body
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, readback(body)))
        assert canonical_json(kept) == canonical_json(gone)
        again = json.loads(body)
        assert again["model"] == asked["model"]
        assert again["messages"] == asked["messages"]
        assert again.get("stream", False) == asked["stream"]


@RECORDED
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: Any) -> None:
    for exchange in recording:
        output = ours(exchange.answer, stream=exchange.streamed)
        theirs, _ = official(exchange.answer, stream=exchange.streamed)
        says_the_same(output, theirs, stream=exchange.streamed)
        assert output.usage.cached_input_tokens in (0, 10)


def test_an_answer_with_reasoning_and_a_call_says_the_same_too() -> None:
    body = json.dumps(ANSWER).encode()
    theirs, _ = official(body, stream=False)
    says_the_same(decode(200, body), theirs, stream=False)
    assert decode(200, body).usage.cached_input_tokens == 3


def test_a_streamed_answer_with_reasoning_and_calls_says_the_same_too() -> None:
    deltas: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}]}, None),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "b"}]}]}, None),
        ({"content": [{"type": "text", "text": "x"}]}, None),
        ({"content": "y"}, None),
        (
            {
                "content": "",
                "tool_calls": [
                    {"id": "Jc4AR31Hp", "function": {"name": "f", "arguments": '{"a": 1.0}'}, "index": 0},
                    {"id": "abcdefgh1", "function": {"name": "g", "arguments": "{}"}, "index": 1},
                ],
            },
            "tool_calls",
        ),
    ]
    chunks: list[dict[str, Any]] = [
        {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in deltas
    ]
    chunks[-1]["usage"] = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    body = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"
    theirs, _ = official(body, stream=True)
    says_the_same(ours(body, stream=True), theirs, stream=True)


CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": "https://h/a.png"},
            {"type": "image_url", "image_url": {"url": "https://h/b.png", "detail": "low"}},
            {"type": "document_url", "document_url": "https://h/a.pdf", "document_name": "a.pdf"},
            {"type": "file", "file_id": "f1"},
            {"type": "input_audio", "input_audio": "QUJD"},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {
                "type": "thinking",
                "thinking": [{"type": "text", "text": "t"}, {"type": "reference", "reference_ids": [1]}],
                "closed": True,
                "signature": "c2ln",
            },
            {"type": "text", "text": "x"},
        ],
        "tool_calls": [
            {"id": "Jc4AR31Hp", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.0}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "Jc4AR31Hp", "name": "f", "content": "ok"},
]
ASKED: dict[str, Any] = {
    "messages": CONVERSATION,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "random_seed": 4,
    "max_tokens": 3,
    "stop": ["E"],
    "temperature": 0.5,
    "parallel_tool_calls": False,
    "safe_prompt": True,
}


@cache
def sent_by_the_sdk() -> tuple[ModelInput, ModelInput]:
    """Return what we read of the conversation as it stands, and as the SDK puts it on the wire."""
    shape = {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema_definition": {"type": "object"}, "strict": True},
    }
    wire = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}}
    _, sent = official(json.dumps(ANSWER).encode(), stream=False, response_format=shape, **ASKED)
    return readback(json.dumps({"model": "m", "response_format": wire, **ASKED}).encode()), readback(sent)


def test_what_the_sdk_sends_reads_back_but_for_two_defaults_that_it_adds() -> None:
    said, sent = (model_input.as_data() for model_input in sent_by_the_sdk())
    assistant = sent["messages"][1]
    assert assistant.pop("extra") == {"mistral-chat": {"prefix": False}}
    assert assistant["content"][-1].pop("extra") == {"mistral-chat": {"index": 0}}
    assert said["messages"][1].pop("extra") == {}
    assert said["messages"][1]["content"][-1].pop("extra") == {}
    assert sent == said


def test_what_the_sdk_sends_goes_out_again_without_any_loss() -> None:
    _, sent = sent_by_the_sdk()
    assert readback(encode(sent, "m").body) == sent


def test_the_sdk_drops_fields_of_messages_that_it_does_not_know() -> None:
    messages = [
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "assistant", "content": "y", "x_note": 3},
    ]
    _, sent = official(json.dumps(ANSWER).encode(), stream=False, messages=messages)
    assert readback(sent).messages == (
        UserMessage(content="x"),
        AssistantMessage(content="y", extra={"mistral-chat": {"prefix": False}}),
    )


def validate(version: str, request: dict[str, Any]) -> None:
    """Check `request` by the rules for the tokenizer of one `version`.

    Raises:
        MistralCommonException: a rule is broken.

    """
    pytest.importorskip("mistral_common", reason="Mistral's own validator is not installed")
    from mistral_common.protocol.instruct import validator
    from mistral_common.protocol.instruct.request import ChatCompletionRequest

    check: Callable[..., Any] = getattr(validator, f"MistralRequestValidator{version}")
    parsed: Any = ChatCompletionRequest.model_validate(request)
    check(mode=validator.ValidationMode.serving).validate_request(parsed)


@pytest.mark.parametrize("version", ["V3", "V13"])
def test_a_call_of_another_provider_passes_mistrals_own_validator(version: str) -> None:
    history = (
        UserMessage(content="x"),
        AssistantMessage(content=(ToolCall(id="call_0fypS1hVX", name="f"),)),
        ToolMessage(call_id="call_0fypS1hVX", content="ok", name="f"),
    )
    validate(version, json.loads(encode(ModelInput("", history), "m").body))


def test_mistrals_own_validator_refuses_a_foreign_id_for_the_older_tokenizers() -> None:
    exceptions = pytest.importorskip(
        "mistral_common.exceptions", reason="Mistral's own validator is not installed"
    )
    call = {"id": "call_0fypS1hVX", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    request = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0fypS1hVX", "content": "ok"},
        ],
    }
    with pytest.raises(exceptions.MistralCommonException, match="length of 9"):
        validate("V3", request)
    validate("V13", request)
