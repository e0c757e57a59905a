"""The transport that takes requests to a scripted server, in the place of a network."""

import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, Self


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """An answer as it goes out: status, media type, and the chunks of its body."""

    status: int
    media_type: str
    chunks: tuple[bytes, ...]


class Answering(Protocol):
    """A server that answers without a network."""

    def answer(self, asked: str, path: str, body: bytes) -> WireAnswer:
        """Return what is said to the request `body` for `path`; `asked` names the request in errors."""
        ...


class ScriptedTransport:
    """Takes a client's requests to its `server` without a network; closing it does nothing."""

    def __init__(self, server: Answering) -> None:
        self._server = server

    def handle_request(self, request: Any) -> Any:
        """Return the answer to a sync client's `request`.

        Raises:
            ScriptEnded: the script holds no answer to it.

        """
        answer = self._answer(request, request.read())
        return _response(request, answer, iter(answer.chunks))

    async def handle_async_request(self, request: Any) -> Any:
        """Return the answer to an async client's `request`.

        Raises:
            ScriptEnded: the script holds no answer to it.

        """
        answer = self._answer(request, await request.aread())
        return _response(request, answer, _one_by_one(answer.chunks))

    def close(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: object) -> None:
        """Do nothing: a client that closes is no end of the script."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *leaving: object) -> None:
        """Do nothing: a client that closes is no end of the script."""

    def _answer(self, request: Any, body: bytes) -> WireAnswer:
        asked = f"{request.method} {request.url.path} ({len(body)} bytes)"
        return self._server.answer(asked, request.url.path, body)


def _response(request: Any, answer: WireAnswer, content: Any) -> Any:
    """Return `answer` as a response of the library, httpx or httpx2, that `request` belongs to."""
    family = sys.modules[type(request).__module__.partition(".")[0]]
    return family.Response(answer.status, headers={"content-type": answer.media_type}, content=content)


async def _one_by_one(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
