"""The transport that does the sending behind one of ours: the one that was given, or the family's own default."""

from threading import Lock
from typing import Any


class InnerTransport:
    """A given transport, or the default of whichever family asks, opened when it is first needed.

    Closing closes the given one too, as every client does with its transport; a default opens again when needed.
    """

    def __init__(self, given: Any = None) -> None:
        self._given = given
        self._guard = Lock()
        self._opened: dict[tuple[str, str], Any] = {}

    def for_sync(self, family: Any) -> Any:
        """Return a transport with ``handle_request`` for the module `family`.

        Raises:
            TypeError: one was given, and it is only for async clients.

        """
        return self._of(family, "HTTPTransport", "handle_request")

    def for_async(self, family: Any) -> Any:
        """Return a transport with ``handle_async_request`` for the module `family`.

        Raises:
            TypeError: one was given, and it is only for sync clients.

        """
        return self._of(family, "AsyncHTTPTransport", "handle_async_request")

    def close(self) -> None:
        """Close what serves sync clients."""
        for transport in self._taken_out("HTTPTransport", "close"):
            transport.close()

    async def aclose(self) -> None:
        """Close what serves async clients."""
        for transport in self._taken_out("AsyncHTTPTransport", "aclose"):
            await transport.aclose()

    def _of(self, family: Any, default: str, method: str) -> Any:
        if self._given is not None:
            if hasattr(self._given, method):
                return self._given
            raise TypeError(
                f"{type(self._given).__qualname__} has no {method}: it suits the other kind of client."
            )
        with self._guard:
            key = default, family.__name__
            if key not in self._opened:
                self._opened[key] = getattr(family, default)()
            return self._opened[key]

    def _taken_out(self, default: str, method: str) -> list[Any]:
        with self._guard:
            found = [self._opened.pop(key) for key in list(self._opened) if key[0] == default]
        if hasattr(self._given, method):
            found.append(self._given)
        return found
