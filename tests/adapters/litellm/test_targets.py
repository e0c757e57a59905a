"""What litellm puts on the wire for its providers: what arrives, and what litellm drops, merges or renames."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from copyfit.errors import ContextOverflow, CopyfitError, ProviderError, SettingsError, StreamBroken, Unavailable
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages import readback as anthropic
from copyfit_adapters.litellm.client import LiteLLMClient
from copyfit_adapters.openai_chat import readback as openai
from copyfit_harness.conformance.client import collect

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("litellm"),
    # litellm's own use of pydantic, and clients of its own that it does not close
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALLS = (
    ToolCall(id="call_1", name="weather", arguments='{"city":"Oslo","x":1.0}'),
    ToolCall(id="call_2", name="weather", arguments='{"city":"Rome"}'),
)
TALK = ModelInput(
    "Be brief.",
    (
        UserMessage(content="What is the weather?"),
        AssistantMessage(content=(TextPart(text="Looking."), *CALLS)),
        ToolMessage(call_id="call_1", content="rain"),
        ToolMessage(call_id="call_2", content="none"),
        UserMessage(content="Thanks."),
        UserMessage(content=(TextPart(text="And here?"), ImagePart(data="QUJD", media_type="image/png"))),
    ),
    (ToolSpec(name="weather", description="Tell it.", parameters=CITY),),
    ModelSettings(max_output_tokens=64, temperature=0.5, top_p=0.9, stop=("END",), tool_choice="required"),
)
OPENAI_DIALECT = ["openai/m1", "mistral/m1", "deepseek/m1", "groq/m1"]


async def caught(model: str, model_input: ModelInput, **options: Any) -> Any:
    """Return the body that litellm sends for `model`."""
    bodies: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.read())
        return httpx.Response(400, json={"error": {"message": "stop"}})

    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    with pytest.raises(CopyfitError):
        await LiteLLMClient(model, api_key="k-1", http=http, options=options).complete(model_input)
    (body,) = bodies
    return json.loads(body)


@pytest.fixture
def server() -> Iterator[tuple[str, list[bytes]]]:
    """Run a server on loopback that answers as Cohere does; give its address and the bodies that came."""
    bodies: list[bytes] = []

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(COMMAND).encode())

        def log_message(self, *_: Any) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/chat", bodies
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.mark.parametrize("model", OPENAI_DIALECT)
async def test_providers_that_speak_chat_completions_get_exactly_the_input(model: str) -> None:
    talk = TALK
    if model.startswith("deepseek"):
        # litellm sends it no images.
        talk = ModelInput(TALK.system, TALK.messages[:-1], TALK.tools, TALK.settings)
    body = await caught(model, talk)
    choice = body["tool_choice"]
    assert choice == ("any" if model.startswith("mistral") else "required")
    assert openai.readback(json.dumps(body | {"tool_choice": "required"}).encode()) == talk


async def test_anthropic_gets_neighbours_in_one_turn_and_arguments_as_objects() -> None:
    body = await caught("anthropic/claude-sonnet-4-5", TALK)
    read = anthropic.readback(json.dumps(body).encode())
    assert read.system == TALK.system
    assert [message.role for message in read.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [call.arguments for call in read.messages[1].tool_calls] == [call.arguments for call in CALLS]  # type: ignore[union-attr]
    assert [part.type for part in read.messages[-1].parts] == ["text", "text", "image"]
    assert body["tool_choice"] == {"type": "any"}
    assert body["stop_sequences"] == ["END"]


async def test_gemini_loses_the_ids_of_calls_and_gets_the_names_instead() -> None:
    body = await caught("gemini/gemini-2.5-pro", TALK)
    turns = body["contents"]
    assert [turn["role"] for turn in turns] == ["user", "model", "user", "user"]
    results = [part["function_response"] for part in turns[2]["parts"]]
    assert results == [{"name": "weather", "response": {"content": text}} for text in ("rain", "none")]
    assert "call_1" not in json.dumps(body)
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert body["generationConfig"]["stop_sequences"] == ["END"]


async def test_bedrock_gets_converse_turns() -> None:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"}
    body = await caught("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", TALK, **keys)
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    kinds = [next(iter(block)) for block in body["messages"][2]["content"]]
    assert kinds == ["toolResult", "toolResult", "text", "text", "image"]
    assert body["inferenceConfig"] == {"temperature": 0.5, "topP": 0.9, "stopSequences": ["END"], "maxTokens": 64}


async def test_ollama_gets_no_tool_choice() -> None:
    body = await caught("ollama_chat/m1", TALK, drop_params=True)
    assert "tool_choice" not in body
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == {"city": "Oslo", "x": 1.0}
    assert body["options"] == {"temperature": 0.5, "top_p": 0.9, "stop": ["END"], "num_predict": 64}


async def test_cohere_gets_no_tool_choice_through_a_client_of_litellms_own(
    server: tuple[str, list[bytes]],
) -> None:
    address, bodies = server
    client = LiteLLMClient("cohere_chat/command-a-03-2025", api_key="k-1", base_url=address)
    assert (await client.complete(TALK)).message == AssistantMessage(content="Hi.")
    body = json.loads(bodies[0])
    assert len(bodies) == 1
    assert "tool_choice" not in body
    assert (body["p"], body["stop_sequences"]) == (0.9, ["END"])
    calls = body["messages"][2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == [call.arguments for call in CALLS]


async def test_a_client_that_litellm_went_around_is_told_though_nobody_listed_the_provider(
    server: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copyfit_adapters.litellm.client.OWN_CLIENTS", frozenset())
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
    client = LiteLLMClient("cohere_chat/m1", api_key="k-1", base_url=server[0], http=http)
    with pytest.raises(SettingsError, match="left out for cohere_chat"):
        await client.complete(ModelInput("", TALK.messages[:1]))


COMMAND = {
    "id": "r1",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
    "finish_reason": "COMPLETE",
    "usage": {"tokens": {"input_tokens": 9, "output_tokens": 2}},
}
CLAUDE = {
    "id": "r1",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "redacted_thinking", "data": "R"},
        {"type": "text", "text": "Hi."},
        {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo"}},
    ],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
    },
}
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "hm", "thought": True},
                    {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": "VDE="},
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 9,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "totalTokenCount": 14,
    },
}


async def answered(model: str, answer: Any) -> tuple[AssistantMessage, Any, Any]:
    """Return what the model says, its usage, and the body that sends it back with a result."""
    bodies: list[bytes] = []

    def reply(request: httpx.Request) -> httpx.Response:
        bodies.append(request.read())
        return httpx.Response(200, json=answer)

    client = LiteLLMClient(model, api_key="k-1", http=httpx.AsyncClient(transport=httpx.MockTransport(reply)))
    first = ModelInput("", TALK.messages[:1], TALK.tools, ModelSettings(max_output_tokens=64))
    output = await client.complete(first)
    result = ToolMessage(call_id=output.message.tool_calls[0].id, content="rain")
    await client.complete(ModelInput("", (*first.messages, output.message, result), first.tools, first.settings))
    return output.message, output.usage, json.loads(bodies[1])


async def test_thinking_of_claude_goes_back_to_claude_with_its_seals() -> None:
    said, usage, body = await answered("anthropic/claude-sonnet-4-5", CLAUDE)
    thought = [part for part in said.parts if isinstance(part, ThinkingPart)]
    assert [(part.text, part.signature, part.provider) for part in thought] == [
        ("hm", "S", "litellm:anthropic"),
        ("", None, "litellm:anthropic"),
    ]
    assert body["messages"][1]["content"] == CLAUDE["content"]
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (15, 3, 2)


async def test_thought_signatures_of_gemini_go_back_to_gemini_and_not_to_claude() -> None:
    said, usage, body = await answered("gemini/gemini-3-pro-preview", GEMINI)
    call = body["contents"][1]["parts"][-1]
    assert call["thoughtSignature"] == "VDE="
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (9, 5, 2)
    talk = ModelInput("", (*TALK.messages[:1], said), TALK.tools, ModelSettings(max_output_tokens=64))
    foreign = json.dumps(await caught("anthropic/claude-sonnet-4-5", talk))
    assert "provider_specific_fields" not in foreign
    assert '"thinking"' not in foreign


@pytest.mark.parametrize("model", ["openai/m1", "deepseek/m1", "anthropic/m1"])
@pytest.mark.parametrize("body", [b"", b"<html>"])
async def test_a_stream_without_anything_in_it_is_broken_though_litellm_ends_it(model: str, body: bytes) -> None:
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=body)))
    with pytest.raises(StreamBroken):
        await collect(LiteLLMClient(model, api_key="k-1", http=http).stream(TALK))


@pytest.mark.parametrize("status", [413, 529])
async def test_a_status_that_litellm_replaces_is_told_as_it_came(status: int) -> None:
    answer = httpx.Response(status, json={"error": {"message": "no good"}})
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answer))
    with pytest.raises(ProviderError) as caught:
        await LiteLLMClient("anthropic/m1", api_key="k-1", http=http).complete(TALK)
    assert caught.value.status == status


async def test_an_error_that_the_provider_tells_in_mid_stream_is_no_broken_stream() -> None:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"

    body = event("message_start", message={"id": "r1", "content": [], "usage": {"input_tokens": 1}})
    body += event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    body += event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hel"})
    body += event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, text=body)))
    with pytest.raises(Unavailable, match="Overloaded"):
        await collect(LiteLLMClient("anthropic/m1", api_key="k-1", http=http).stream(TALK))


@pytest.mark.parametrize("model", ["openai/m1", "deepseek/m1", "anthropic/m1"])
async def test_an_overflow_in_place_of_a_stream_is_told(model: str) -> None:
    body = b'{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}'
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, content=body)))
    with pytest.raises(ContextOverflow) as caught:
        await collect(LiteLLMClient(model, api_key="k-1", http=http).stream(TALK))
    assert (caught.value.requested_tokens, caught.value.limit_tokens) == (9, 8)
