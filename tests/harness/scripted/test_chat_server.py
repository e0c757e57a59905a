import asyncio
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from copyfit import ContextOverflow, ModelInput, UserMessage
from copyfit.shapes.model_output import Finished
from copyfit_adapters.openai_chat.client import OpenAIChatClient
from copyfit_harness.errors import ScriptEnded, ScriptUnplayed
from copyfit_harness.scripted.chat_replies import Say, Wording, overflow, overflow_in_stream
from copyfit_harness.scripted.chat_server import ScriptedChatServer
from copyfit_harness.transport.recorder import Recorder, RecordMode

URL = "http://scripted.invalid/v1"
FAMILIES = pytest.mark.parametrize("family", ["httpx", "httpx2"])


def asked(text: str = "how many?") -> ModelInput:
    return ModelInput(system="Count.", messages=(UserMessage(content=text),))


async def ask(transport: Any, *inputs: ModelInput, family: str = "httpx", stream: bool = False) -> list[str]:
    async with import_module(family).AsyncClient(transport=transport) as http:
        client = OpenAIChatClient("m", base_url=URL, api_key="", http=http, max_retries=0)
        said = []
        for model_input in inputs:
            if stream:
                events = [event async for event in client.stream(model_input)]
                assert isinstance(events[-1], Finished)
                said.append(events[-1].output.message.text)
            else:
                said.append((await client.complete(model_input)).message.text)
        return said


@FAMILIES
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_the_real_client_reads_the_script_in_order(family: str, stream: bool) -> None:
    with ScriptedChatServer([Say("four"), Say("五")]) as server:
        said = asyncio.run(ask(server.transport(), asked(), asked("sure?"), family=family, stream=stream))
    assert said == ["four", "五"]
    assert [json.loads(body)["messages"][-1]["content"] for body in server.bodies] == ["how many?", "sure?"]


@FAMILIES
def test_a_sync_client_is_served_too(family: str) -> None:
    with (
        ScriptedChatServer([Say("four")]) as server,
        import_module(family).Client(transport=server.transport()) as http,
    ):
        answer = http.post(f"{URL}/chat/completions", json={"model": "m", "messages": [], "stream": True})
        assert answer.text.endswith("data: [DONE]\n\n")


def test_an_input_over_the_window_is_refused_and_the_script_waits() -> None:
    with ScriptedChatServer([Say("four")], window_tokens=100, wording=Wording.LLAMA_CPP) as server:
        with pytest.raises(ContextOverflow) as raised:
            asyncio.run(ask(server.transport(), asked("x" * 400)))
        assert asyncio.run(ask(server.transport(), asked("x"))) == ["four"]
    assert raised.value.limit_tokens == 100
    assert raised.value.requested_tokens == -(-len(server.bodies[0]) // 4) > 100


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_scripted_overflow_reaches_the_caller_as_one(stream: bool) -> None:
    for refusal in (overflow(Wording.OPENAI, requested=9, limit=8), overflow_in_stream("so f")):
        with ScriptedChatServer([refusal]) as server, pytest.raises(ContextOverflow):
            asyncio.run(ask(server.transport(), asked(), stream=stream))


def test_another_path_is_not_found_and_the_script_waits() -> None:
    with ScriptedChatServer([]) as server, httpx.Client(transport=server.transport()) as http:
        assert http.post(f"{URL}/embeddings", json={"model": "m"}).status_code == 404


def test_a_script_that_ends_early_fails_through_the_client() -> None:
    server = ScriptedChatServer([])
    with pytest.raises(ScriptEnded, match="POST /v1/chat/completions"):
        asyncio.run(ask(server.transport(), asked()))
    with pytest.raises(ScriptEnded):
        server.finish()


def test_a_script_that_is_left_over_fails() -> None:
    with pytest.raises(ScriptUnplayed), ScriptedChatServer([Say("four"), Say("five")]) as server:
        asyncio.run(ask(server.transport(), asked()))


@FAMILIES
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_recorder_in_front_keeps_it_and_plays_it_without_it(tmp_path: Path, family: str, stream: bool) -> None:
    tape = tmp_path / "four.yaml"
    with (
        ScriptedChatServer([Say("four and a good deal more")]) as server,
        Recorder(tape, mode=RecordMode.ALL) as r,
    ):
        live = asyncio.run(ask(r.transport(server.transport()), asked(), family=family, stream=stream))
    with Recorder(tape) as recorder:
        played = asyncio.run(ask(recorder.transport(), asked(), family=family, stream=stream))
    assert played == live == ["four and a good deal more"]
    assert (len(recorder.exchanges[0].response.chunks) > 3) is stream
