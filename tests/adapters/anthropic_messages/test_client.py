"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import TextPart, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters import AnthropicMessagesClient
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server


def frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()


OVERFLOW = b'{"code":500,"message":"Context size has been exceeded.","type":"server_error"}'


class TestAnthropicMessagesClient(ClientConformance):
    open_client = staticmethod(lambda **options: AnthropicMessagesClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput(
        "Be brief.", (UserMessage(content=(TextPart(text="hi"),)),), settings=ModelSettings(max_output_tokens=5)
    )
    answer = {"type": "message", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}
    frames = [
        frame("message_start", message={"id": "r1", "type": "message", "content": []})
        + frame("content_block_start", index=0, content_block={"type": "text", "text": ""})
        + frame("content_block_delta", index=0, delta={"type": "text_delta", "text": "Hel"}),
        frame("content_block_delta", index=0, delta={"type": "text_delta", "text": "lo."})
        + frame("content_block_stop", index=0)
        + frame("message_delta", delta={"stop_reason": "end_turn"}),
        frame("message_stop"),
    ]
    overflow = OVERFLOW
    overflow_frame = b"event: error\ndata: " + OVERFLOW + b"\n\n"
    provider = "anthropic"
    complete_url = stream_url = "https://api.anthropic.com/v1/messages"
    elsewhere_path = "/messages"
    key_header, key_value = "x-api-key", KEY
    variable = "ANTHROPIC_API_KEY"
    shown = "AnthropicMessagesClient('m1', provider='anthropic', host='api.anthropic.com')"

    @pytest.mark.anyio
    async def test_the_version_betas_and_cache_marks_travel_when_they_are_asked_for(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, betas=("a-1", "b-2"), cache="1h").complete(self.hello)
        await self.client_of(server, version="2026-10-21").complete(self.hello)
        marked, plain = server.requests
        assert marked.headers["anthropic-version"] == "2023-06-01"
        assert plain.headers["anthropic-version"] == "2026-10-21"
        assert marked.headers["anthropic-beta"] == "a-1,b-2"
        assert "anthropic-beta" not in plain.headers
        assert json.loads(marked.read())["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        assert b"cache_control" not in plain.read()
