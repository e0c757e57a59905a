"""What every test of this room gets: litellm loaded once, and no way out but loopback."""

import socket
from typing import Any

import pytest

from copyfit_adapters.litellm.loading import load


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Refuse connections and look-ups that lead out; return those that were tried."""
    tried: list[Any] = []
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
            tried.append(address)
            raise ConnectionRefusedError(f"a test reached for {address}")
        connect(self, address)

    def guarded_look_up(host: Any, *rest: Any, **named: Any) -> Any:
        if host not in (None, "127.0.0.1", "::1", "localhost"):
            tried.append(host)
            raise socket.gaierror(f"a test looked for {host}")
        return look_up(host, *rest, **named)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    return tried


@pytest.fixture(scope="session")
def litellm() -> Any:
    """Return the library, which takes seconds to load."""
    return load()
