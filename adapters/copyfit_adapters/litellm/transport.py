"""Lead what litellm sends through one client of either HTTP family, and see what becomes of it."""

import sys
from collections.abc import AsyncIterator
from typing import Any

from copyfit_adapters.http import AsyncHttpClient, Timeouts

_HEAD_BYTES = 65_536
"""Bytes of an answer that are kept; an error's body is shorter."""
_REFRAMED = ("content-encoding", "content-length", "transfer-encoding")
"""Headers of an answer that are no longer true when its body has been decoded."""


class Passage:
    """A transport, as httpx wants one, that sends through an open `http` client of httpx or httpx2.

    `used` tells whether anything passed; `status` and `head` are the last answer's, the beginning of its body. The
    bodies of answers pass piece by piece, decoded. After a request that got no answer nothing passes any more:
    litellm's handler would send the same one again. With `timeouts` None the client keeps its own.
    """

    def __init__(self, http: AsyncHttpClient, timeouts: Timeouts | None) -> None:
        self.used = False
        self.status: int | None = None
        self.head = bytearray()
        self._failure: Exception | None = None
        self._http = http
        self._timeouts = timeouts

    async def handle_async_request(self, request: Any) -> Any:
        """Send `request` and return the answer, unread.

        Raises:
            httpx.TransportError: it cannot be sent, whatever the client's family.

        """
        import httpx

        if self._failure is not None:
            raise self._failure
        self.used = True
        options: dict[str, Any] = {"content": await request.aread(), "headers": list(request.headers.items())}
        if self._timeouts is not None:
            connect, read = self._timeouts.connect, self._timeouts.read
            options["timeout"] = (connect, read, read, connect)
        try:
            own = self._http.build_request(request.method, str(request.url), **options)
            answer = await self._http.send(own, stream=True)
        except _failures() as e:
            self._failure = _in_httpx(e, request)
            raise self._failure from e
        self.status = answer.status_code
        self.head.clear()
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _REFRAMED]
        return httpx.Response(
            answer.status_code, headers=kept, stream=_body(answer, request, self.head), request=request
        )

    async def aclose(self) -> None:
        """Do nothing: the client is not this transport's to close."""

    async def __aenter__(self) -> "Passage":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _body(answer: Any, request: Any, head: bytearray) -> Any:
    import httpx

    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for piece in answer.aiter_bytes():
                    head.extend(piece[: _HEAD_BYTES - len(head)])
                    yield piece
            except _failures() as e:
                raise _in_httpx(e, request) from e

        async def aclose(self) -> None:
            await answer.aclose()

    return Body()


def _failures() -> tuple[type[Exception], ...]:
    """Return what a request of either family may fail with; a family that is not loaded sends nothing."""
    return tuple(sys.modules[name].RequestError for name in ("httpx", "httpx2") if name in sys.modules)


def _in_httpx(error: Exception, request: Any) -> Exception:
    """Return the httpx error of the same name, which litellm knows."""
    import httpx

    kind = getattr(httpx, type(error).__name__, httpx.NetworkError)
    return kind(str(error), request=request)
