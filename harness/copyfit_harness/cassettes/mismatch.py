"""Say why no recorded exchange answers a request: the nearest one, and path by path what differs from it."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from copyfit_harness.cassettes.matching import Loosening
from copyfit_harness.errors import CassetteMismatch
from copyfit_harness.wire.canonical import BodyKind, body_value, canonical_body, normalised_url
from copyfit_harness.wire.difference import Difference, DifferenceKind, describe, json_differences
from copyfit_harness.wire.exchange import WireRequest, header_value

_COMPARED_CLOSELY = 5
_SHOWN = 12
_WORD = re.compile(r"\w{1,12}")
_WHAT_TO_DO = (
    "If the change is meant, record the cassette again (RecordMode.ALL, or --copyfit-record=all); to keep what "
    "is there and add this request, use RecordMode.NEW."
)


def mismatch(
    path: Path,
    sent: WireRequest,
    recorded: Sequence[WireRequest],
    *,
    same: Sequence[int] = (),
    unplayed: Sequence[int] = (),
    loosenings: Sequence[Loosening] = (),
) -> CassetteMismatch:
    """Return the error for a request that has no recorded exchange left.

    `sent` and `recorded` are requests as they are compared: cleaned of secrets and loosened. `same` are the
    positions of recorded requests that equal `sent` and were all played, `unplayed` those of any request that was
    not played yet; positions count from 0 and are shown from 1. The error's `paths` are all differing paths: of
    the body, and ``@method``, ``@url``, ``@content-type`` and ``@body`` for what has no path in it.
    """
    lines = [f"No recorded exchange of {path} is left for {sent.summary()}."]
    differences: tuple[Difference, ...] = ()
    if same:
        listed = ", ".join(str(position + 1) for position in same)
        lines.append(
            f"The same request was recorded as exchange {listed} of {len(recorded)}, and this run sends it once "
            "more: a retry or a loop makes more calls than before."
        )
    elif not recorded:
        lines.append("The cassette holds no exchange at all.")
    else:
        nearest, differences = _nearest(sent, recorded, frozenset(unplayed))
        state = "not played yet" if nearest in unplayed else "already played"
        count = f"{len(differences)} difference{'' if len(differences) == 1 else 's'}"
        lines.append(f"Nearest is exchange {nearest + 1} of {len(recorded)}, {state}; {count}:")
        lines += [describe(found, expected_name="recorded", actual_name="sent") for found in differences[:_SHOWN]]
        if len(differences) > _SHOWN:
            lines.append(f"… and {len(differences) - _SHOWN} more")
    lines += [f"Compared with a loosening: {loosening.name} ({loosening.reason})." for loosening in loosenings]
    lines.append(_WHAT_TO_DO)
    return CassetteMismatch(path, "\n".join(lines), tuple(found.path for found in differences))


def request_differences(recorded: WireRequest, sent: WireRequest) -> tuple[Difference, ...]:
    """Return what differs between two requests in anything that matching looks at."""
    found = []
    sides = {
        "@method": (recorded.method, sent.method),
        "@url": (normalised_url(recorded.url), normalised_url(sent.url)),
    }
    kinds = canonical_body(recorded).kind, canonical_body(sent).kind
    if kinds[0] is not kinds[1]:
        names = [header_value(request.headers, "content-type") for request in (recorded, sent)]
        sides["@content-type"] = (f"{names[0]} (read as {kinds[0]})", f"{names[1]} (read as {kinds[1]})")
    for path, (one, other) in sides.items():
        if one != other:
            found.append(Difference(DifferenceKind.CHANGED, path, one, other))
    if kinds[0] is kinds[1] is not BodyKind.RAW:
        found += [_rooted(each) for each in json_differences(body_value(recorded), body_value(sent))]
    else:
        found += [_rooted(each) for each in json_differences(_plain(recorded.body), _plain(sent.body))]
    return tuple(found)


def _nearest(
    sent: WireRequest, recorded: Sequence[WireRequest], unplayed: frozenset[int]
) -> tuple[int, tuple[Difference, ...]]:
    """Pick the recorded request with the least differing text; of equals, the first that was not played yet."""
    # Counting words finds the few candidates in time that grows with the text, comparing paths decides among them.
    words = _words(sent)
    distance = [
        (_distance(words, _words(request)), position not in unplayed, position)
        for position, request in enumerate(recorded)
    ]
    ranked = []
    for _, played, position in sorted(distance)[:_COMPARED_CLOSELY]:
        differences = request_differences(recorded[position], sent)
        ranked.append((sum(each.weight for each in differences), played, position, differences))
    _, _, position, differences = min(ranked, key=lambda candidate: candidate[:3])
    return position, differences


def _words(request: WireRequest) -> Counter[str]:
    text = request.body.decode("utf-8", "replace")
    return Counter(_WORD.findall(f"{request.method} {request.url} {text}"))


def _distance(one: Counter[str], other: Counter[str]) -> int:
    return one.total() + other.total() - 2 * (one & other).total()


def _rooted(difference: Difference) -> Difference:
    if difference.path:
        return difference
    return Difference(difference.kind, "@body", difference.expected, difference.actual)


def _plain(body: bytes) -> str | bytes:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body
