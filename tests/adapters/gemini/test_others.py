"""What others really sent and received: public cassettes and captures of proxies, beside the official SDK."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, ProviderError, RateLimited
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
from copyfit_adapters.gemini.decode import decode
from copyfit_adapters.gemini.dialect import PROTOCOL, VERTEX
from copyfit_adapters.gemini.encode import encode
from copyfit_adapters.gemini.losses import LOSSES
from copyfit_adapters.gemini.readback import readback
from copyfit_adapters.gemini.stream import GeminiStream

CASSETTES = pytest.mark.recorded("gemini generateContent", "vertexai generateContent")


def streamed(body: bytes) -> ModelOutput:
    stream = GeminiStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


class Google:
    """The official SDK before a server that always answers with `body`; it keeps what was `sent`."""

    def __init__(self, body: bytes, *, stream: bool = False, vertex: bool = False) -> None:
        import httpx
        from google.genai import Client, types
        from google.oauth2.credentials import Credentials

        self.sent: list[bytes] = []
        kind = "text/event-stream" if stream else "application/json"

        def answer(request: httpx.Request) -> httpx.Response:
            self.sent.append(request.read())
            return httpx.Response(200, headers={"content-type": kind}, content=body)

        http = types.HttpOptions(httpx_client=httpx.Client(transport=httpx.MockTransport(answer)))
        whose: dict[str, Any] = {"api_key": "k"}
        if vertex:
            whose = {"vertexai": True, "project": "p", "location": "global", "credentials": Credentials(token="t")}  # type: ignore[no-untyped-call]
        self._client: Any = Client(http_options=http, **whose)

    def ask(self, contents: Any, **config: Any) -> Any:
        return self._client.models.generate_content(model="m", contents=contents, config=config)

    def chunks(self, contents: Any) -> Iterator[Any]:
        return iter(self._client.models.generate_content_stream(model="m", contents=contents))


def official(body: bytes, *, stream: bool) -> list[Any]:
    """Return the answers in `body` as the official SDK reads them: one, or every chunk of a stream."""
    google = Google(body, stream=stream)
    return list(google.chunks("x")) if stream else [google.ask("x")]


def said_by(answers: list[Any]) -> tuple[str, str, list[tuple[str, Any]]]:
    parts = [part for answer in answers for part in answer.candidates[0].content.parts or []]
    texts = "".join(part.text for part in parts if part.text and not part.thought)
    thoughts = "".join(part.text for part in parts if part.text and part.thought)
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    return texts, thoughts, calls


def assert_same(ours: ModelOutput, theirs: list[Any]) -> None:
    parts = ours.message.parts
    calls = [(part.name, json.loads(part.arguments)) for part in parts if isinstance(part, ToolCall)]
    thoughts = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
    assert (ours.message.text, thoughts, calls) == said_by(theirs)
    reasons = [answer.candidates[0].finish_reason for answer in theirs]
    assert ours.raw_finish_reason == next(reason.value for reason in reversed(reasons) if reason)
    usage = next((answer.usage_metadata for answer in reversed(theirs) if answer.usage_metadata), None)
    if usage is not None:
        output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        assert ours.usage.input_tokens == usage.prompt_token_count
        assert ours.usage.output_tokens == output
        assert ours.usage.reasoning_tokens == usage.thoughts_token_count
        assert ours.usage.cached_input_tokens == usage.cached_content_token_count
    assert (ours.model, ours.response_id) == (theirs[-1].model_version, theirs[-1].response_id)


@CASSETTES
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for exchange in recording:
        read = readback(exchange.sent)
        assert read.messages
        again = readback(encode(read, "m").body)
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, again))
        assert canonical_json(kept) == canonical_json(gone)


@CASSETTES
def test_a_recorded_request_goes_out_again_with_the_same_contents(recording: Any) -> None:
    for exchange in recording:
        before = json.loads(exchange.sent)
        after = json.loads(encode(readback(exchange.sent), "m").body)
        assert after["contents"] == [{"role": "user"} | content for content in before["contents"]]
        assert after.get("generationConfig", {}) == before.get("generationConfig", {})
        assert after.get("toolConfig") == before.get("toolConfig")


@CASSETTES
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: Any) -> None:
    for exchange in recording:
        if exchange.status == 429:
            with pytest.raises(RateLimited):
                decode(exchange.status, exchange.answer)
            continue
        if exchange.answer.startswith(b"["):
            (chunk,) = json.loads(exchange.answer)
            assert chunk["candidates"][0]["finishReason"] == 1, "an enum as a number, which the SDK never asks for"
            chunk["candidates"][0]["finishReason"] = "STOP"
            chunk["usageMetadata"] = {
                name: count for name, count in chunk["usageMetadata"].items() if isinstance(count, int)
            } | {"trafficType": None}
            theirs = official(json.dumps(chunk).encode(), stream=False)
            assert_same(decode(exchange.status, exchange.answer), theirs)
            assert_same(streamed(exchange.answer), theirs)
            continue
        ours = streamed(exchange.answer) if exchange.streamed else decode(exchange.status, exchange.answer)
        assert_same(ours, official(exchange.answer, stream=exchange.streamed))


@pytest.mark.captured("*gemini*.json")
def test_a_captured_answer_decodes_or_is_a_typed_error(capture: Any, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id
    assert readback(capture.sent).messages
    try:
        output = (
            streamed(capture.answer)
            if capture.streamed and capture.status == 200
            else decode(capture.status, capture.answer)
        )
    except ContextOverflow:
        assert ".over" in name or "midstream" in name
    except ProviderError:
        assert capture.status >= 400
    else:
        assert capture.status == 200
        assert output.message.text or output.usage.output_tokens == 1
        assert output.usage.output_tokens is not None
        assert output.raw_finish_reason in ("MAX_TOKENS", "STOP")


@pytest.mark.captured("*gemini*.stream.json")
def test_a_captured_stream_says_to_us_what_it_says_to_the_official_sdk(capture: Any) -> None:
    if capture.status != 200:
        with pytest.raises(ContextOverflow):
            decode(capture.status, capture.answer)
        return
    assert_same(streamed(capture.answer), official(capture.answer, stream=True))


CONVERSATION = ModelInput(
    "Be brief.",
    (
        UserMessage(content=(TextPart(text="Oslo?"), ImagePart(data="QUJD", media_type="image/png"))),
        AssistantMessage(
            content=(
                ThinkingPart(text="hm", signature="QQ==", provider=PROTOCOL),
                TextPart(text="Looking."),
                ToolCall(
                    id="c1",
                    name="weather",
                    arguments='{"city":"Oslo","days":2}',
                    extra={PROTOCOL: {"thoughtSignature": "Qg=="}},
                ),
                ToolCall(id="c2", name="weather", arguments='{"city":"Rome","days":1}'),
            )
        ),
        ToolMessage(call_id="c1", name="weather", content="sunny"),
        ToolMessage(call_id="c2", name="weather", content="no such place", is_error=True),
        UserMessage(content=(FilePart(url="gs://a/b.pdf", media_type="application/pdf"), TextPart(text="So?"))),
    ),
    (
        ToolSpec(
            name="weather",
            description="Tell the weather.",
            parameters={
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        ),
    ),
    ModelSettings(
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        stop=("END",),
        tool_choice="tool:weather",
        response_schema=ResponseSchema(json_schema={"type": "object", "properties": {"a": {"type": "string"}}}),
        extra={PROTOCOL: {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}},
    ),
)
ANSWER = b'{"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"finishReason":"STOP"}]}'


def asked_of_google(google: Google, *, openapi: bool = False) -> bytes:
    """Put the conversation to the official SDK, schemas in OpenAPI's form or not, and return what it sent."""
    form = "parameters" if openapi else "parameters_json_schema"
    schema = CONVERSATION.settings.response_schema
    assert schema is not None
    calling = {"mode": "ANY", "allowed_function_names": ["weather"]}
    body = json.loads(encode(CONVERSATION, "m").body)
    for content in body["contents"]:
        for part in content["parts"]:
            if "inlineData" in part:
                # The SDK takes bytes, not base64, and encodes them itself.
                part["inlineData"]["data"] = b"ABC"
            if "thoughtSignature" in part:
                part["thoughtSignature"] = {"QQ==": b"A", "Qg==": b"B"}[part["thoughtSignature"]]
    google.ask(
        body["contents"],
        system_instruction=CONVERSATION.system,
        tools=[
            {
                "function_declarations": [
                    {"name": tool.name, "description": tool.description, form: tool.parameters}
                ]
            }
            for tool in CONVERSATION.tools
        ],
        tool_config={"function_calling_config": calling},
        max_output_tokens=9,
        temperature=0.5,
        top_p=0.9,
        seed=7,
        stop_sequences=["END"],
        thinking_config={"include_thoughts": True},
        response_mime_type="application/json",
        **{"response_schema" if openapi else "response_json_schema": schema.json_schema},
    )
    (sent,) = google.sent
    return sent


@pytest.mark.parametrize("openapi", [False, True])
def test_what_the_official_sdk_puts_on_the_wire_for_the_same_conversation_reads_back_as_it(openapi: bool) -> None:
    read = readback(asked_of_google(Google(ANSWER), openapi=openapi))
    kept, found = (without_losses(side.as_data(), LOSSES) for side in (CONVERSATION, read))
    assert canonical_json(found) == canonical_json(kept)


def test_the_official_sdk_sends_ids_to_vertex_ai_as_we_do_not() -> None:
    sent = json.loads(asked_of_google(Google(ANSWER, vertex=True)))
    ours = json.loads(encode(CONVERSATION, "m", dialect=VERTEX).body)
    theirs, own = ([part for content in body["contents"] for part in content["parts"]] for body in (sent, ours))
    assert [part["functionCall"].get("id") for part in theirs if "functionCall" in part] == ["c1", "c2"]
    assert [part["functionCall"].get("id") for part in own if "functionCall" in part] == [None, None]
