"""What others really sent and received: public cassettes, captures of servers, and the official SDK itself."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, ProviderError, StreamBroken
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.openai_responses.decode import decode
from copyfit_adapters.openai_responses.dialect import PROTOCOL
from copyfit_adapters.openai_responses.encode import encode
from copyfit_adapters.openai_responses.losses import LOSSES
from copyfit_adapters.openai_responses.readback import readback
from copyfit_adapters.openai_responses.stream import ResponsesStream

ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-x",
    "status": "completed",
    "error": None,
    "output": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Two"}, {"type": "summary_text", "text": "plots."}],
            "encrypted_content": "c2VhbGVk",
        },
        {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "phase": "commentary",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "c1",
            "name": "f",
            "arguments": "{}",
        },
        {
            "id": "ws_1",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        },
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
TOOL: dict[str, Any] = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": None}


def streamed(body: bytes) -> ModelOutput:
    stream = ResponsesStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def official(body: bytes, *, stream: bool) -> dict[str, Any]:
    """Return the answer in `body` as the official SDK reads it."""
    answers = converse(body, {"input": "x", "stream": stream}, kind="event-stream" if stream else "json")[0]
    last = [event.response for event in answers if event.type == "response.completed"][-1] if stream else answers
    return dict(last.model_dump(), output_text=last.output_text)


def converse(body: bytes, *asked: dict[str, Any], kind: str = "json") -> tuple[Any, list[bytes]]:
    """Return what the official SDK reads in `body`, and the requests that it sends for each of `asked`."""
    import httpx2
    import openai

    sent: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.read())
        media = "text/event-stream" if kind == "event-stream" else "application/json"
        return httpx2.Response(200, headers={"content-type": media}, content=body)

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        openai.OpenAI(api_key="k", http_client=http) as client,
    ):
        found: Any = None
        for fields in asked:
            found = client.responses.create(model="m", **fields)
            found = list(found) if kind == "event-stream" else found
    return found, sent


def assert_says_the_same(ours: ModelOutput, theirs: dict[str, Any]) -> None:
    parts, items = ours.message.parts, theirs["output"]
    assert ours.message.text == theirs["output_text"]
    calls = [(part.id, part.name, part.arguments) for part in parts if isinstance(part, ToolCall)]
    assert calls == [
        (item["call_id"], item["name"], item["arguments"]) for item in items if item["type"] == "function_call"
    ]
    reasons = [part.opaque["id"] for part in parts if isinstance(part, ThinkingPart)]
    assert reasons == [item["id"] for item in items if item["type"] == "reasoning"]
    details = theirs.get("incomplete_details") or {}
    assert ours.raw_finish_reason == (details.get("reason") or theirs["status"])
    usage = theirs["usage"]
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (usage["input_tokens"], usage["output_tokens"])
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
    reasoned = (usage.get("output_tokens_details") or {}).get("reasoning_tokens")
    assert (ours.usage.cached_input_tokens, ours.usage.reasoning_tokens) == (cached, reasoned)


def comparable(model_input: ModelInput) -> bytes:
    return canonical_json(without_losses(model_input.as_data(), LOSSES))


@pytest.mark.recorded("openai responses")
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for interaction in recording:
        read = readback(interaction.sent)
        body = json.loads(interaction.sent)
        again = encode(read, body["model"], stream=body.get("stream", False)).body
        assert comparable(readback(again)) == comparable(read)
        assert len(json.loads(again)["input"]) == len(body["input"]) - bool(read.system)


@pytest.mark.recorded("openai responses")
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: Any) -> None:
    for interaction in recording:
        if interaction.status != 200:
            with pytest.raises(ContextOverflow):
                decode(interaction.status, interaction.answer)
            continue
        read = streamed(interaction.answer) if interaction.streamed else decode(200, interaction.answer)
        assert_says_the_same(read, official(interaction.answer, stream=interaction.streamed))


@pytest.mark.captured("*.responses*.json")
def test_a_captured_answer_says_what_it_says_to_the_official_sdk_or_is_a_typed_error(
    capture: Any, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    try:
        output = streamed(capture.answer) if capture.streamed else decode(capture.status, capture.answer)
    except ContextOverflow:
        assert ".over" in name or name.startswith("llamacpp-b11549-midstream")
    except StreamBroken:
        assert name == "litellm-midstream.responses.openai", "the proxy swallows the error and ends the stream"
    except ProviderError:
        assert capture.status >= 400
        assert ".over" not in name
    else:
        assert capture.status == 200
        assert output.message.content
        assert_says_the_same(output, official(capture.answer, stream=capture.streamed))


def test_a_request_of_the_official_sdk_reads_back_as_the_same_conversation() -> None:
    asked = {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Oslo?"},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "And this?"},
                    {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "low"},
                    {"type": "input_file", "file_id": "file-1"},
                    {"type": "input_file", "file_data": "data:application/pdf;base64,QUJD", "filename": "a.pdf"},
                ],
            },
            {"role": "assistant", "content": "Plain."},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"n": 1.0}'},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "rain"}]},
        ],
        "tools": [TOOL],
        "tool_choice": {"type": "function", "name": "f"},
        "parallel_tool_calls": False,
        "max_output_tokens": 9,
        "temperature": 0.5,
        "text": {
            "format": {"type": "json_schema", "name": "plan", "schema": {"type": "object"}},
            "verbosity": "low",
        },
        "reasoning": {"effort": "low"},
    }
    _, (sent,) = converse(json.dumps(ANSWER).encode(), asked)
    expected = ModelInput(
        "Be brief.",
        (
            UserMessage(content="Oslo?"),
            UserMessage(
                content=(
                    TextPart(text="And this?"),
                    ImagePart(data="QUJD", media_type="image/png", detail="low"),
                    FilePart(file_id="file-1"),
                    FilePart(data="QUJD", media_type="application/pdf", filename="a.pdf"),
                )
            ),
            AssistantMessage(
                content=(TextPart(text="Plain."), ToolCall(id="c1", name="f", arguments='{"n": 1.0}'))
            ),
            ToolMessage(call_id="c1", content="rain"),
        ),
        (ToolSpec(name="f", parameters={"type": "object"}),),
        ModelSettings(
            max_output_tokens=9,
            temperature=0.5,
            tool_choice="tool:f",
            parallel_tool_calls=False,
            response_schema=ResponseSchema(name="plan", json_schema={"type": "object"}),
            extra={PROTOCOL: {"text": {"verbosity": "low"}, "reasoning": {"effort": "low"}}},
        ),
    )
    assert readback(sent) == expected
    assert comparable(readback(encode(expected, "m").body)) == comparable(expected)


def test_an_answer_goes_back_as_the_official_sdk_sends_it_back() -> None:
    answer = json.dumps(ANSWER).encode()
    read, _ = converse(answer, {"input": "Oslo?"})
    user, result = (
        {"role": "user", "content": "Oslo?"},
        {"type": "function_call_output", "call_id": "c1", "output": "r"},
    )
    _, (theirs,) = converse(answer, {"input": [user, *read.output, result]})
    said = decode(200, answer).message
    ours = encode(
        ModelInput("", (UserMessage(content="Oslo?"), said, ToolMessage(call_id="c1", content="r"))), "m"
    )
    sent = json.loads(ours.body)["input"]
    assert sent[1:-1] == ANSWER["output"]
    assert json.loads(theirs)["input"][1:-1] == sent[1:-1]
    assert readback(theirs).messages == readback(ours.body).messages


def test_the_official_sdk_sends_back_nulls_and_a_renamed_field_where_we_send_what_was_said() -> None:
    call = ANSWER["output"][2]
    answer = json.dumps(ANSWER | {"output": [call | {"caller": None, "async": None}]}).encode()
    read, _ = converse(answer, {"input": "Oslo?"})
    _, (theirs,) = converse(answer, {"input": read.output})
    assert json.loads(theirs)["input"] == [call | {"caller": None, "async_": None}]
    ours = encode(ModelInput("", (decode(200, answer).message,)), "m").body
    assert json.loads(ours)["input"] == [call]
