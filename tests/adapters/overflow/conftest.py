"""A server on loopback that answers what a test lays on it."""

import json
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


def exception_event(kind: str, message: str) -> bytes:
    """Return one message of the AWS event stream that reports an exception."""
    named = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    payload = json.dumps({"message": message}).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


class Server:
    """A server on loopback that gives every request the same reply."""

    def __init__(self) -> None:
        self.reply: Mapping[str, Any] = {"status": 500, "body": {}}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length") or 0))
                reply = server.reply
                event = reply.get("exception")
                sent = exception_event(*event) if event else json.dumps(reply["body"]).encode()
                self.send_response(reply["status"])
                for name, value in {"content-type": "application/json", **reply.get("headers", {})}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever)
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()
