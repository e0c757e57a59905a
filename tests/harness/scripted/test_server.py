"""A scripted server of any protocol: whole and streamed answers, refusals, and a script that is played exactly."""

import json
import re
from contextlib import suppress
from importlib import import_module
from typing import Any

import httpx
import pytest

from copyfit_adapters import known_adapters
from copyfit_adapters.servers import SERVERS
from copyfit_harness.errors import ScriptEnded, ScriptUnplayed
from copyfit_harness.scripted.chat_replies import Say
from copyfit_harness.scripted.server import ScriptedServer
from copyfit_harness.scripted.voices.known import VOICES
from copyfit_harness.scripted.voices.voice import FillsUp, TooLong

VOICE = VOICES["anthropic-messages"]
MESSAGES = "http://scripted.invalid/v1/messages"
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "how many?"}]}


def client(server: ScriptedServer, family: str = "httpx") -> Any:
    return import_module(family).Client(transport=server.transport())


def ask_and_swallow(server: ScriptedServer) -> None:
    with suppress(ScriptEnded), client(server) as http:
        http.post(MESSAGES, json=ASKED)


@pytest.mark.parametrize("family", ["httpx", "httpx2"])
def test_the_script_is_said_in_order_to_a_client_of_either_family(family: str) -> None:
    with (
        ScriptedServer([Say("four"), TooLong(requested=9, limit=6)], VOICE) as server,
        client(server, family) as http,
    ):
        answer = http.post(MESSAGES, json=ASKED)
        assert (answer.status_code, answer.json()["content"]) == (200, [{"type": "text", "text": "four"}])
        assert answer.json()["model"] == "m"
        refusal = http.post(MESSAGES, json=ASKED)
        assert refusal.status_code == 400
        assert refusal.json()["error"]["message"] == "prompt is too long: 9 tokens > 6 maximum"
    assert [json.loads(body) for body in server.bodies] == [ASKED, ASKED]


def test_the_body_asks_for_a_stream_or_the_path_does_as_the_protocol_has_it() -> None:
    kinds = []
    for voice, url, fields in (
        (VOICE, MESSAGES, {"stream": True}),
        (VOICE, MESSAGES, {}),
        (VOICES["gemini"], "http://h/v1beta/models/m:streamGenerateContent?alt=sse", {}),
        (VOICES["gemini"], "http://h/v1beta/models/m:generateContent", {"stream": True}),
        (VOICES["ollama-chat"], "http://h/api/chat", {}),
        (VOICES["ollama-chat"], "http://h/api/chat", {"stream": False}),
    ):
        with ScriptedServer([Say("four")], voice) as server, client(server) as http:
            kinds.append(http.post(url, json=ASKED | fields).headers["content-type"])
    assert kinds == [
        "text/event-stream",
        "application/json",
        "text/event-stream",
        "application/json",
        "application/x-ndjson",
        "application/json",
    ]


def test_every_adapter_of_a_protocol_has_a_voice_of_its_name() -> None:
    """Servers that speak chat completions have that one; litellm speaks whatever its provider does."""
    assert set(VOICES) == set(known_adapters()) - set(SERVERS) - {"litellm"}


def test_the_same_script_is_the_same_bytes() -> None:
    bodies = []
    for _ in range(2):
        with ScriptedServer([Say("four")], VOICES["anthropic-bedrock"]) as server, client(server) as http:
            bodies.append(http.post("http://h/model/m/invoke-with-response-stream", json=ASKED).content)
    assert bodies[0] == bodies[1]


def test_another_path_is_not_found_and_the_script_waits() -> None:
    with ScriptedServer([Say("four")], VOICE) as server, client(server) as http:
        assert http.post("http://scripted.invalid/v1/complete", json=ASKED).status_code == 404
        assert http.get("http://scripted.invalid/v1/models/m").status_code == 404
        assert http.post(MESSAGES, json=ASKED).status_code == 200


def test_a_line_that_fills_up_in_mid_stream_is_for_streams() -> None:
    with (
        pytest.raises(ValueError, match="no stream was asked for"),
        ScriptedServer([FillsUp("fo")], VOICE) as server,
        client(server) as http,
    ):
        http.post(MESSAGES, json=ASKED)


def test_a_script_that_is_not_played_to_its_end_or_beyond_it_is_an_error() -> None:
    with pytest.raises(ScriptUnplayed), ScriptedServer([Say("four")], VOICE):
        pass
    with pytest.raises(ScriptEnded, match=re.escape("POST /v1/messages")), ScriptedServer([], VOICE) as server:
        ask_and_swallow(server)


def test_the_transport_serves_asynchronous_clients_as_well() -> None:
    import anyio

    async def ask(server: ScriptedServer) -> httpx.Response:
        async with httpx.AsyncClient(transport=server.transport()) as http:
            return await http.post(MESSAGES, json=ASKED)

    with ScriptedServer([Say("four")], VOICE) as server:
        assert anyio.run(ask, server).json()["content"][0]["text"] == "four"
