"""Refuse every connection that leaves this machine, whichever library wants it."""

import socket
from asyncio.proactor_events import BaseProactorEventLoop
from collections.abc import Callable
from functools import wraps
from ipaddress import IPv6Address, ip_address
from threading import Lock
from types import TracebackType
from typing import Any, Self

from copyfit_harness.errors import LiveCallBlocked

_Inspect = Callable[..., None]
"""Looks at the arguments of a call before it is made, and raises `LiveCallBlocked` if it must not be."""

_REASON = "only this machine may be reached here; play a cassette, or let this test out to the network on purpose"


class SocketGate:
    """Allow connections to loopback and to Unix sockets only, from every thread, while its ``with`` block runs.

    It stands before what Python's networking goes through: `socket.socket.connect` and ``connect_ex`` (and with
    them asyncio's ``sock_connect``), ``sendto``, `socket.create_connection`, and the look-up of names, which would
    ask a server outside. Code that makes system calls by itself, such as uvloop, passes beside it.

    `refused` lists the addresses that were wanted, also those whose refusal the caller swallowed. Gates may be
    nested: each puts back what it found.
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._refused: list[str] = []
        self._put_back: list[Callable[[], None]] = []

    @property
    def refused(self) -> tuple[str, ...]:
        """The addresses outside this machine that were asked for so far, in order."""
        with self._guard:
            return tuple(self._refused)

    def __enter__(self) -> Self:
        self._stand_before(socket.socket, "connect", self._see_address)
        self._stand_before(socket.socket, "connect_ex", self._see_address)
        self._stand_before(socket.socket, "sendto", self._see_last_argument)
        self._stand_before(socket, "create_connection", self._see_pair)
        self._stand_before(socket, "getaddrinfo", self._see_name)
        self._stand_before(socket, "gethostbyname", self._see_name)
        # Windows' event loop connects below `socket.socket`; elsewhere nothing uses this class.
        self._stand_before(BaseProactorEventLoop, "sock_connect", self._see_loop_and_socket)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._put_back:
            self._put_back.pop()()

    def _stand_before(self, owner: Any, name: str, inspect: _Inspect) -> None:
        original = getattr(owner, name)
        inherited = name not in vars(owner)

        @wraps(original)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            inspect(*args, **kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, guarded)
        self._put_back.append(lambda: delattr(owner, name) if inherited else setattr(owner, name, original))

    def _see_address(self, sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and not _is_here(address[0]):
            self._refuse(_shown(address))

    def _see_last_argument(self, sock: socket.socket, *args: Any) -> None:
        self._see_address(sock, args[-1])

    def _see_loop_and_socket(self, loop: object, sock: socket.socket, address: Any) -> None:
        self._see_address(sock, address)

    def _see_pair(self, address: Any, *args: Any, **kwargs: Any) -> None:
        if not _is_here(address[0]):
            self._refuse(_shown(address))

    def _see_name(self, host: Any, *args: Any, **kwargs: Any) -> None:
        # Reading a written-out address asks nobody, and connecting to it is seen later.
        if not _is_here(host) and _address(host) is None:
            self._refuse(_shown((host, *args[:1])))

    def _refuse(self, address: str) -> None:
        with self._guard:
            self._refused.append(address)
        raise LiveCallBlocked(address, _REASON)


def _is_here(host: Any) -> bool:
    if not host:
        # To Python an empty name, and to getaddrinfo None, is this machine.
        return True
    address = _address(host)
    if address is None:
        return _text(host).rstrip(".").lower() == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback or (mapped or address).is_unspecified


def _address(host: Any) -> Any:
    try:
        return ip_address(_text(host))
    except ValueError:
        return None


def _text(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host)


def _shown(address: Any) -> str:
    host, *rest = address
    return ":".join([_text(host), *(str(part) for part in rest[:1] if part is not None)])
