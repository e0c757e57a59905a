"""Recorders in threads and tasks, side by side and shared."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import httpx2
import pytest

from copyfit_harness.cassettes.store import load_cassette
from copyfit_harness.errors import CassetteBusy
from copyfit_harness.transport.recorder import Recorder, RecordMode

URL = "http://provider.invalid/v1"


def echo(request: Any) -> Any:
    family = httpx if isinstance(request, httpx.Request) else httpx2
    return family.Response(200, content=b"echo " + request.content)


def record(path: Path, texts: list[str]) -> None:
    inner = httpx.MockTransport(echo)
    with (
        Recorder(path, mode=RecordMode.ALL) as recorder,
        httpx.Client(transport=recorder.transport(inner)) as client,
    ):
        for text in texts:
            client.post(URL, content=text)


@pytest.fixture
def cassettes(tmp_path: Path) -> list[Path]:
    """Give two cassettes, each with forty exchanges of its own."""
    paths = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in paths:
        record(path, [f"{path.stem} {number}" for number in range(40)])
    return paths


def test_two_recorders_in_two_threads_never_mix(cassettes: list[Path]) -> None:
    heard: dict[str, list[str]] = {}

    def play(path: Path) -> None:
        with Recorder(path) as recorder, httpx.Client(transport=recorder.transport()) as client:
            heard[path.stem] = [client.post(URL, content=f"{path.stem} {number}").text for number in range(40)]

    threads = [threading.Thread(target=play, args=(path,)) for path in cassettes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {name: [f"echo {name} {number}" for number in range(40)] for name in ("a", "b")}


@pytest.mark.anyio
async def test_two_recorders_in_two_tasks_never_mix(cassettes: list[Path]) -> None:
    heard: dict[str, list[str]] = {}

    async def play(path: Path) -> None:
        async with Recorder(path) as recorder, httpx2.AsyncClient(transport=recorder.transport()) as client:
            heard[path.stem] = []
            for number in range(40):
                heard[path.stem].append((await client.post(URL, content=f"{path.stem} {number}")).text)
                await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for path in cassettes:
            tasks.start_soon(play, path)
    assert heard == {name: [f"echo {name} {number}" for number in range(40)] for name in ("a", "b")}


def test_threads_that_share_a_recorder_get_each_exchange_once(tmp_path: Path) -> None:
    answers = iter(range(200))
    inner = httpx.MockTransport(lambda _: httpx.Response(200, content=str(next(answers)).encode()))
    path = tmp_path / "c.yaml"
    with (
        Recorder(path, mode=RecordMode.ALL) as recorder,
        httpx.Client(transport=recorder.transport(inner)) as client,
    ):
        for _ in range(200):
            client.post(URL, content=b"same")
    heard: Counter[str] = Counter()

    def play(client: httpx.Client) -> None:
        heard.update([client.post(URL, content=b"same").text for _ in range(50)])

    with Recorder(path) as recorder, httpx.Client(transport=recorder.transport()) as client:
        threads = [threading.Thread(target=play, args=(client,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(recorder.exchanges) == 200
    assert heard == Counter(str(number) for number in range(200))


@pytest.mark.anyio
async def test_streams_that_interleave_are_recorded_apart_and_in_the_order_of_sending(tmp_path: Path) -> None:
    async def pieces(request: httpx.Request) -> Any:
        for number in range(5):
            await anyio.sleep(0.001)
            yield request.content + str(number).encode()

    inner = httpx.MockTransport(lambda request: httpx.Response(200, content=pieces(request)))
    path = tmp_path / "c.yaml"
    async with (
        Recorder(path, mode=RecordMode.ALL) as recorder,
        httpx.AsyncClient(transport=recorder.transport(inner)) as client,
    ):

        async def read(text: str) -> None:
            async with client.stream("POST", URL, content=text) as response:
                assert [part async for part in response.aiter_raw()] == [f"{text}{n}".encode() for n in range(5)]

        async with anyio.create_task_group() as tasks:
            for text in "abc":
                tasks.start_soon(read, text)
    recorded = load_cassette(path).exchanges
    assert [exchange.request.body for exchange in recorded] == [b"a", b"b", b"c"]
    for exchange, text in zip(recorded, "abc", strict=True):
        assert exchange.response.chunks == tuple(f"{text}{number}".encode() for number in range(5))


@pytest.mark.anyio
async def test_a_task_that_is_cancelled_in_mid_stream_has_stopped_its_client(tmp_path: Path) -> None:
    async def endless() -> Any:
        yield b"first"
        await anyio.sleep_forever()

    inner = httpx.MockTransport(lambda _: httpx.Response(200, content=endless()))
    async with (
        Recorder(tmp_path / "c.yaml", mode=RecordMode.ALL) as recorder,
        httpx.AsyncClient(transport=recorder.transport(inner)) as client,
    ):
        with anyio.move_on_after(0.05):
            await client.post(URL)
        (exchange,) = recorder.exchanges
    assert exchange.response.ending.kind == "client-stopped"
    assert exchange.response.chunks == (b"first",)


def test_two_recorders_cannot_record_one_cassette_at_once(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    inner = httpx.MockTransport(echo)
    with Recorder(path, mode=RecordMode.ONCE) as recorder:
        with pytest.raises(CassetteBusy):
            Recorder(path, mode=RecordMode.ONCE)
        with httpx.Client(transport=recorder.transport(inner)) as client:
            client.post(URL, content=b"x")
    with Recorder(path, mode=RecordMode.ONCE) as recorder, httpx.Client(transport=recorder.transport()) as client:
        assert client.post(URL, content=b"x").text == "echo x"
