"""The gate on the sockets."""

import asyncio
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from copyfit_harness.errors import LiveCallBlocked
from copyfit_harness.transport.gate import SocketGate

# TEST-NET-1 of RFC 5737, which nobody may use, and a name that RFC 2606 keeps from existing.
OUTSIDE = ("192.0.2.1", 443)
NAME = "provider.invalid"


def inet() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_socket_is_refused_the_outside(method: str) -> None:
    with SocketGate() as gate, inet() as sock:
        with pytest.raises(LiveCallBlocked, match=r"192\.0\.2\.1:443"):
            getattr(sock, method)(OUTSIDE)
        assert gate.refused == ("192.0.2.1:443",)


def test_a_datagram_is_refused_the_outside() -> None:
    with SocketGate(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(LiveCallBlocked):
            sock.sendto(b"x", OUTSIDE)
        with pytest.raises(LiveCallBlocked):
            sock.sendto(b"x", 0, OUTSIDE)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            sock.sendto(b"x", receiver.getsockname())
            assert receiver.recv(1) == b"x"


def test_a_name_is_refused_before_anybody_is_asked_for_its_address() -> None:
    with SocketGate() as gate:
        for ask in (
            lambda: socket.create_connection((NAME, 80)),
            lambda: socket.getaddrinfo(NAME, 80),
            lambda: socket.gethostbyname(NAME),
        ):
            with pytest.raises(LiveCallBlocked, match=NAME):
                ask()
    assert gate.refused == (f"{NAME}:80", f"{NAME}:80", NAME)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "LOCALHOST", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_reached(host: str) -> None:
    six = host in ("::1",)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server(
        ("::1" if six else "", 0), family=socket.AF_INET6 if six else socket.AF_INET
    ) as listener:
        port = listener.getsockname()[1]
        with SocketGate() as gate, socket.create_connection((host, port), timeout=5) as sock:
            assert sock.family is family
            assert socket.getaddrinfo(host, port)
        assert gate.refused == ()


def test_unix_sockets_are_let_through(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as sock, SocketGate():
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        sock.connect(str(tmp_path / "s"))


def test_listening_and_reading_written_addresses_is_let_through() -> None:
    with SocketGate(), socket.create_server(("", 0)):
        assert socket.getaddrinfo(None, 80, flags=socket.AI_PASSIVE)
        assert socket.getaddrinfo(*OUTSIDE, flags=socket.AI_NUMERICHOST)


@pytest.mark.anyio
async def test_asyncio_is_refused_too() -> None:
    loop = asyncio.get_running_loop()
    with SocketGate(), inet() as sock:
        sock.setblocking(False)
        with pytest.raises(LiveCallBlocked):
            await loop.sock_connect(sock, OUTSIDE)
        with pytest.raises(LiveCallBlocked):
            await asyncio.open_connection(*OUTSIDE)
        with pytest.raises(LiveCallBlocked):
            await asyncio.open_connection(NAME, 80)


@pytest.mark.anyio
async def test_asyncio_reaches_loopback() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        with SocketGate() as gate:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.close()
            await writer.wait_closed()
        assert gate.refused == ()


def test_a_real_client_is_refused_and_still_reaches_loopback(client: Any, server: Any) -> None:
    server.will_say(b"ok")
    with SocketGate() as gate:
        refused = client.post(None, f"https://{NAME}/v1")
        assert isinstance(refused.error, LiveCallBlocked)
        assert client.post(None, server.url).body == b"ok"
    assert gate.refused == (f"{NAME}:443",)


def test_other_threads_are_refused_while_the_gate_is_closed() -> None:
    caught = []

    def connect() -> None:
        with inet() as sock:
            try:
                sock.connect(OUTSIDE)
            except LiveCallBlocked as error:
                caught.append(error)

    with SocketGate():
        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
    assert len(caught) == 1


def test_everything_is_put_back_also_after_nesting_and_errors() -> None:
    def standing() -> list[Any]:
        return [
            socket.socket.connect,
            socket.socket.connect_ex,
            socket.socket.sendto,
            socket.create_connection,
            socket.getaddrinfo,
            socket.gethostbyname,
            "connect" in vars(socket.socket),
        ]

    def nest_and_fail() -> None:
        with SocketGate():
            with SocketGate() as inner, pytest.raises(LiveCallBlocked):
                socket.gethostbyname(NAME)
            assert inner.refused == (NAME,)
            with pytest.raises(LiveCallBlocked):
                socket.gethostbyname(NAME)
            raise ZeroDivisionError

    before = standing()
    with pytest.raises(ZeroDivisionError):
        nest_and_fail()
    assert standing() == before
