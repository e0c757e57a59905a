"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

from typing import Any

import pytest

from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.cohere_v2.client import CohereChatClient
from copyfit_adapters.cohere_v2.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server

OVERFLOW = b'{"id":"r","message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}'


class TestCohereChatClient(ClientConformance):
    open_client = staticmethod(lambda **options: CohereChatClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
    answer = {
        "id": "r",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    }
    frames = [
        b'data: {"type":"message-start","id":"r","delta":{"message":{"role":"assistant"}}}\n\n'
        b'data: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text"}}}}\n\n'
        b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hel"}}}}\n\n',
        b'data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"lo."}}}}\n\n',
        b'data: {"type":"message-end","delta":{"finish_reason":"COMPLETE"}}\n\n',
    ]
    overflow = OVERFLOW
    overflow_frame = b"data: " + OVERFLOW + b"\n\n"
    provider = "cohere"
    complete_url = stream_url = "https://api.cohere.com/v2/chat"
    elsewhere_path = "/v2/chat"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "CO_API_KEY"
    shown = "CohereChatClient('m1', provider='cohere', host='api.cohere.com')"

    @pytest.fixture(autouse=True)
    def no_other_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COHERE_API_KEY", raising=False)

    @pytest.mark.anyio
    async def test_the_other_variable_of_the_key_is_known_too(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CO_API_KEY", raising=False)
        monkeypatch.setenv("COHERE_API_KEY", KEY)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    @pytest.mark.anyio
    async def test_the_window_is_asked_of_the_models_endpoint_of_the_older_version(self, family: Any) -> None:
        # The protocol's schema gives the window as a number that may be a float.
        known = {"name": "m1", "endpoints": ["chat"], "finetuned": False, "context_length": 288000.0}
        server = Server(family, lambda: family.Response(200, json=known))
        client = CohereChatClient("team/m1", api_key=KEY, http=server.http)
        assert await client.fetch_limits() == ModelLimits(context_tokens=288_000)
        (asked,) = server.requests
        assert (asked.method, str(asked.url)) == ("GET", "https://api.cohere.com/v1/models/team%2Fm1")
        assert asked.headers["authorization"] == f"Bearer {KEY}"
