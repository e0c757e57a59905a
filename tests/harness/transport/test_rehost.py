"""A made-up address for a server on this machine."""

from pathlib import Path
from typing import Any

import pytest

from copyfit_harness.errors import LiveCallBlocked
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.transport.rehost import Rehost

NOMINAL = "http://local-provider.invalid"


def test_a_cassette_carries_the_made_up_address_and_the_server_sees_its_own(
    client: Any, server: Any, tmp_path: Path
) -> None:
    server.will_say(b"one ", b"two", pause=0.01)
    actual = server.url.removesuffix("/v1/chat")
    path = tmp_path / "c.yaml"
    with Recorder(path, mode=RecordMode.ALL) as recorder:
        inner = Rehost(NOMINAL, actual)
        assert client.post(recorder.transport(inner), f"{NOMINAL}/v1/chat?x=1").body == b"one two"
    text = path.read_text()
    assert f"uri: {NOMINAL}/v1/chat?x=1" in text
    assert "127.0.0.1" not in text
    with Recorder(path) as recorder:
        assert client.post(recorder.transport(), f"{NOMINAL}/v1/chat?x=1").chunks == [b"one ", b"two"]


def test_the_host_header_is_the_servers_own(client: Any) -> None:
    seen = []

    def answer(request: Any) -> Any:
        seen.append((str(request.url), request.headers["host"], request.headers["x-mine"], request.read()))
        return client.family.Response(200, content=b"ok")

    inner = client.family.MockTransport(answer)
    transport = Rehost(NOMINAL, "http://127.0.0.1:8080", inner=inner)
    assert client.post(transport, f"{NOMINAL}/a", headers={"x-mine": "1"}, stop_after=0).status == 200
    assert seen == [("http://127.0.0.1:8080/a", "127.0.0.1:8080", "1", b"{}")]


@pytest.mark.parametrize("url", ["http://example.org/", f"{NOMINAL}:81/", "https://local-provider.invalid/"])
def test_every_other_address_is_refused(client: Any, url: str) -> None:
    answer = client.post(Rehost(NOMINAL, "http://127.0.0.1:8080"), url)
    assert isinstance(answer.error, LiveCallBlocked)


@pytest.mark.parametrize(
    "actual", ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "http://127.8.9.1"]
)
def test_any_loopback_address_will_do(actual: str) -> None:
    Rehost(NOMINAL, actual)


@pytest.mark.parametrize(
    ("nominal", "actual", "complaint"),
    [
        (NOMINAL, "http://192.0.2.1:80", "not on this machine"),
        (NOMINAL, "http://example.org", "not on this machine"),
        (NOMINAL, "http://127.0.0.1/v1", "not an origin"),
        ("local-provider", "http://127.0.0.1", "not an origin"),
    ],
)
def test_an_address_elsewhere_or_with_a_path_is_refused_at_once(nominal: str, actual: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Rehost(nominal, actual)
