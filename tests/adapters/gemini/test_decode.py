"""A whole answer becomes what the model said, why it ended and what it cost, or a typed error."""

import json
from typing import Any

import pytest

from copyfit.errors import AuthFailed, ContextOverflow, MalformedReply, ProviderError, RateLimited
from copyfit.shapes.messages import AssistantMessage, FilePart, ImagePart, TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import FinishReason, ModelOutput, Usage
from copyfit_adapters.gemini.decode import decode
from copyfit_adapters.gemini.dialect import PROTOCOL
from copyfit_adapters.gemini.encode import encode


def candidate(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", "index": 0} | fields


def answer(*parts: Any, **fields: Any) -> ModelOutput:
    return decoded(candidates=[candidate(*parts, **fields)])


def decoded(**fields: Any) -> ModelOutput:
    return decode(200, json.dumps({"responseId": "r", "modelVersion": "gemini-x"} | fields).encode())


def test_a_text_is_plain_text_and_the_response_is_named() -> None:
    output = answer({"text": "Hello."})
    assert output.message == AssistantMessage(content="Hello.")
    assert (output.finish_reason, output.raw_finish_reason) == (FinishReason.STOP, "STOP")
    assert (output.model, output.response_id) == ("gemini-x", "r")


def test_thoughts_signatures_calls_and_media_keep_their_order_and_go_back_unchanged() -> None:
    parts: list[dict[str, Any]] = [
        {"text": "hm", "thought": True, "thoughtSignature": "QQ=="},
        {"thought": True, "inlineData": {"mimeType": "image/png", "data": "QUJD"}},
        {"text": "Look.", "thoughtSignature": "Qg=="},
        {"functionCall": {"id": "c", "name": "f", "args": {"a": 1.0}}, "thoughtSignature": "Qw=="},
        {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
        {"fileData": {"mimeType": "text/plain", "fileUri": "https://a/b"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"thoughtSignature": "RA=="},
    ]
    output = answer(*parts)
    assert output.message.content == (
        ThinkingPart(text="hm", signature="QQ==", provider=PROTOCOL),
        ThinkingPart(provider=PROTOCOL, opaque=parts[1]),
        TextPart(text="Look.", extra={PROTOCOL: {"thoughtSignature": "Qg=="}}),
        ToolCall(id="c", name="f", arguments='{"a":1.0}', extra={PROTOCOL: {"thoughtSignature": "Qw=="}}),
        ImagePart(media_type="image/png", data="QUJD"),
        FilePart(media_type="text/plain", url="https://a/b"),
        TextPart(text="", extra={PROTOCOL: {"part": parts[6]}}),
        TextPart(text="", extra={PROTOCOL: {"part": parts[7]}}),
    )
    sent = json.loads(encode(ModelInput("", (output.message,)), "m").body)
    assert sent["contents"] == [{"role": "model", "parts": parts}]


def test_a_call_without_an_id_gets_one_from_the_response_and_its_number() -> None:
    calls = answer(
        {"functionCall": {"name": "f", "args": {}}},
        {"functionCall": {"id": "given", "name": "f"}},
        {"functionCall": {"id": "", "name": "g", "args": None}},
    ).message.tool_calls
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("call-r-0", "f", "{}"),
        ("given", "f", "{}"),
        ("call-r-2", "g", "{}"),
    ]


def test_calls_of_answers_that_have_no_id_are_told_apart_and_the_same_when_they_are_replayed() -> None:
    def call_id(tokens: int) -> str:
        reply = {"candidates": [{"content": {"parts": [CALL]}}], "usageMetadata": {"promptTokenCount": tokens}}
        return decode(200, json.dumps(reply).encode()).message.tool_calls[0].id

    assert call_id(8) == call_id(8)
    assert len({call_id(8), call_id(9), call_id(10)}) == 3


CALL = {"functionCall": {"name": "f", "args": {}}}


@pytest.mark.parametrize(
    ("parts", "word", "expected", "raw"),
    [
        ([CALL], "STOP", FinishReason.TOOL_CALLS, "STOP"),
        ([CALL], None, FinishReason.TOOL_CALLS, None),
        ([CALL], "MAX_TOKENS", FinishReason.LENGTH, "MAX_TOKENS"),
        ([], "MAX_TOKENS", FinishReason.LENGTH, "MAX_TOKENS"),
        ([], 2, FinishReason.LENGTH, "MAX_TOKENS"),
        ([], 77, FinishReason.OTHER, "77"),
        ([], "SAFETY", FinishReason.CONTENT_FILTER, "SAFETY"),
        ([], "RECITATION", FinishReason.CONTENT_FILTER, "RECITATION"),
        ([], "BLOCKLIST", FinishReason.CONTENT_FILTER, "BLOCKLIST"),
        ([], "PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER, "PROHIBITED_CONTENT"),
        ([], "SPII", FinishReason.CONTENT_FILTER, "SPII"),
        ([], "MALFORMED_FUNCTION_CALL", FinishReason.OTHER, "MALFORMED_FUNCTION_CALL"),
        ([], "NEWS", FinishReason.OTHER, "NEWS"),
    ],
)
def test_the_finish_reason_is_ours_beside_the_providers_word(
    parts: list[Any], word: Any, expected: FinishReason, raw: str | None
) -> None:
    output = answer(*parts, finishReason=word)
    assert (output.finish_reason, output.raw_finish_reason) == (expected, raw)


def test_every_finish_reason_of_the_official_sdk_is_read_as_a_word() -> None:
    from google.genai import types

    for reason in types.FinishReason:
        assert answer({"text": "x"}, finishReason=reason.value).raw_finish_reason == reason.value


def test_a_candidate_without_content_is_an_empty_answer() -> None:
    output = decoded(candidates=[{"finishReason": "SAFETY", "safetyRatings": [{"blocked": True}]}])
    assert output.message == AssistantMessage(content="")
    assert output.finish_reason == FinishReason.CONTENT_FILTER
    assert output.extra["candidate"] == {"safetyRatings": [{"blocked": True}]}


@pytest.mark.parametrize("candidates", [{}, {"candidates": []}, {"candidates": None}])
def test_a_blocked_prompt_is_an_answer_that_tells_the_reason(candidates: dict[str, Any]) -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "no"}
    output = decoded(promptFeedback=feedback, usageMetadata={"promptTokenCount": 4}, **candidates)
    assert output.message == AssistantMessage(content="")
    assert output.finish_reason == FinishReason.CONTENT_FILTER
    assert output.raw_finish_reason == "PROHIBITED_CONTENT"
    assert output.extra["promptFeedback"] == feedback
    assert output.usage.input_tokens == 4


def test_usage_counts_thoughts_as_output_and_the_results_of_the_providers_tools_as_input() -> None:
    counts = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "toolUsePromptTokenCount": 7,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 157,
    }
    usage = decoded(candidates=[candidate({"text": "x"})], usageMetadata=counts).usage
    assert usage == Usage(
        input_tokens=107, output_tokens=50, cached_input_tokens=60, reasoning_tokens=30, raw=counts
    )
    assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == counts["totalTokenCount"]


@pytest.mark.parametrize("usage", [None, {}, [], {"promptTokenCount": "many", "thoughtsTokenCount": True}])
def test_usage_that_says_nothing_is_none(usage: Any) -> None:
    found = decoded(candidates=[candidate({"text": "x"})], usageMetadata=usage).usage
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (None, None, None)


def test_what_is_not_modelled_is_kept() -> None:
    second = candidate({"text": "or this"}, index=1)
    output = decoded(
        candidates=[candidate({"text": "this"}, avgLogprobs=-0.1, groundingMetadata={"q": ["a"]}), second],
        createTime="now",
        promptFeedback={"safetyRatings": []},
    )
    assert output.message.content == "this"
    assert output.extra == {
        "createTime": "now",
        "candidate": {"avgLogprobs": -0.1, "groundingMetadata": {"q": ["a"]}},
        "other_candidates": [second],
    }


def test_an_array_of_chunks_is_one_answer() -> None:
    chunks = [
        {"candidates": [candidate({"text": "Hel"}, finishReason=None)], "responseId": "r"},
        {"candidates": [candidate({"text": "lo."})], "usageMetadata": {"promptTokenCount": 3}},
    ]
    output = decode(200, json.dumps(chunks, indent=1).encode())
    assert output.message.content == "Hello."
    assert output.finish_reason == FinishReason.STOP
    assert (output.usage.input_tokens, output.response_id) == (3, "r")


OVERFLOW = {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (5)."}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": OVERFLOW}, ContextOverflow),
        (400, [{"error": OVERFLOW}], ContextOverflow),
        (200, [{"candidates": [candidate({"text": "x"})]}, {"error": OVERFLOW}], ContextOverflow),
        (429, {"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}}, RateLimited),
        (403, {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}, AuthFailed),
        (200, {"error": {"message": "no"}}, ProviderError),
        (200, {"message": "no"}, ProviderError),
        (200, {}, MalformedReply),
        (200, [], MalformedReply),
        (200, {"candidates": []}, MalformedReply),
        (200, {"candidates": {}}, MalformedReply),
        (200, {"candidates": ["x"]}, MalformedReply),
        (200, {"candidates": [{"content": []}]}, MalformedReply),
        (200, {"candidates": [{"content": {"parts": {}}}]}, MalformedReply),
        (200, {"candidates": [{"content": {"parts": ["x"]}}]}, MalformedReply),
    ],
    ids=str,
)
def test_what_is_no_answer_is_a_typed_error(status: int, body: Any, kind: type[ProviderError]) -> None:
    with pytest.raises(kind):
        decode(status, json.dumps(body).encode())
