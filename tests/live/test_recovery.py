"""Overflow and recovery against llama.cpp's real server, and the official SDK through our recorder."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest

from copyfit import (
    AgentRun,
    ConservativeTokenEstimator,
    ContextBudgets,
    ContextContributorRegistry,
    ContextOverflow,
    MemoryToolOutputStore,
    Mode,
    ModelInput,
    ModelSettings,
    OutputBounds,
    OutputGuard,
    TokenLedger,
    Tool,
    ToolRegistry,
    ToolSpec,
    Transcript,
    Turn,
    TurnResult,
    UserMessage,
    open_mode,
)
from copyfit.shapes.model_output import TextDelta
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_harness.local_provider.options import LocalProviderOptions
from copyfit_harness.local_provider.provider import LocalProvider
from copyfit_harness.proof.exact import assert_exact
from copyfit_harness.proof.protocols import OPENAI_CHAT
from copyfit_harness.transport.recorder import Recorder, RecordMode

pytestmark = pytest.mark.live

BODY = "plot-03 read 8.41 dS/m; 叶尖枯黄. " * 90
READ = ToolSpec(
    name="read",
    parameters={
        "type": "object",
        "properties": {"plot": {"type": "string", "enum": ["plot-01", "plot-02"]}},
        "required": ["plot"],
    },
)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", list(Mode))
async def test_a_genuine_overflow_is_recovered_by_one_smaller_retry(
    tools_provider: LocalProvider, mode: Mode
) -> None:
    """The run believes in a window twice as large as the one that the server has."""
    bounds = OutputBounds(retention_bytes=512)
    guard = OutputGuard(bounds=bounds, store=MemoryToolOutputStore())
    turns: list[TurnResult] = []
    async with OpenAIChatClient(
        tools_provider.model, base_url=tools_provider.base_url, api_key="", max_retries=0
    ) as client:
        run = AgentRun(
            turn=Turn(
                mode=open_mode(
                    mode,
                    registry=ContextContributorRegistry(),
                    ledger=TokenLedger(ConservativeTokenEstimator()),
                    static_system="Read plots.",
                ),
                client=client,
                budgets=ContextBudgets(
                    model_max_tokens=16_384, output_reserve_tokens=512, compaction_tool_preview_bytes=256
                ),
                context_id="live",
                settings=ModelSettings(max_output_tokens=64, temperature=1.0, seed=5),
            ),
            tools=ToolRegistry([Tool(READ, lambda plot: f"{plot}: {BODY}")], guard=guard),
            max_turns=7,
            on_turn=lambda number, result: turns.append(result),
        )
        await run.run(Transcript([UserMessage(content="Compare the plots.")]))
    recovered = [result for result in turns if result.recovered]
    assert len(recovered) == 1
    refused, accepted = recovered[0].attempts
    assert refused.overflow is not None
    assert refused.overflow.limit_tokens == 4_096
    assert accepted.selected.estimated_tokens < refused.selected.estimated_tokens
    assert (recovered[0].output.usage.input_tokens or 9_999) < 4_096
    assert run.turn.budgets.model_max_tokens == 4_096


@pytest.mark.anyio
async def test_an_overflow_in_mid_stream_is_an_overflow() -> None:
    """Two streams outgrow the pool that they share, after the server has answered 200 to both."""
    options = LocalProviderOptions(context_tokens=1_024, slots=2, shared_kv=True)
    with LocalProvider.start(options) as provider:
        async with OpenAIChatClient(
            provider.model, base_url=provider.base_url, api_key="", max_retries=0
        ) as client:

            async def stream(seed: int) -> tuple[int, ContextOverflow | None]:
                sent = ModelInput(
                    system="",
                    messages=(UserMessage(content="ion " * 400),),
                    settings=ModelSettings(
                        max_output_tokens=600,
                        seed=seed,
                        extra={"openai-chat": {"ignore_eos": True}},
                    ),
                )
                pieces = 0
                try:
                    async for event in client.stream(sent):
                        pieces += isinstance(event, TextDelta)
                except ContextOverflow as overflow:
                    return pieces, overflow
                return pieces, None

            outcomes = await asyncio.gather(stream(1), stream(2))
    overflows = [(pieces, overflow) for pieces, overflow in outcomes if overflow]
    assert overflows
    assert all(pieces > 0 for pieces, _ in overflows)


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
