"""The demo's own cassette, played by vcrpy to the official openai SDK: both read what our decoder reads."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import vcr

from copyfit.shapes.messages import AssistantMessage
from copyfit.shapes.model_output import Finished
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_harness.cassettes.store import load_cassette
from copyfit_harness.wire.exchange import Exchange

CASSETTE = Path(__file__).parents[2] / "cassettes" / "demo" / "dynamic.yaml"
MATCH = ["method", "scheme", "host", "port", "path", "query", "body"]

Said = tuple[str, list[tuple[str, str, str]]]
"""The text of an answer, and the id, name and arguments of each call."""


@pytest.fixture(scope="module")
def answered() -> tuple[Exchange, ...]:
    return tuple(each for each in load_cassette(CASSETTE).exchanges if each.response.status == 200)


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    player = vcr.VCR(record_mode="none", match_on=MATCH)
    with (
        player.use_cassette(str(CASSETTE)),
        openai.OpenAI(base_url="http://local-provider.invalid/v1", api_key="unused", max_retries=0) as client,
    ):
        yield client


def test_the_sdk_reads_a_whole_answer_as_we_do(client: openai.OpenAI, answered: tuple[Exchange, ...]) -> None:
    exchange = next(each for each in answered if not _streams(each))
    ours = decode(exchange.response.status, exchange.response.body)
    theirs = client.post("/chat/completions", cast_to=openai.types.chat.ChatCompletion, **_sent(exchange))
    assert _said_by_sdk(theirs.choices[0].message) == _said(ours.message)
    assert _said(ours.message) != ("", [])
    assert theirs.usage is not None
    assert theirs.usage.prompt_tokens == ours.usage.input_tokens


def test_the_sdk_reads_a_streamed_call_as_we_do(client: openai.OpenAI, answered: tuple[Exchange, ...]) -> None:
    exchange = next(each for each in answered if _streams(each))
    decoder = ChatStream()
    events = [event for chunk in exchange.response.chunks for event in decoder.feed(chunk)]
    finished = next(event for event in events if isinstance(event, Finished))
    chunks = client.post(
        "/chat/completions",
        cast_to=openai.types.chat.ChatCompletion,
        stream=True,
        stream_cls=openai.Stream[openai.types.chat.ChatCompletionChunk],
        **_sent(exchange),
    )
    assert _joined(chunks) == _said(finished.output.message)
    assert len(finished.output.message.tool_calls) > 0


def _streams(exchange: Exchange) -> bool:
    return json.loads(exchange.request.body).get("stream") is True


def _sent(exchange: Exchange) -> dict[str, Any]:
    """Return the options that make the SDK send the recorded bytes."""
    return {"content": exchange.request.body, "options": {"headers": {"content-type": "application/json"}}}


def _said(message: AssistantMessage) -> Said:
    return message.text, [(call.id, call.name, call.arguments) for call in message.tool_calls]


def _said_by_sdk(message: Any) -> Said:
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    return message.content or "", calls


def _joined(chunks: Any) -> Said:
    text = ""
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or ():
                held = calls.setdefault(piece.index, ["", "", ""])
                held[0] += piece.id or ""
                held[1] += piece.function.name or ""
                held[2] += piece.function.arguments or ""
    return text, [(call_id, name, arguments) for call_id, name, arguments in calls.values()]
