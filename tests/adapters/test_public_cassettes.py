"""Every public cassette is read by some room's tests, or is none of a protocol's."""

import json
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared"
ROOMS = Path(__file__).parent
NO_CHAT = {
    "huggingface ": "an embedding and a list of models besides chat; its chat is read as openai-chat",
    "openai embeddings": "embeddings",
    "voyage embeddings": "embeddings",
    "writer completions": "the old completions, without messages",
}
"""Cassettes whose exchanges are of no protocol, wholly or in part, and why."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not beside this checkout")
def test_every_public_cassette_is_read_or_is_of_no_protocol() -> None:
    rows = map(json.loads, (SHARED / "public_cassettes" / "manifest.jsonl").read_text().splitlines())
    kinds = {f"{row['provider']} {row['api']}" for row in rows}
    tests = "".join(path.read_text("utf-8") for path in ROOMS.glob("*/test_*.py"))
    read = {kind for kind in kinds if f'"{kind}"' in tests}
    assert kinds - read - NO_CHAT.keys() == set()
    assert read & NO_CHAT.keys() <= {"huggingface "}
