"""What others really sent and received: public cassettes of four dialects, and captures of servers.

A test marked ``recorded(provider, api, ...)`` is run for each such cassette as its `recording`; one marked
``captured(*patterns)`` for each capture as its `capture`.
"""

import gzip
import json
from base64 import b64decode
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

SHARED = Path(__file__).parents[2].parent / "shared"
CASSETTES = SHARED / "public_cassettes"
CAPTURES = SHARED / "local-provider" / "captures"
ABSENT = pytest.mark.skip(reason="the shared recordings are not beside this checkout")


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """One request and its answer; `streamed` says whether the answer is a stream by its content type."""

    method: str
    url: str
    sent: bytes
    status: int
    answer: bytes
    streamed: bool


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, found in (("recording", _recordings), ("capture", _captures)):
        marker = metafunc.definition.get_closest_marker({"recording": "recorded", "capture": "captured"}[name])
        if marker is None:
            continue
        if not SHARED.is_dir():
            metafunc.parametrize(name, [pytest.param(None, marks=ABSENT)])
            continue
        paths = found(*marker.args)
        assert paths, f"nothing is recorded for {marker.args}"
        metafunc.parametrize(name, paths, indirect=True, ids=[path.stem[:60] for path in paths])


@pytest.fixture
def recording(request: pytest.FixtureRequest) -> list[Interaction] | None:
    """Return the interactions of one public cassette."""
    path: Path | None = request.param if hasattr(request, "param") else None
    return None if path is None else _interactions(path)


@pytest.fixture
def capture(request: pytest.FixtureRequest) -> Interaction | None:
    """Return the one interaction of a capture."""
    path: Path | None = request.param if hasattr(request, "param") else None
    if path is None:
        return None
    held = json.loads(path.read_text())
    sent, answer = held["request"], held["response"]
    return Interaction(
        method=sent.get("method", "POST"),
        url=sent.get("url") or sent.get("path", ""),
        sent=(sent.get("body") or "").encode(),
        status=answer["status"],
        answer=(answer.get("body") or "").encode(),
        streamed=(answer.get("body") or "").lstrip().startswith(("data:", "event:")),
    )


@cache
def _manifest() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASSETTES / "manifest.jsonl").read_text().splitlines()]


def _recordings(*wanted: str) -> list[Path]:
    """Return the cassettes of each ``provider api`` that is `wanted`."""
    return [CASSETTES / row["local"] for row in _manifest() if f"{row['provider']} {row['api']}" in wanted]


def _captures(*patterns: str) -> list[Path]:
    """Return the captures that match, without the answers of the counting endpoint."""
    found = {path for pattern in patterns for path in CAPTURES.glob(pattern)}
    return sorted(path for path in found if "count" not in path.name)


def _interactions(path: Path) -> list[Interaction]:
    held = yaml.safe_load(path.read_text())
    return [_interaction(entry) for entry in held.get("interactions") or held["http_interactions"]]


def _interaction(entry: dict[str, Any]) -> Interaction:
    sent, answer = entry["request"], entry["response"]
    status = answer.get("code") or answer["status"]["code"]
    headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
    kind = headers.get("content-type", "")
    return Interaction(
        method=sent["method"].upper(),
        url=sent.get("uri") or sent["url"],
        sent=_body(sent),
        status=status,
        answer=_body(answer),
        streamed="stream" in kind or "ndjson" in kind or _body(answer).startswith((b"data:", b"event:")),
    )


def _body(side: dict[str, Any]) -> bytes:
    if "parsed_body" in side:
        return json.dumps(side["parsed_body"]).encode()
    body = side.get("body") or b""
    if isinstance(body, dict):
        body = body.get("string") or (b64decode(body["base64_string"]) if "base64_string" in body else b"")
    raw: bytes = body.encode() if isinstance(body, str) else body
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
