"""What others really sent and received: public cassettes, and the official SDK (boto3) on the wire."""

import io
import json
from base64 import b64decode, b64encode
from typing import Any, Protocol

import pytest

from copyfit.errors import ProviderError
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.bedrock_converse.decode import decode
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode
from copyfit_adapters.bedrock_converse.losses import LOSSES
from copyfit_adapters.bedrock_converse.readback import readback
from copyfit_adapters.bedrock_converse.stream import ConverseStream
from copyfit_adapters.cloud_homes import bedrock_home
from copyfit_adapters.codec.losses import without_losses

MODEL = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.m-v1:0"


class Recorded(Protocol):
    """One request and its answer, out of a cassette."""

    sent: bytes
    status: int
    answer: bytes
    streamed: bool


class Boto:
    """The official client, which sends nothing: it keeps each request and answers with what it is given."""

    def __init__(self, status: int = 200, answer: bytes = b"{}", *, streamed: bool = False) -> None:
        import boto3
        from botocore.config import Config

        self.requests: list[Any] = []
        self._answer = status, answer, streamed
        self.client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            aws_access_key_id="AK",
            aws_secret_access_key="secret",
            config=Config(retries={"total_max_attempts": 1}),
        )
        self.client.meta.events.register("before-send.bedrock-runtime.*", self._take)

    def _take(self, request: Any, **_: Any) -> Any:
        from botocore.awsrequest import AWSResponse
        from urllib3 import HTTPResponse

        self.requests.append(request)
        status, answer, streamed = self._answer
        kind = "application/vnd.amazon.eventstream" if streamed else "application/json"
        raw = HTTPResponse(io.BytesIO(answer), status=status, preload_content=False)
        return AWSResponse(request.url, status, {"content-type": kind}, raw)


def official(answer: bytes) -> dict[str, Any]:
    """Return an answer as boto3 reads it."""
    read = Boto(answer=answer).client.converse(modelId="m", messages=[])
    return {name: value for name, value in read.items() if name != "ResponseMetadata"}


def official_events(answer: bytes) -> list[dict[str, Any]]:
    return list(Boto(answer=answer, streamed=True).client.converse_stream(modelId="m", messages=[])["stream"])


