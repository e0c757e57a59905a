import os
import socket
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from copyfit_harness.errors import EnvironmentLacks
from copyfit_harness.local_provider import LocalProvider, LocalProviderOptions, provider
from copyfit_harness.local_provider.provider import ServerProcess


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def server_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "installed", lambda name: metadata.distribution("pytest"))


def test_a_missing_server_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(EnvironmentLacks, match=r'xllamacpp is not installed.*pip install "copyfit\[local\]"'):
        LocalProvider.start(cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("server_installed")
def test_a_taken_port_is_refused_by_number_before_anything_is_built(taken_port: int, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match=rf"Port {taken_port} .*ask for another port"):
        LocalProvider.start(cache_dir=tmp_path, port=taken_port)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_ends_at_its_start_is_quoted() -> None:
    process = ServerProcess(["--no-such-option"])
    try:
        with pytest.raises(EnvironmentLacks, match=r"with code 2\b[\s\S]*the following arguments are required"):
            process.wait_until_ready(30.0)
    finally:
        process.stop()


def test_a_server_that_is_late_is_given_up_and_stopping_twice_is_harmless() -> None:
    process = ServerProcess(["--no-such-option"])
    try:
        with pytest.raises(EnvironmentLacks, match="not ready within 0 seconds"):
            process.wait_until_ready(0.0)
    finally:
        process.stop()
        process.stop()


@pytest.mark.usefixtures("server_installed")
def test_a_failed_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stopped: list[int] = []

    class Recorded(ServerProcess):
        def stop(self) -> None:
            super().stop()
            stopped.append(self.process_id)

    monkeypatch.setattr(provider, "ensure_model", lambda variant, seed, folder: tmp_path / "missing.gguf")
    monkeypatch.setattr(provider, "ServerProcess", Recorded)
    with pytest.raises(EnvironmentLacks, match="not ready within 0 seconds"):
        LocalProvider.start(LocalProviderOptions(), timeout_seconds=0.0, cache_dir=tmp_path)
    (process_id,) = stopped
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)
