"""The README's code runs as it stands there."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from typer.testing import CliRunner

from copyfit import ModelInput, UserMessage
from copyfit_adapters import OpenAIChatClient
from copyfit_adapters.openai_chat.encode import encode
from copyfit_harness.cli.app import app
from copyfit_harness.errors import NotExact
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.wire.exchange import Exchange, WireRequest, WireResponse

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
FIT, RECORD, PROVE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def names_of(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    return names


def reply(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.mark.anyio
async def test_the_agent_of_the_first_block_answers() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shelf", "arguments": '{"number": 3}'}}
    answers = [reply({"content": None, "tool_calls": [call]}), reply({"content": "Nothing is there."})]
    bodies: list[dict[str, Any]] = []

    def respond(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=answers[len(bodies) - 1])

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as http:
        client = OpenAIChatClient("m", base_url="http://provider.invalid/v1", api_key="", http=http)
        assert await names_of(FIT)["answer"](client, "What is on shelf 3?") == "Nothing is there."
    assert bodies[1]["messages"][-1]["content"] == "Shelf 3 is empty."


def test_the_client_of_the_second_block_records_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    live = httpx2.MockTransport(lambda request: httpx2.Response(200, json=reply({"content": "Forty-two."})))
    ask = names_of(RECORD)["ask"]
    path = tmp_path / "ask.yaml"

    class Through(Recorder):
        def transport(self, inner: Any = None) -> Any:
            return super().transport(live)

    with Through(path, mode=RecordMode.ONCE) as recording:
        assert ask(recording, "How many?") == "Forty-two."
    with Recorder(path) as recorder:
        assert ask(recorder, "How many?") == "Forty-two."
    assert "unused" not in path.read_text("utf-8")


def test_the_proof_of_the_third_block_holds_and_fails() -> None:
    sent = ModelInput(system="", messages=(UserMessage(content="How many?"),))
    body = encode(sent, "m").body
    prove = names_of(PROVE)["prove"]

    def exchange(body: bytes) -> Exchange:
        return Exchange(WireRequest("POST", "http://h/v1", (), body), WireResponse(200, "OK", (), ()))

    prove(sent, exchange(body))
    with pytest.raises(NotExact):
        prove(sent, exchange(body.replace(b"many", b"much")))


def test_every_make_target_that_the_readme_names_exists() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"(?:`|\$ )make ([a-z]+)", README)) <= targets


def test_the_rows_of_the_demo_are_those_that_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(app, ["demo"], env={"COLUMNS": "100"}).output
    (sample,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    printed_rows = [line.split() for line in printed.splitlines()]
    assert [row for row in sample.splitlines()[2:] if row.split() not in printed_rows] == []
