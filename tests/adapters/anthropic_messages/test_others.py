"""What others really sent and received: public cassettes and captures of servers, beside the official SDK."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from copyfit.errors import ContextOverflow, ProviderError
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import ThinkingPart, ToolCall
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.codec.losses import without_losses

SHARED = Path(__file__).parents[3].parent / "shared"
CASSETTES = SHARED / "public_cassettes"
CAPTURES = SHARED / "local-provider" / "captures"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not beside this checkout")


def recordings(provider: str = "anthropic") -> list[Path]:
    manifest = CASSETTES / "manifest.jsonl"
    rows = map(json.loads, manifest.read_text().splitlines()) if manifest.is_file() else ()
    return [CASSETTES / row["local"] for row in rows if row["provider"] == provider]


def captured(pattern: str) -> list[Path]:
    """Return the captures that match, without the answers of the counting endpoint, which are no messages."""
    return sorted(path for path in CAPTURES.glob(pattern) if "count" not in path.name)


def interactions(path: Path) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield the request's body, the answer's and whether it is streamed, of each interaction of a cassette."""
    for entry in yaml.safe_load(path.read_text())["interactions"]:
        sent, answer = _body(entry["request"]), _body(entry["response"])
        yield sent, answer, bool(json.loads(sent).get("stream"))


def _body(side: dict[str, Any]) -> bytes:
    if "parsed_body" in side:
        return json.dumps(side["parsed_body"]).encode()
    body = side["body"]["string"] if isinstance(side["body"], dict) else side["body"]
    raw: bytes = body.encode() if isinstance(body, str) else body
    return gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw


def streamed(body: bytes) -> ModelOutput:
    stream = MessagesStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def official(body: bytes, *, stream: bool) -> dict[str, Any]:
    """Return the answer in `body` as the official SDK reads it."""
    import anthropic
    import httpx2

    kind = "text/event-stream" if stream else "application/json"
    answer = httpx2.Response(200, headers={"content-type": kind}, content=body)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        anthropic.Anthropic(api_key="k", http_client=http) as client,
    ):
        asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        if stream:
            with client.messages.stream(**asked) as events:
                return dict(events.get_final_message().model_dump())
        return dict(client.messages.create(**asked).model_dump())


def said_by(blocks: list[dict[str, Any]]) -> tuple[str, str, list[tuple[str, str, Any]]]:
    texts = "".join(block["text"] for block in blocks if block["type"] == "text")
    thoughts = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    return texts, thoughts, calls


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(path: Path) -> None:
    for sent, _, stream in interactions(path):
        read = readback(sent)
        again = readback(encode(read, json.loads(sent)["model"], stream=stream).body)
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, again))
        assert canonical_json(kept) == canonical_json(gone)


@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(path: Path) -> None:
    for _, answer, stream in interactions(path):
        if not stream and "content" not in json.loads(answer):
            assert set(json.loads(answer)) == {"input_tokens"}, "an answer without content is a count"
            continue
        ours = streamed(answer) if stream else decode(200, answer)
        theirs = official(answer, stream=stream)
        parts = ours.message.parts
        calls = [(part.id, part.name, json.loads(part.arguments)) for part in parts if isinstance(part, ToolCall)]
        thoughts = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
        assert (ours.message.text, thoughts, calls) == said_by(theirs["content"])
        assert ours.raw_finish_reason == theirs["stop_reason"]
        usage = theirs["usage"]
        cached = usage["cache_read_input_tokens"] or 0
        written = usage["cache_creation_input_tokens"] or 0
        assert ours.usage.input_tokens == usage["input_tokens"] + cached + written
        assert ours.usage.output_tokens == usage["output_tokens"]


@pytest.mark.parametrize("path", captured("*.messages*.json"), ids=lambda path: path.stem)
def test_a_captured_answer_decodes_or_is_a_typed_error(path: Path) -> None:
    capture = json.loads(path.read_text())
    status, body = capture["response"]["status"], capture["response"]["body"].encode()
    sent = json.loads(capture["request"]["body"])
    try:
        output = streamed(body) if sent.get("stream") and status == 200 else decode(status, body)
    except ContextOverflow:
        assert ".over" in path.name or "midstream" in path.name
    except ProviderError:
        assert status >= 400
    else:
        assert status == 200
        assert output.message.content
        assert output.usage.output_tokens is not None
        assert output.raw_finish_reason
