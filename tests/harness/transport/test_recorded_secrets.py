"""What the recorder writes holds no secret, and still answers the requests that carry them."""

import json
from pathlib import Path
from typing import Any

import pytest

from copyfit_harness.errors import SecretFound
from copyfit_harness.transport.recorder import Recorder, RecordMode


def record(client: Any, server: Any, path: Path, body: bytes = b"{}", **options: Any) -> Any:
    with Recorder(path, mode=RecordMode.ALL) as recorder:
        return client.post(recorder.transport(), server.url, body, **options)


def replay(client: Any, server: Any, path: Path, body: bytes = b"{}", **options: Any) -> Any:
    with Recorder(path) as recorder:
        return client.post(recorder.transport(), server.url, body, **options)


def send_and_fail(client: Any, recorder: Recorder, url: str) -> None:
    with recorder:
        client.post(recorder.transport(), url)
        raise ZeroDivisionError


def test_no_planted_secret_reaches_the_file_and_replay_still_matches(
    client: Any, server: Any, tmp_path: Path
) -> None:
    planted = {
        "header": "sk-header-abcdefgh0123456789",
        "query": "querysecret-12345678",
        "field": "hunter2-in-a-field",
        "text": "AKIAIOSFODNN7EXAMPLE",
        "cookie": "session=cookie-secret-1",
        "across": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "events": "sk-proj-spelled-out-0123456789abcdef",
    }
    across = f'data: {{"text":"my key is {planted["across"]}"}}\n\n'.encode()
    pieces = [planted["events"][at : at + 5] for at in range(0, len(planted["events"]), 5)]
    chunks = (
        across[:40],
        across[40:],
        *(f'data: {{"delta":{{"content":"{piece}"}}}}\n\n'.encode() for piece in pieces),
        f"data: you sent {planted['header']}\n\n".encode(),
    )
    headers = {"content-type": "text/event-stream", "set-cookie": planted["cookie"], "x-request-id": "r-1"}
    server.will_say(*chunks, headers=headers, pause=0.005)
    options = {
        "headers": {"authorization": f"Bearer {planted['header']}", "content-type": "application/json"},
        "params": {"key": planted["query"], "alt": "sse"},
    }
    body = json.dumps({"password": planted["field"], "note": f"use {planted['text']} here"}).encode()
    live = record(client, server, tmp_path / "c.yaml", body, **options)
    assert live.chunks == list(chunks)
    assert json.loads(server.received[0])["password"] == planted["field"]

    text = (tmp_path / "c.yaml").read_text(encoding="utf-8")
    for secret in planted.values():
        assert secret not in text
    assert "spelle" not in text
    assert text.count("REDACTED") >= 7

    played = replay(client, server, tmp_path / "c.yaml", body, **options)
    assert len(played.chunks) == len(chunks)
    assert b"my key is REDACTED" in played.body
    assert played.headers["x-request-id"] == "r-1"
    assert "set-cookie" not in played.headers


def test_another_key_than_the_recorded_one_replays(client: Any, server: Any, tmp_path: Path) -> None:
    server.will_say(b"ok")
    headers = {"x-api-key": "sk-ant-abcdefgh0123456789", "content-type": "application/json"}
    record(client, server, tmp_path / "c.yaml", headers=headers)
    assert replay(client, server, tmp_path / "c.yaml", headers=headers | {"x-api-key": "dummy"}).body == b"ok"


def test_a_secret_where_nothing_can_be_replaced_stops_the_saving(client: Any, server: Any, tmp_path: Path) -> None:
    server.will_say(
        b"\xff\xfe\x00 AKIAIOSFODNN7EXAMPLE \x00", headers={"content-type": "application/octet-stream"}
    )
    with pytest.raises(SecretFound, match="AWS access key stands at the response body of exchange 1"):
        record(client, server, tmp_path / "c.yaml")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_saving_is_noted_on_the_exception_that_is_leaving(
    client: Any, server: Any, tmp_path: Path
) -> None:
    server.will_say(b"\xff AKIAIOSFODNN7EXAMPLE")
    with pytest.raises(ZeroDivisionError) as caught:
        send_and_fail(client, Recorder(tmp_path / "c.yaml", mode=RecordMode.ALL), server.url)
    assert "AWS access key" in caught.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []
