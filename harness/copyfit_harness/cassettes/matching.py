"""Find the recorded exchange that answers a request: strictly, in recorded order, at a cost that does not grow."""

import json
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from copyfit.shapes.canonical import canonical_json
from copyfit_harness.wire.canonical import BodyKind, canonical_body, parse_json, request_digest
from copyfit_harness.wire.exchange import WireRequest
from copyfit_harness.wire.redact import storable_request
from copyfit_harness.wire.secrets import Redaction

_HOW_TO_READ_THE_BODY = ("content-type", "content-encoding")
_STEP = re.compile(r'\.?(?P<key>[^.\[\]]+)|\[(?:(?P<index>\d+)|(?P<every>\*)|(?P<quoted>"(?:[^"\\]|\\.)*"))\]')


@dataclass(frozen=True, slots=True)
class Loosening:
    """One named way in which two different requests shall count as the same.

    `normalize` is applied to the sent and to every recorded request before they are compared, and never to what is
    stored. `reason` says why the difference does not matter; the mismatch report repeats it.

    Raises:
        ValueError: the name or the reason is blank.

    """

    name: str
    reason: str
    normalize: Callable[[WireRequest], WireRequest]

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.reason.strip():
            raise ValueError("A loosening needs a name and a reason, so that a reader can judge it.")


def ignoring(path: str, *, reason: str) -> Loosening:
    """Return the loosening that leaves one member of a JSON body out of the comparison.

    `path` reads like those of a mismatch report: ``metadata.user_id``, ``messages[2].id``, ``["user.id"]``, and
    ``messages[*].id`` for every item. A body without that member, or that is not JSON, is compared as it is.

    Raises:
        ValueError: the path is empty or malformed, or the reason is blank.

    """
    steps = _steps(path)

    def without_member(request: WireRequest) -> WireRequest:
        if canonical_body(request).kind is not BodyKind.JSON:
            return request
        value = parse_json(request.body)
        _remove(value, steps)
        return replace(request, body=canonical_json(value))

    return Loosening(f"ignoring {path}", reason, without_member)


class RequestIndex:
    """The recorded requests of one cassette, by digest, and which of them were played.

    Safe to use from several threads at once. Positions count from 0.
    """

    def __init__(
        self, requests: Sequence[WireRequest], *, redaction: Redaction, loosenings: Sequence[Loosening] = ()
    ) -> None:
        self._redaction = redaction
        self._loosenings = tuple(loosenings)
        self._lock = Lock()
        self._unplayed: dict[str, deque[int]] = {}
        self._positions: dict[str, list[int]] = {}
        self._digest_of_bytes: dict[tuple[Any, ...], str] = {}
        for position, request in enumerate(requests):
            digest = request_digest(self.compared(request))
            self._unplayed.setdefault(digest, deque()).append(position)
            self._positions.setdefault(digest, []).append(position)
            self._digest_of_bytes[_spelling(request)] = digest

    def compared(self, request: WireRequest) -> WireRequest:
        """Return `request` as it is compared: cleaned of secrets, then loosened."""
        request = storable_request(request, self._redaction)
        for loosening in self._loosenings:
            request = loosening.normalize(request)
        return request

    def take(self, request: WireRequest) -> int | None:
        """Return the position of the first unplayed exchange that answers `request`, now played; else None."""
        if not self._unplayed:
            # A recording has nothing to look up, so its requests need no digest.
            return None
        digest = self._digest(request)
        with self._lock:
            waiting = self._unplayed.get(digest)
            return waiting.popleft() if waiting else None

    def recorded(self, request: WireRequest) -> tuple[int, ...]:
        """Return the positions of all exchanges that answer `request`, played or not."""
        return tuple(self._positions.get(self._digest(request), ()))

    def unplayed(self) -> tuple[int, ...]:
        """Return the positions of the exchanges that were not taken, in order."""
        with self._lock:
            return tuple(sorted(position for waiting in self._unplayed.values() for position in waiting))

    def _digest(self, request: WireRequest) -> str:
        # The bytes of a recorded request need no parsing to be recognised, and almost every request of a replay is
        # one of them. A loosening may look at anything, so with one there is no such shortcut.
        known = None if self._loosenings else self._digest_of_bytes.get(_spelling(request))
        return known or request_digest(self.compared(request))


def _spelling(request: WireRequest) -> tuple[Any, ...]:
    content = tuple(pair for pair in request.headers if pair[0].lower() in _HOW_TO_READ_THE_BODY)
    return request.method, request.url, content, request.body


def _steps(path: str) -> tuple[str | int | None, ...]:
    steps: list[str | int | None] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"{path!r} is not a path such as messages[*].id.")
        steps.append(_step(match))
        at = match.end()
    if not steps:
        raise ValueError("The path of the member to ignore is empty.")
    return tuple(steps)


def _step(match: re.Match[str]) -> str | int | None:
    if match["index"]:
        return int(match["index"])
    if match["quoted"]:
        return str(json.loads(match["quoted"]))
    return match["key"]


def _remove(value: Any, steps: tuple[str | int | None, ...]) -> None:
    """Take away what `steps` lead to, if it is there; None stands for every item of a list."""
    step, rest = steps[0], steps[1:]
    # From the end, so that the earlier indexes stay what they are.
    keys = reversed(range(len(value))) if step is None and isinstance(value, list) else (step,)
    for key in keys:
        found = (
            key < len(value)
            if isinstance(value, list) and isinstance(key, int)
            else (isinstance(value, dict) and key in value)
        )
        if found and rest:
            _remove(value[key], rest)
        elif found:
            del value[key]
