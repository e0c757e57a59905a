"""The one place that sends.

Takes an async client of either HTTP family, httpx or httpx2, or opens an httpx one. It knows a family by the
client's own module, which is loaded already, and imports neither.
"""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from copyfit.errors import ProviderError, SettingsError, Unavailable
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.refusal import Asked, quote, refusal

_MAX_WAIT = 60.0
"""Seconds; a provider that asks for a longer wait is not asked again: the error carries its `retry_after`."""
_FIRST_WAIT = 0.5
"""Seconds before the first retry when the provider asks for none; each further wait is twice as long."""
_ERROR_BYTES = 1024 * 1024
"""Bytes of an error's body that are read; messages are far shorter."""


class AsyncHttpClient(Protocol):
    """What is used of a client; `httpx.AsyncClient` and `httpx2.AsyncClient` both have it."""

    def build_request(
        self, method: str, url: str, *, content: Any = None, headers: Any = None, timeout: Any = None
    ) -> Any:
        """Return a request of the client's own family."""
        ...

    async def send(self, request: Any, *, stream: bool = False) -> Any:
        """Send it and return the response, unread when `stream` is true."""
        ...

    async def aclose(self) -> None:
        """Close the client's connections."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait, in seconds: `connect` for a connection, `read` for the next bytes of an answer."""

    connect: float = 10.0
    read: float = 600.0


DEFAULT_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """A whole answer with a status below 300; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


async def _pause(seconds: float) -> None:
    """Wait `seconds`, under asyncio and trio alike."""
    import anyio

    await anyio.sleep(seconds)


class HttpSender:
    """Posts bytes and turns whatever goes wrong into a typed error.

    It sends again, at most `max_retries` times, when no connection came about or a kept one was closed instead of
    an answer, and on an answer of 429 or 5xx that another try may change; it waits as long as ``retry-after``
    says. An error that is judged to be an overflow is never sent again, whatever its status. A client that is
    given (`http`) is never closed here, and keeps its own timeouts when `timeouts` is None. `sleep` stands in for
    the clock.

    Raises:
        SettingsError: `max_retries` is below 0.

    """

    def __init__(
        self,
        asked: Asked,
        *,
        http: AsyncHttpClient | None = None,
        max_retries: int = 2,
        timeouts: Timeouts | None = DEFAULT_TIMEOUTS,
        sleep: Callable[[float], Awaitable[None]] = _pause,
    ) -> None:
        if max_retries < 0:
            raise SettingsError("max_retries", max_retries, "0 or more")
        self._asked = asked
        self._given = http
        self._opened: AsyncHttpClient | None = None
        self._max_retries = max_retries
        self._timeouts = timeouts
        self._sleep = sleep

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Post `body` and return the whole answer.

        Raises:
            ContextOverflow: the provider says that the input is too long.
            ProviderError: it refuses for another reason, cannot be reached, or breaks off.

        """
        return await self._whole("POST", url, headers, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Get the whole answer at `url`.

        Raises:
            ProviderError: the server refuses, cannot be reached, or breaks off.

        """
        return await self._whole("GET", url, headers, b"")

    async def stream(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[bytes, None]:
        """Post `body` and yield the bytes of the answer as they come; the response is closed when this ends.

        Raises:
            ContextOverflow: the provider says that the input is too long.
            ProviderError: it refuses for another reason, cannot be reached, or breaks off.

        """
        response, family = await self._open("POST", url, headers, body)
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except family.failed as e:
            raise self._failed(url, e) from e
        finally:
            await _close(response)

    async def aclose(self) -> None:
        """Close the client that was opened here, if there is one."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.aclose()

    async def _whole(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        response, family = await self._open(method, url, headers, body)
        try:
            whole = await response.aread()
        except family.failed as e:
            raise self._failed(url, e) from e
        finally:
            await _close(response)
        return HttpReply(status=response.status_code, headers=_lowered(response.headers), body=whole)

    async def _open(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[Any, "_Family"]:
        """Return an unread response with a status below 300, and the family that it belongs to."""
        client = self._client()
        family = _family_of(client)
        options: dict[str, Any] = {"headers": dict(headers), "content": body}
        if self._timeouts is not None:
            connect, read = self._timeouts.connect, self._timeouts.read
            options["timeout"] = (connect, read, read, connect)
        attempt = 0
        while True:
            is_last = attempt == self._max_retries
            wait = min(_FIRST_WAIT * 2**attempt, _MAX_WAIT)
            try:
                response = await client.send(client.build_request(method, url, **options), stream=True)
            except family.unanswered as e:
                if is_last:
                    raise self._failed(url, e) from e
            except family.failed as e:
                raise self._failed(url, e) from e
            else:
                if 200 <= response.status_code < 300:
                    return response, family
                error = await self._refused(response, family)
                wait = wait if error.retry_after is None else error.retry_after
                if is_last or not error.retryable or wait > _MAX_WAIT:
                    raise error
            attempt += 1
            await self._sleep(wait)

    def _client(self) -> AsyncHttpClient:
        if self._given is not None:
            return self._given
        if self._opened is None:
            import httpx

            self._opened = httpx.AsyncClient()
        return self._opened

    async def _refused(self, response: Any, family: "_Family") -> ProviderError:
        body = bytearray()
        try:
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) >= _ERROR_BYTES:
                    break
        except family.failed:
            pass  # the status alone still says what kind of error it is
        finally:
            await _close(response)
        return refusal(lift(response.status_code, bytes(body), headers=_lowered(response.headers)), self._asked)

    def _failed(self, url: str, error: Exception) -> Unavailable:
        reason = quote(f"{type(error).__name__}: {error}", self._asked.secrets)
        return Unavailable(
            f"{self._asked.provider} gave no answer at {urlsplit(url).hostname} ({reason}): check the address and "
            "the network, or send it again later.",
            provider=self._asked.provider,
            model=self._asked.model,
            retryable=True,
        )


@dataclass(frozen=True, slots=True)
class _Family:
    """The exceptions of an HTTP family: the request `failed`, and those where the server surely gave no answer.

    A server that closes a connection which was kept for the next request shows as a ``RemoteProtocolError``.
    """

    failed: tuple[type[Exception], ...] = ()
    unanswered: tuple[type[Exception], ...] = ()


def _family_of(client: AsyncHttpClient) -> _Family:
    for kind in type(client).__mro__:
        module = sys.modules.get(kind.__module__.partition(".")[0])
        names = ("RequestError", "ConnectError", "ConnectTimeout", "RemoteProtocolError")
        found = [getattr(module, name, None) for name in names]
        if all(isinstance(error, type) and issubclass(error, Exception) for error in found):
            failed, *unanswered = (error for error in found if error is not None)
            return _Family(failed=(failed,), unanswered=tuple(unanswered))
    return _Family()


async def _close(response: Any) -> None:
    """Close `response` even while the task is being cancelled, but do not wait long for it."""
    import anyio

    with anyio.move_on_after(2, shield=True):
        await response.aclose()


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
