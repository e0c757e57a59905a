"""The recorder under the official openai SDK, sync and async, plain and streaming."""

import json
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest

from copyfit_harness.errors import CassetteMismatch, CassetteUnplayed
from copyfit_harness.transport.recorder import Recorder, RecordMode

JSON = {"content-type": "application/json"}
WORDS = ("The ", "cap", "ital ", "is é.")


def chunk(text: str) -> bytes:
    body = {
        "id": "c-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}}],
    }
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


COMPLETION = {
    "id": "c-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Rome"}}],
}


@pytest.fixture
def base(server: Any) -> str:
    """Let the server stream one answer and give its address as the SDK wants it."""
    whole = b"".join(map(chunk, WORDS)) + b"data: [DONE]\n\n"
    server.will_say(*(whole[at : at + 37] for at in range(0, len(whole), 37)), pause=0.001)
    return str(server.url.removesuffix("/chat"))


def ask(client: openai.OpenAI, text: str = "hi") -> list[str]:
    stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], stream=True)
    return [part.choices[0].delta.content or "" for part in stream]


async def ask_async(client: openai.AsyncOpenAI) -> list[str]:
    stream = await client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "hi"}], stream=True
    )
    return [part.choices[0].delta.content or "" async for part in stream]


@pytest.mark.parametrize("family", [httpx, httpx2])
@pytest.mark.parametrize("mode", [RecordMode.ONCE, RecordMode.NEW])
def test_a_stream_through_the_sync_client(
    server: Any, base: str, tmp_path: Path, family: Any, mode: RecordMode
) -> None:
    for _ in range(2):
        with (
            Recorder(tmp_path / "c.yaml", mode=mode) as recorder,
            family.Client(transport=recorder.transport()) as http,
        ):
            assert ask(openai.OpenAI(api_key="sk-none", base_url=base, http_client=http)) == list(WORDS)
    assert len(server.received) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("family", [httpx, httpx2])
async def test_a_stream_through_the_async_client(server: Any, base: str, tmp_path: Path, family: Any) -> None:
    for _ in range(2):
        async with (
            Recorder(tmp_path / "c.yaml", mode=RecordMode.ONCE) as recorder,
            family.AsyncClient(transport=recorder.transport()) as http,
        ):
            client = openai.AsyncOpenAI(api_key="sk-none", base_url=base, http_client=http)
            assert await ask_async(client) == list(WORDS)
    assert len(server.received) == 1


@pytest.mark.parametrize("mode", [RecordMode.ALL, RecordMode.NONE])
def test_a_plain_answer_and_an_error_keep_what_the_sdk_reads(
    server: Any, tmp_path: Path, mode: RecordMode
) -> None:
    headers = JSON | {"x-request-id": "r-1"}
    server.will_say(json.dumps(COMPLETION).encode(), headers=headers)
    error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    server.will_say(json.dumps(error).encode(), status=400, headers=headers)
    path, base = tmp_path / "c.yaml", server.url.removesuffix("/chat")

    def talk(recorder: Recorder) -> None:
        with httpx2.Client(transport=recorder.transport()) as http:
            client = openai.OpenAI(api_key="sk-none", base_url=base, http_client=http)
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "1"}])
            assert answer.choices[0].message.content == "Rome"
            assert answer._request_id == "r-1"
            with pytest.raises(openai.BadRequestError) as caught:
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "2"}])
            assert caught.value.code == "context_length_exceeded"

    with Recorder(path, mode=RecordMode.ALL) as recorder:
        talk(recorder)
    if mode is RecordMode.NONE:
        with Recorder(path) as recorder:
            talk(recorder)
    assert len(server.received) == 2


def test_a_mismatch_that_the_sdk_turns_into_a_connection_error_comes_out_as_itself(
    base: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.yaml"
    with Recorder(path, mode=RecordMode.ONCE) as recorder, httpx2.Client(transport=recorder.transport()) as http:
        ask(openai.OpenAI(api_key="sk-none", base_url=base, http_client=http))

    def ask_something_else() -> None:
        with Recorder(path) as recorder, httpx2.Client(transport=recorder.transport()) as http:
            client = openai.OpenAI(api_key="sk-none", base_url=base, http_client=http, max_retries=0)
            with pytest.raises(openai.APIConnectionError, match="Connection error"):
                ask(client, "ho")
            ask(client, "ho")

    with pytest.raises(CassetteMismatch) as caught:
        ask_something_else()
    assert caught.value.paths == ("messages[0].content",)


def test_a_run_that_stops_before_its_second_call_says_so(server: Any, base: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    with Recorder(path, mode=RecordMode.ONCE) as recorder, httpx2.Client(transport=recorder.transport()) as http:
        client = openai.OpenAI(api_key="sk-none", base_url=base, http_client=http)
        ask(client)
        ask(client)
    with (
        pytest.raises(CassetteUnplayed) as caught,
        Recorder(path) as recorder,
        httpx2.Client(transport=recorder.transport()) as http,
    ):
        ask(openai.OpenAI(api_key="sk-none", base_url=base, http_client=http))
    assert caught.value.positions == (1,)
    assert len(server.received) == 2
