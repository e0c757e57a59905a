"""Tell the two HTTP families apart: httpx and httpx2 share a design and not a single class.

A response must belong to the library of its request, so whatever is built here takes its classes from there.
"""

import sys
from functools import lru_cache
from typing import Any

from copyfit_harness.wire.exchange import Ending, WireRequest

_FAMILIES = ("httpx", "httpx2")


def family_of(message: object) -> Any:
    """Return the module, httpx or httpx2, that `message` (a request, a response, a transport) belongs to.

    Raises:
        TypeError: it belongs to neither.

    """
    for ancestor in type(message).__mro__:
        root = ancestor.__module__.partition(".")[0]
        if root in _FAMILIES:
            return sys.modules[root]
    raise TypeError(f"{type(message).__qualname__} is neither httpx's nor httpx2's, so it cannot be answered.")


def wire_request(request: Any, body: bytes) -> WireRequest:
    """Return a family's `request`, whose `body` was read already, as what goes over the wire."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
    return WireRequest(request.method, str(request.url), headers, body)


def stream_of(family: Any, stream: type) -> Any:
    """Return `stream` as a class that both kinds of client of `family` accept as a response's stream."""
    return _joined_class(stream, family.SyncByteStream, family.AsyncByteStream)


def break_of(family: Any, ending: Ending) -> Exception:
    """Return the exception of `family` that a broken-off response raised when it was recorded.

    An exception that the family does not know becomes its ``ReadError``, with the name in its message.
    """
    known = getattr(family, ending.error, None)
    if isinstance(known, type) and issubclass(known, family.TransportError):
        error: Exception = known(ending.message)
        return error
    named: Exception = family.ReadError(f"{ending.error}: {ending.message}")
    return named


@lru_cache(maxsize=16)
def _joined_class(*bases: Any) -> Any:
    return type(bases[0].__name__, bases, {})
