"""The official SDK of each protocol under the recorder: what it read live, it reads again from the cassette."""

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from copyfit import ToolCall
from copyfit_harness.scripted.chat_replies import Say
from copyfit_harness.scripted.server import ScriptedServer
from copyfit_harness.scripted.voices.known import VOICES
from copyfit_harness.transport.recorder import Recorder, RecordMode

ASKS = Say(
    "I read both plots: 盐碱地.",
    calls=(
        ToolCall(id="callA0001", name="read_plot", arguments='{"plot":"plot-2"}'),
        ToolCall(id="callB0002", name="read_plot", arguments='{"plot":"plot-9"}'),
    ),
    thinking="Two plots, and then I compare them.",
)
ANSWER = Say("plot-2 is the driest.")
ASKED = [{"role": "user", "content": "Which plot is the driest?"}]

Said = tuple[str, list[tuple[str, dict[str, Any]]]]
"""The text of an answer, and the name and arguments of each call."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the credentials of whoever runs this out of it."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def chat(http: Any, key: str, stream: bool) -> Said:
    import openai

    client: Any = openai.OpenAI(api_key=key, http_client=http, max_retries=0)
    if stream:
        with client.chat.completions.stream(model="m1", messages=ASKED) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="m1", messages=ASKED).choices[0].message
    calls = message.tool_calls or ()
    return message.content or "", [_call(call.function.name, call.function.arguments) for call in calls]


def responses(http: Any, key: str, stream: bool) -> Said:
    import openai

    client: Any = openai.OpenAI(api_key=key, http_client=http, max_retries=0)
    if stream:
        with client.responses.stream(model="m1", input=ASKED) as events:
            text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
            response = events.get_final_response()
            assert response.output_text == text
    else:
        response = client.responses.create(model="m1", input=ASKED)
    calls = [item for item in response.output if item.type == "function_call"]
    return response.output_text, [_call(call.name, call.arguments) for call in calls]


def messages_by(opened: Callable[..., Any]) -> Callable[[Any, str, bool], Said]:
    def ask(http: Any, key: str, stream: bool) -> Said:
        client = opened(http, key)
        asked: dict[str, Any] = {"model": "m1", "max_tokens": 64, "messages": ASKED}
        if stream:
            with client.messages.stream(**asked) as events:
                message = events.get_final_message()
        else:
            message = client.messages.create(**asked)
        text = "".join(block.text for block in message.content if block.type == "text")
        return text, [(block.name, block.input) for block in message.content if block.type == "tool_use"]

    return ask


def _anthropic(http: Any, key: str) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key=key, http_client=http, max_retries=0)


def _anthropic_on_bedrock(http: Any, key: str) -> Any:
    import anthropic

    who: dict[str, Any] = {
        "aws_access_key": f"AKID-{key}",
        "aws_secret_key": f"secret-{key}",
        "aws_session_token": key,
    }
    return anthropic.AnthropicBedrock(**who, aws_region="eu-west-1", http_client=http, max_retries=0)


def _anthropic_on_vertex(http: Any, key: str) -> Any:
    import anthropic

    return anthropic.AnthropicVertex(
        access_token=key, project_id="p1", region="eu", http_client=http, max_retries=0
    )


def generate_content(*, vertex: bool) -> Callable[[Any, str, bool], Said]:
    def ask(http: Any, key: str, stream: bool) -> Said:
        from google.genai import Client, types
        from google.oauth2.credentials import Credentials

        who: dict[str, Any] = {"api_key": key}
        if vertex:
            token = Credentials(token=key)  # type: ignore[no-untyped-call]
            who = {"vertexai": True, "project": "p1", "location": "eu", "credentials": token}
        models = Client(http_options=types.HttpOptions(httpx_client=http), **who).models
        asked: dict[str, Any] = {"model": "m1", "contents": ASKED[0]["content"]}
        answers: Any = (
            list(models.generate_content_stream(**asked)) if stream else [models.generate_content(**asked)]
        )
        parts = [part for answer in answers for part in answer.candidates[0].content.parts or ()]
        calls = [part.function_call for part in parts if part.function_call]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        return text, [(call.name, call.args) for call in calls]

    return ask


def mistral(http: Any, key: str, stream: bool) -> Said:
    from mistralai.client import Mistral

    client: Any = Mistral(api_key=key, client=http)
    asked: dict[str, Any] = {"model": "m1", "messages": ASKED}
    if stream:
        said: list[Any] = [event.data.choices[0].delta for event in client.chat.stream(**asked)]
    else:
        said = [client.chat.complete(**asked).choices[0].message]
    calls = [call.function for each in said for call in each.tool_calls or ()]
    chunks = [each.content or "" for each in said]
    texts = [
        each if isinstance(each, str) else "".join(c.text for c in each if c.type == "text") for each in chunks
    ]
    return "".join(texts), [_call(call.name, call.arguments) for call in calls]


def cohere(http: Any, key: str, stream: bool) -> Said:
    from cohere import ClientV2

    client: Any = ClientV2(api_key=key, httpx_client=http)
    asked: dict[str, Any] = {"model": "m1", "messages": ASKED}
    if not stream:
        message = client.chat(**asked).message
        text = message.tool_plan or "".join(part.text for part in message.content if part.type == "text")
        return text, [_call(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    text, calls = "", list[list[str]]()
    for event in client.chat_stream(**asked):
        match event.type:
            case "tool-plan-delta":
                text += event.delta.message.tool_plan
            case "content-delta":
                text += event.delta.message.content.text or ""
            case "tool-call-start":
                calls.append([event.delta.message.tool_calls.function.name, ""])
            case "tool-call-delta":
                calls[-1][1] += event.delta.message.tool_calls.function.arguments
    return text, [_call(*call) for call in calls]


def ollama(http: Any, key: str, stream: bool) -> Said:
    from ollama import Client

    client: Any = Client(host="http://127.0.0.1:11434", headers={"authorization": f"Bearer {key}"}, transport=http)
    answers: Any = client.chat(model="m1", messages=ASKED, stream=stream)
    said = [answer.message for answer in (answers if stream else [answers])]
    calls = [call.function for message in said for call in message.tool_calls or ()]
    return "".join(message.content or "" for message in said), [
        (call.name, dict(call.arguments)) for call in calls
    ]


def _call(name: str, arguments: Any) -> tuple[str, dict[str, Any]]:
    return name, json.loads(arguments) if isinstance(arguments, str) else arguments


@dataclass(frozen=True, slots=True)
class Sdk:
    """An official SDK: whose servers it asks, how it is asked, and the HTTP family that it is built on."""

    voice: str
    ask: Callable[[Any, str, bool], Said]
    family: str
    takes: str = "client"


SDKS = {
    "openai, chat": Sdk("openai-chat", chat, "httpx2"),
    "openai, responses": Sdk("openai-responses", responses, "httpx2"),
    "anthropic": Sdk("anthropic-messages", messages_by(_anthropic), "httpx2"),
    "anthropic on bedrock": Sdk("anthropic-bedrock", messages_by(_anthropic_on_bedrock), "httpx2"),
    "anthropic on vertex": Sdk("anthropic-vertex", messages_by(_anthropic_on_vertex), "httpx2"),
    "google-genai": Sdk("gemini", generate_content(vertex=False), "httpx"),
    "google-genai on vertex": Sdk("gemini-vertex", generate_content(vertex=True), "httpx"),
    "mistralai": Sdk("mistral-chat", mistral, "httpx2"),
    "cohere": Sdk("cohere-v2", cohere, "httpx"),
    "ollama": Sdk("ollama-chat", ollama, "httpx", takes="transport"),
}


def ask(sdk: Sdk, recorder: Recorder, inner: Any, *, key: str, stream: bool) -> list[Said]:
    """Ask twice, and return both answers as the SDK reads them."""
    transport = recorder.transport(inner)
    if sdk.takes == "transport":
        return [sdk.ask(transport, key, stream) for _ in range(2)]
    with importlib.import_module(sdk.family).Client(transport=transport) as http:
        return [sdk.ask(http, key, stream) for _ in range(2)]


@pytest.mark.filterwarnings("ignore")  # the SDKs' and botocore's own, about themselves
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", SDKS)
def test_what_the_sdk_read_live_it_reads_from_the_cassette(name: str, stream: bool, tmp_path: Path) -> None:
    sdk, cassette = SDKS[name], tmp_path / "sdk.yaml"
    with (
        ScriptedServer([ASKS, ANSWER], VOICES[sdk.voice]) as server,
        Recorder(cassette, mode=RecordMode.ALL) as recorder,
    ):
        live = ask(sdk, recorder, server.transport(), key="k3y-0f-the-recording", stream=stream)
    assert live == [
        (ASKS.text, [(call.name, json.loads(call.arguments)) for call in ASKS.calls]),
        (ANSWER.text, []),
    ]
    with Recorder(cassette, mode=RecordMode.NONE) as recorder:
        assert ask(sdk, recorder, None, key="an0ther-key-for-the-replay", stream=stream) == live
    assert "k3y-0f-the-recording" not in cassette.read_text("utf-8")
