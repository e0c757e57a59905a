"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters import OpenAIChatClient
from copyfit_adapters.openai_chat.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server

OVERFLOW = b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}'


class TestOpenAIChatClient(ClientConformance):
    open_client = staticmethod(lambda **options: OpenAIChatClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
    answer = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}
    frames = [
        b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    overflow = OVERFLOW
    overflow_frame = b"data: " + OVERFLOW + b"\n\n"
    provider = "openai"
    complete_url = stream_url = "https://api.openai.com/v1/chat/completions"
    elsewhere_path = "/chat/completions"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "OPENAI_API_KEY"
    shown = "OpenAIChatClient('m1', provider='openai', host='api.openai.com')"

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("base_url", "field"),
        [("https://api.openai.com/v1", "max_completion_tokens"), ("https://host/v1", "max_tokens")],
    )
    async def test_the_dialect_follows_the_address_unless_given(
        self, family: Any, base_url: str, field: str
    ) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, base_url=base_url).complete(self.hello)
        assert json.loads(server.requests[0].read())[field] == 5
