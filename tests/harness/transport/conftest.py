"""A loopback server that sends known chunks, and one client in four flavours that reads them."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any

import anyio
import pytest

from copyfit_harness.errors import HarnessError


@dataclass
class Reply:
    """What the server says: chunks `pause` seconds apart, and then an abrupt end if `breaks`."""

    chunks: tuple[bytes, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    pause: float = 0.0
    breaks: bool = False


@dataclass
class Server:
    """A real HTTP/1.1 server on 127.0.0.1; `replies` are given in order, the last one again and again."""

    url: str
    replies: list[Reply] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)

    def will_say(self, *chunks: bytes, **facts: Any) -> None:
        """Add a reply."""
        self.replies.append(Reply(chunks, **facts))


@pytest.fixture
def server() -> Iterator[Server]:
    """Give a running server."""
    state = Server("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            state.received.append(self.rfile.read(int(self.headers.get("content-length") or 0)))
            reply = state.replies.pop(0) if len(state.replies) > 1 else state.replies[0]
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for chunk in reply.chunks:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                    time.sleep(reply.pause)
                if not reply.breaks:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                # The client stopped reading.
                self.close_connection = True
            if reply.breaks:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.url = f"http://127.0.0.1:{running.server_port}/v1/chat"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        running.shutdown()
        thread.join()


@dataclass
class Answer:
    """What a client saw: the chunks, the second at which each came, and the exception that ended them."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    error: Exception | None = None

    @property
    def body(self) -> bytes:
        """The chunks, joined."""
        return b"".join(self.chunks)


@dataclass
class Client:
    """One of the four kinds of client, opened anew for each request."""

    family: Any
    asynchronous: bool

    def post(
        self, transport: Any, url: str, body: bytes = b"{}", *, stop_after: int = -1, **options: Any
    ) -> Answer:
        """Send `body` as JSON and read the response chunk by chunk, at most `stop_after` of them."""
        options = {"content": body, "headers": {"content-type": "application/json"}} | options
        if self.asynchronous:
            return anyio.run(self._post_async, transport, url, stop_after, options)
        answer = Answer()
        start = time.monotonic()
        with self.family.Client(transport=transport) as client:
            try:
                with client.stream("POST", url, **options) as response:
                    answer.status, answer.headers = response.status_code, dict(response.headers)
                    if stop_after:
                        for chunk in response.iter_raw():
                            answer.chunks.append(chunk)
                            answer.arrived.append(time.monotonic() - start)
                            if len(answer.chunks) == stop_after:
                                break
            except (HarnessError, self.family.HTTPError) as error:
                answer.error = error
        return answer

    async def _post_async(self, transport: Any, url: str, stop_after: int, options: dict[str, Any]) -> Answer:
        answer = Answer()
        start = time.monotonic()
        async with self.family.AsyncClient(transport=transport) as client:
            try:
                async with client.stream("POST", url, **options) as response:
                    answer.status, answer.headers = response.status_code, dict(response.headers)
                    if stop_after:
                        async for chunk in response.aiter_raw():
                            answer.chunks.append(chunk)
                            answer.arrived.append(time.monotonic() - start)
                            if len(answer.chunks) == stop_after:
                                break
            except (HarnessError, self.family.HTTPError) as error:
                answer.error = error
        return answer


@pytest.fixture(params=["httpx-sync", "httpx-async", "httpx2-sync", "httpx2-async"])
def client(request: pytest.FixtureRequest) -> Client:
    """Give each of the four kinds of client in turn."""
    family, colour = request.param.split("-")
    return Client(import_module(family), colour == "async")
