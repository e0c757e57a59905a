"""What others really sent and received: public cassettes of three hosts, and captures, beside the official SDK."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, ProviderError, StreamBroken
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import ThinkingPart, ToolCall
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.anthropic_messages.hosted import ChunkFraming, encode_for_bedrock, encode_for_vertex
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.errors import UnreadableRequest

CLAUDE = ("anthropic messages", "anthropic count_tokens", "bedrock invoke", "vertexai models")
"""Of the others, `bedrock converse` is another protocol, and no other host serves Claude by this one."""


def is_foreign(sent: bytes) -> bool:
    """Whether a request to Claude is for the completions of one prompt, which came before messages."""
    return "prompt" in json.loads(sent)


def streamed(body: bytes, *, chunked: bool = False) -> ModelOutput:
    stream = MessagesStream(framing=ChunkFraming() if chunked else None)
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def official(host: str, body: bytes, kind: str) -> dict[str, Any]:
    """Return the answer in `body` as the official SDK's client of the `host` reads it."""
    import anthropic
    import httpx2

    answer = httpx2.Response(200, headers={"content-type": kind}, content=body)
    with httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http:
        client: Any
        if "bedrock-runtime" in host:
            client = anthropic.AnthropicBedrock(api_key="k", aws_region="us-east-1", http_client=http)
        elif "aiplatform" in host:
            client = anthropic.AnthropicVertex(access_token="t", project_id="p", region="eu", http_client=http)
        else:
            client = anthropic.Anthropic(api_key="k", http_client=http)
        asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        with client:
            if kind == "application/json":
                return dict(client.messages.create(**asked).model_dump())
            with client.messages.stream(**asked) as events:
                return dict(events.get_final_message().model_dump())


def said_by(blocks: list[dict[str, Any]]) -> tuple[str, str, list[tuple[str, str, Any]]]:
    texts = "".join(block["text"] for block in blocks if block["type"] == "text")
    thoughts = "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
    calls = [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
    return texts, thoughts, calls


def form_of(url: str) -> Callable[[ModelInput], bytes]:
    """Return the writing of our bodies for the host at `url`."""
    if "bedrock-runtime" in url:
        return lambda model_input: encode_for_bedrock(model_input, "m").body
    if "aiplatform" in url:
        return lambda model_input: encode_for_vertex(model_input, "m", project="p", region="eu").body
    return lambda model_input: encode(model_input, "m").body


@pytest.mark.recorded(*CLAUDE)
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for each in recording:
        if is_foreign(each.sent):
            with pytest.raises(UnreadableRequest, match="messages"):
                readback(each.sent)
            continue
        read = readback(each.sent)
        again = readback(form_of(each.url)(read))
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, again))
        assert canonical_json(kept) == canonical_json(gone)


@pytest.mark.recorded(*CLAUDE)
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: Any) -> None:
    for each in recording:
        chunked = "invoke-with-response-stream" in each.url
        if is_foreign(each.sent):
            with pytest.raises(StreamBroken):
                streamed(each.answer, chunked=chunked)
            continue
        if not each.streamed and "content" not in json.loads(each.answer):
            assert set(json.loads(each.answer)) == {"input_tokens"}, "an answer without content is a count"
            continue
        ours = streamed(each.answer, chunked=chunked) if each.streamed else decode(200, each.answer)
        events = "application/vnd.amazon.eventstream" if chunked else "text/event-stream"
        theirs = official(each.url, each.answer, events if each.streamed else "application/json")
        parts = ours.message.parts
        calls = [(part.id, part.name, json.loads(part.arguments)) for part in parts if isinstance(part, ToolCall)]
        thoughts = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
        assert (ours.message.text, thoughts, calls) == said_by(theirs["content"])
        assert (ours.raw_finish_reason, ours.response_id) == (theirs["stop_reason"], theirs["id"])
        usage = theirs["usage"]
        cached, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        assert (ours.usage.cached_input_tokens, ours.usage.cache_write_tokens) == (cached, written)
        assert ours.usage.input_tokens == usage["input_tokens"] + (cached or 0) + (written or 0)
        assert ours.usage.output_tokens == usage["output_tokens"]


@pytest.mark.captured("*.messages*.json")
def test_a_captured_answer_decodes_or_is_a_typed_error(capture: Any, request: pytest.FixtureRequest) -> None:
    try:
        output = streamed(capture.answer) if capture.streamed else decode(capture.status, capture.answer)
    except ContextOverflow:
        assert ".over" in request.node.name or "midstream" in request.node.name
    except ProviderError:
        assert capture.status >= 400
    else:
        assert capture.status == 200
        assert output.message.content
        assert output.usage.output_tokens is not None
        assert output.raw_finish_reason