def streamed(body: bytes) -> ModelOutput:
    stream = ConverseStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def in_base64(value: Any) -> Any:
    """Return what boto3 read with its data as the wire has it."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, list):
        return [in_base64(entry) for entry in value]
    return {name: in_base64(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def in_bytes(value: Any) -> Any:
    """Return a wire body as boto3 wants it, with data as bytes."""
    if isinstance(value, list):
        return [in_bytes(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(entry) if name in ("bytes", "redactedContent") else in_bytes(entry)
        for name, entry in value.items()
    }


@pytest.mark.recorded("bedrock converse")
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(
    recording: list[Recorded],
) -> None:
    for each in recording:
        read = readback(each.sent)
        again = readback(encode(read, "m").body)
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, again))
        assert canonical_json(kept) == canonical_json(gone)
        assert read.messages


@pytest.mark.recorded("bedrock converse")
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: list[Recorded]) -> None:
    from botocore.exceptions import ClientError

    for each in recording:
        if each.status != 200:
            with pytest.raises(ClientError) as theirs:
                Boto(each.status, each.answer).client.converse(modelId="m", messages=[])
            with pytest.raises(ProviderError, match=theirs.value.response["Error"]["Message"]):
                decode(each.status, each.answer)
            continue
        assert each.streamed
        same_stream(each.answer)


def same_stream(answer: bytes) -> None:
    """Check that a streamed answer says the same to us and to boto3."""
    ours, events = streamed(answer), official_events(answer)
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    begun = [event["contentBlockStart"]["start"] for event in events if "contentBlockStart" in event]
    (stop,) = [event["messageStop"] for event in events if "messageStop" in event]
    (metadata,) = [event["metadata"] for event in events if "metadata" in event]
    parts = ours.message.parts
    assert ours.message.text == "".join(delta.get("text", "") for delta in deltas)
    thoughts = [delta["reasoningContent"] for delta in deltas if "reasoningContent" in delta]
    said = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
    assert said == "".join(piece.get("text", "") for piece in thoughts)
    sealed = "".join(part.signature or "" for part in parts if isinstance(part, ThinkingPart))
    assert sealed == "".join(piece.get("signature", "") for piece in thoughts)
    hidden = b"".join(piece.get("redactedContent", b"") for piece in thoughts)
    held = [part.opaque["redactedContent"] for part in parts if isinstance(part, ThinkingPart) and part.opaque]
    assert b"".join(map(b64decode, held)) == hidden
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [(call.id, call.name) for call in calls] == [
        (start["toolUse"]["toolUseId"], start["toolUse"]["name"]) for start in begun
    ]
    assert "".join(call.arguments for call in calls) == "".join(
        delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta
    )
    assert ours.raw_finish_reason == stop["stopReason"]
    same_cost(ours, metadata["usage"])


def same_cost(ours: ModelOutput, usage: dict[str, Any]) -> None:
    """Check that the cost is the one that boto3 read; its total counts all input tokens and the output."""
    assert ours.usage.output_tokens == usage["outputTokens"]
    assert ours.usage.input_tokens == usage["totalTokens"] - usage["outputTokens"]
    assert ours.usage.cached_input_tokens == usage.get("cacheReadInputTokens")


ANSWER: dict[str, Any] = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Two plots.", "signature": "c2ln"}}},
                {"reasoningContent": {"redactedContent": "eHl6"}},
                {"text": "I look."},
                {"citationsContent": {"content": [{"text": "So."}], "citations": [{"title": "a", "source": "b"}]}},
                {"image": {"format": "png", "source": {"bytes": "QUJD"}}},
                {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": [1, 2.5, None], "b": "\u76d0"}}},
                {"toolUse": {"toolUseId": "c2", "name": "g", "input": {}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {
        "inputTokens": 5,
        "outputTokens": 9,
        "totalTokens": 134,
        "cacheReadInputTokens": 100,
        "cacheWriteInputTokens": 20,
    },
    "metrics": {"latencyMs": 605},
    "additionalModelResponseFields": {"stop_sequence": "END"},
}


def test_a_whole_answer_says_to_us_what_it_says_to_the_official_sdk() -> None:
    body = json.dumps(ANSWER).encode()
    ours, theirs = decode(200, body), in_base64(official(body))
    assert theirs == ANSWER
    back = json.loads(encode(ModelInput("", (ours.message,)), "m").body)["messages"]
    assert back == [theirs["output"]["message"]]
    assert ours.message.text == "I look.So."
    assert ours.raw_finish_reason == theirs["stopReason"]
    assert ours.extra == {name: theirs[name] for name in ("metrics", "additionalModelResponseFields")}
    same_cost(ours, theirs["usage"])


def test_a_streamed_answer_says_to_us_what_it_says_to_the_official_sdk() -> None:
    pieces: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    deltas: list[tuple[int, dict[str, Any]]] = [
        (0, {"reasoningContent": {"text": "Two "}}),
        (0, {"reasoningContent": {"text": "plots."}}),
        (0, {"reasoningContent": {"signature": "c2ln"}}),
        (1, {"reasoningContent": {"redactedContent": "QQ=="}}),
        (1, {"reasoningContent": {"redactedContent": "Qg=="}}),
        (2, {"text": "I look: "}),
        (2, {"text": "\u76d0."}),
        (2, {"citation": {"title": "a"}}),
        (3, {"toolUse": {"input": '{"a": '}}),
        (3, {"toolUse": {"input": "1.0}"}}),
        (4, {"toolUse": {"input": "{}"}}),
    ]
    for index, delta in deltas:
        if "toolUse" in delta and f"c{index}" not in str(pieces):
            start = {"toolUse": {"toolUseId": f"c{index}", "name": "f"}}
            pieces.append(("contentBlockStart", {"start": start, "contentBlockIndex": index}))
        pieces.append(("contentBlockDelta", {"delta": delta, "contentBlockIndex": index}))
    pieces.append(("messageStop", {"stopReason": "tool_use"}))
    pieces.append(("metadata", {"usage": ANSWER["usage"], "metrics": {"latencyMs": 1}}))
    kind = {":content-type": "application/json", ":message-type": "event"}
    same_stream(
        b"".join(
            encode_event({":event-type": name} | kind, json.dumps(fields).encode()) for name, fields in pieces
        )
    )


HISTORY: tuple[Message, ...] = (
    UserMessage(
        content=(
            TextPart(text="Compare."),
            ImagePart(data="QUJD", media_type="image/png"),
            FilePart(data="JVBERg==", media_type="application/pdf", filename="plan"),
        )
    ),
    AssistantMessage(
        content=(
            ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL),
            ThinkingPart(provider=PROTOCOL, opaque={"redactedContent": "eHl6"}),
            TextPart(text="I look."),
            ToolCall(id="c1", name="get_soil", arguments='{"plot":"03"}'),
            ToolCall(id="c2", name="get_soil", arguments='{"plot":"04"}'),
        )
    ),
    ToolMessage(call_id="c1", content=(TextPart(text="8.41 dS/m"),)),
    ToolMessage(call_id="c2", content=(TextPart(text="no such plot"),), is_error=True),
    UserMessage(content=(TextPart(text="And now?"),)),
)
INPUT = ModelInput(
    "Be brief.",
    HISTORY,
    (ToolSpec(name="get_soil", description="Soil.", parameters={"type": "object"}, strict=True),),
    ModelSettings(
        max_output_tokens=50,
        temperature=0.5,
        top_p=0.25,
        stop=("END",),
        tool_choice="required",
        response_schema=ResponseSchema(json_schema={"type": "object"}, name="plan"),
        extra={PROTOCOL: {"additionalModelRequestFields": {"top_k": 5}}},
    ),
)


@pytest.mark.parametrize("cache", [None, "1h"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_official_sdk_puts_our_body_on_the_wire_as_we_do(cache: Any, stream: bool) -> None:
    ours = encode(INPUT, MODEL, stream=stream, cache=cache)
    boto = Boto(answer=b"" if stream else json.dumps(ANSWER).encode(), streamed=stream)
    call = boto.client.converse_stream if stream else boto.client.converse
    call(modelId=MODEL, **in_bytes(json.loads(ours.body)))
    (request,) = boto.requests
    assert request.url == bedrock_home("us-east-1").url + ours.path
    assert json.loads(request.body) == json.loads(ours.body)
    assert readback(request.body) == INPUT


def test_the_same_conversation_said_with_the_official_sdk_reads_back_as_ours() -> None:
    boto = Boto(answer=json.dumps(ANSWER).encode())
    boto.client.converse(
        modelId=MODEL,
        system=[{"text": "Be brief."}],
        inferenceConfig={"maxTokens": 50, "temperature": 0.5, "topP": 0.25, "stopSequences": ["END"]},
        toolConfig={
            "tools": [
                {
                    "toolSpec": {
                        "name": "get_soil",
                        "description": "Soil.",
                        "inputSchema": {"json": {"type": "object"}},
                        "strict": True,
                    }
                }
            ],
            "toolChoice": {"any": {}},
        },
        outputConfig={
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"schema": json.dumps({"type": "object"}), "name": "plan"}},
            }
        },
        additionalModelRequestFields={"top_k": 5},
        messages=[
            {
                "role": "user",
                "content": [
                    {"text": "Compare."},
                    {"image": {"format": "png", "source": {"bytes": b"ABC"}}},
                    {"document": {"format": "pdf", "name": "plan", "source": {"bytes": b"%PDF"}}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Two plots.", "signature": "c2ln"}}},
                    {"reasoningContent": {"redactedContent": b"xyz"}},
                    {"text": "I look."},
                    {"toolUse": {"toolUseId": "c1", "name": "get_soil", "input": {"plot": "03"}}},
                    {"toolUse": {"toolUseId": "c2", "name": "get_soil", "input": {"plot": "04"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"text": "8.41 dS/m"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "c2", "content": [{"text": "no such plot"}], "status": "error"}},
                    {"text": "And now?"},
                ],
            },
        ],
    )
    assert readback(boto.requests[0].body) == INPUT
