"""llama.cpp's real server through our recorder: the official SDK replayed, and our client's input proven."""

import json
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest

from copyfit import (
    ModelInput,
    ModelSettings,
    ToolSpec,
    UserMessage,
)
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_harness.local_provider.provider import LocalProvider
from copyfit_harness.proof.exact import assert_exact
from copyfit_harness.proof.protocols import OPENAI_CHAT
from copyfit_harness.transport.recorder import Recorder, RecordMode

pytestmark = pytest.mark.live

READ = ToolSpec(
    name="read",
    parameters={
        "type": "object",
        "properties": {"plot": {"type": "string", "enum": ["plot-01", "plot-02"]}},
        "required": ["plot"],
    },
)


def test_the_official_sdk_records_through_our_transport_and_replays_without_the_server(
    tools_provider: LocalProvider, tmp_path: Path
) -> None:
    path = tmp_path / "sdk.yaml"

    def converse(recorder: Recorder) -> tuple[str, list[str], str]:
        asked: Any = {
            "model": tools_provider.model,
            "messages": [{"role": "user", "content": "Which plot? 哪个小区?"}],
            "max_tokens": 48,
            "seed": 2,
        }
        tools: Any = [{"type": "function", "function": {"name": "read", "parameters": dict(READ.parameters)}}]
        with httpx2.Client(transport=recorder.transport()) as http:
            client = openai.OpenAI(
                api_key="unused", base_url=tools_provider.base_url, http_client=http, max_retries=0
            )
            plain = client.chat.completions.create(**asked)
            called = client.chat.completions.create(**asked, tools=tools)
            stream: Any = client.chat.completions.create(**asked, stream=True)
            pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
        calls: Any = called.choices[0].message.tool_calls
        return plain.choices[0].message.content or "", pieces, calls[0].function.arguments

    with Recorder(path, mode=RecordMode.ONCE, description=tools_provider.description) as recorder:
        live = converse(recorder)
        edges = [exchange.response.chunks for exchange in recorder.exchanges]
    with Recorder(path) as recorder:
        replayed = converse(recorder)
        assert [exchange.response.chunks for exchange in recorder.exchanges] == edges
    assert replayed == live
    assert json.loads(live[2])["plot"].startswith("plot-")


@pytest.mark.anyio
async def test_the_real_server_received_exactly_the_assembled_input(
    plain_provider: LocalProvider, tmp_path: Path
) -> None:
    sent = ModelInput(
        system="Cite.",
        messages=(UserMessage(content="盐胁迫?"),),
        settings=ModelSettings(max_output_tokens=8),
    )
    with Recorder(tmp_path / "exact.yaml", mode=RecordMode.ALL) as recorder:
        async with httpx.AsyncClient(transport=recorder.transport()) as http:
            client = OpenAIChatClient(
                plain_provider.model, base_url=plain_provider.base_url, api_key="", http=http
            )
            await client.complete(sent)
        (exchange,) = recorder.exchanges
        assert_exact(sent, exchange, OPENAI_CHAT)
