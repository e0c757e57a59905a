"""The request that a codec makes."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request, ready to be sent: the `path` below the provider's base URL, and the `body` bytes."""

    path: str
    body: bytes = field(repr=False)
