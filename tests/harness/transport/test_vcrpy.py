"""vcrpy 9 replays, keeps and extends what the recorder wrote."""

import gzip
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
import vcr

from copyfit_harness.cassettes.store import load_cassette
from copyfit_harness.transport.recorder import Recorder, RecordMode

EVENTS = ('data: {"t":"é 😀"}\n\n'.encode(), b"data: [DONE]\n\n")
MATCH = ["method", "scheme", "host", "port", "path", "query", "body"]


@pytest.fixture
def cassette(server: Any, tmp_path: Path) -> Path:
    """Record a stream, a compressed answer, a binary one and an error."""
    path = tmp_path / "ours.yaml"
    server.will_say(*EVENTS, pause=0.01)
    squeezed = gzip.compress(b'{"squeezed":true}')
    server.will_say(squeezed, headers={"content-type": "application/json", "content-encoding": "gzip"})
    server.will_say(b"\x89PNG\xff", headers={"content-type": "image/png"})
    server.will_say(b'{"error":{"message":"slow down"}}', status=429, headers={"content-type": "application/json"})
    with (
        Recorder(path, mode=RecordMode.ALL, description="the test's own server") as recorder,
        httpx.Client(transport=recorder.transport()) as client,
    ):
        for number in range(4):
            client.post(server.url, json={"n": number})
    return path


@pytest.mark.parametrize("family", [httpx, httpx2])
def test_a_client_under_vcrpy_gets_what_was_recorded(cassette: Path, server: Any, family: Any) -> None:
    played = vcr.VCR(record_mode="none", match_on=MATCH)
    with played.use_cassette(str(cassette)) as tape, family.Client() as client:
        answers = [client.post(server.url, json={"n": number}) for number in range(4)]
        assert tape.all_played
    assert [answer.content for answer in answers] == [
        b"".join(EVENTS),
        b'{"squeezed":true}',
        b"\x89PNG\xff",
        b'{"error":{"message":"slow down"}}',
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert len(server.received) == 4


def test_what_vcrpy_extends_and_rewrites_keeps_our_chunks_and_is_read(cassette: Path, server: Any) -> None:
    before = load_cassette(cassette)
    server.replies.clear()
    server.will_say(b"late", headers={"content-type": "text/plain"})
    with vcr.use_cassette(str(cassette), record_mode="new_episodes", match_on=MATCH), httpx.Client() as client:
        client.post(server.url, json={"n": 4})
    after = load_cassette(cassette)
    assert [exchange.response.chunks for exchange in after.exchanges[:4]] == [
        exchange.response.chunks for exchange in before.exchanges
    ]
    assert after.exchanges[4].response.body == b"late"
    assert after.description == "the test's own server"


def test_the_official_sdk_under_vcrpy_reads_a_stream_of_ours(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "sdk.yaml"
    chunk = (
        b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
    )
    server.will_say(
        *(chunk + b'{"content":"%b"}}]}\n\n' % word.encode() for word in ("Hé", "llo")), b"data: [DONE]\n\n"
    )
    base = server.url.removesuffix("/chat")

    def ask(client: openai.OpenAI) -> str:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        return "".join(part.choices[0].delta.content or "" for part in stream)

    server.url = base
    with Recorder(path, mode=RecordMode.ALL) as recorder, httpx2.Client(transport=recorder.transport()) as http:
        assert ask(openai.OpenAI(api_key="k", base_url=base, http_client=http)) == "Héllo"
    with vcr.use_cassette(str(path), record_mode="none", match_on=MATCH), httpx2.Client() as http:
        assert ask(openai.OpenAI(api_key="k", base_url=base, http_client=http)) == "Héllo"
    assert len(server.received) == 1
