"""Send requests for a stable, made-up address to a server on this machine, so that cassettes name no port."""

from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import urlsplit

from copyfit_harness.errors import LiveCallBlocked
from copyfit_harness.transport.family import family_of
from copyfit_harness.transport.inner import InnerTransport

_DEFAULT_PORTS = {"http": 80, "https": 443}


class Rehost:
    """An inner transport that takes what is addressed to `nominal` to `actual`, and refuses everything else.

    `nominal` is an origin that no server has (``http://local-provider.invalid``), `actual` one on loopback
    (``http://127.0.0.1:8080``). Give it to `Recorder.transport`, for httpx or httpx2, sync or async; `inner`, or
    the family's default transport, does the sending.

    Raises:
        ValueError: `actual` is not on loopback, or one of them is not a bare origin.

    """

    def __init__(self, nominal: str, actual: str, *, inner: Any = None) -> None:
        self._nominal = _origin(nominal)
        self._actual = _origin(actual)
        if not _is_loopback(self._actual[1]):
            raise ValueError(f"{actual} is not on this machine: give an address such as http://127.0.0.1:8080.")
        self._netloc = urlsplit(actual).netloc
        self._inner = InnerTransport(inner)

    def handle_request(self, request: Any) -> Any:
        """Send a sync client's `request` to the actual server and return the response.

        Raises:
            LiveCallBlocked: the request is not addressed to the nominal origin.

        """
        readdressed = self._readdressed(request)
        return self._inner.for_sync(family_of(request)).handle_request(readdressed)

    async def handle_async_request(self, request: Any) -> Any:
        """Send an async client's `request` to the actual server and return the response.

        Raises:
            LiveCallBlocked: the request is not addressed to the nominal origin.

        """
        readdressed = self._readdressed(request)
        return await self._inner.for_async(family_of(request)).handle_async_request(readdressed)

    def close(self) -> None:
        """Close the inner transport of sync clients."""
        self._inner.close()

    async def aclose(self) -> None:
        """Close the inner transport of async clients."""
        await self._inner.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *leaving: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *leaving: object) -> None:
        await self.aclose()

    def _readdressed(self, request: Any) -> Any:
        url = request.url
        origin = url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)
        if origin != self._nominal:
            nominal = f"{self._nominal[0]}://{self._nominal[1]}"
            raise LiveCallBlocked(
                f"{url.scheme}://{url.host}", f"only {nominal} is sent to the server on this machine"
            )
        scheme, host, port = self._actual
        headers = [
            (name, self._netloc.encode() if name.lower() == b"host" else value)
            for name, value in request.headers.raw
        ]
        return family_of(request).Request(
            request.method,
            url.copy_with(scheme=scheme, host=host, port=port),
            headers=headers,
            stream=request.stream,
            extensions=request.extensions,
        )


def _origin(text: str) -> tuple[str, str, int | None]:
    parts = urlsplit(text)
    if not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise ValueError(f"{text!r} is not an origin such as http://127.0.0.1:8080.")
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
