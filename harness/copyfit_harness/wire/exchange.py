"""One HTTP exchange as it crossed the wire: request, response, chunk edges and the way the response ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

Headers = tuple[tuple[str, str], ...]
"""Header pairs in order; names as they were written, values decoded from Latin-1, which loses no byte."""


class EndingKind(StrEnum):
    """How a response body came to its end."""

    COMPLETE = "complete"
    CLIENT_STOPPED = "client-stopped"
    BROKE_OFF = "broke-off"


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a response body.

    `error` is the class name of the exception that a broken-off body raised (``ReadError``), `message` its text;
    both are empty for the other kinds.
    """

    kind: EndingKind = EndingKind.COMPLETE
    error: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class WireRequest:
    """A request as bytes. Its repr shows neither headers nor query nor body, which may hold secrets."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""

    def __repr__(self) -> str:
        return f"<WireRequest {self.summary()}>"

    def summary(self) -> str:
        """Return method, host and path, and the size of the body in bytes, fit for an error message."""
        return f"{self.method} {_without_secrets(self.url)} ({len(self.body)} bytes)"


@dataclass(frozen=True, slots=True, repr=False)
class WireResponse:
    """A response as bytes, cut where the network cut it.

    `chunks` are the body's pieces in order and `delays`, when they were kept, the seconds that passed before each.

    Raises:
        ValueError: there are delays, and not one for each chunk.

    """

    status: int
    reason: str = ""
    headers: Headers = ()
    chunks: tuple[bytes, ...] = ()
    delays: tuple[float, ...] | None = None
    ending: Ending = Ending()

    def __post_init__(self) -> None:
        if self.delays is not None and len(self.delays) != len(self.chunks):
            raise ValueError(f"{len(self.chunks)} chunks need as many delays, not {len(self.delays)}.")

    def __repr__(self) -> str:
        return f"<WireResponse {self.status}, {len(self.chunks)} chunks, {self.ending.kind}>"

    @property
    def body(self) -> bytes:
        """The whole body: the chunks joined."""
        return b"".join(self.chunks)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the response that it got."""

    request: WireRequest
    response: WireResponse


def header_value(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """Return the first value of the header `name`, compared without case, or None."""
    wanted = name.lower()
    for key, value in headers:
        if key.lower() == wanted:
            return value
    return None


def media_type(headers: Iterable[tuple[str, str]]) -> str:
    """Return the media type of a body in lower case without its parameters; empty when none is stated."""
    return (header_value(headers, "content-type") or "").partition(";")[0].strip().lower()


def _without_secrets(url: str) -> str:
    """Keep scheme, host, port and path of `url`; user information and query may hold credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
