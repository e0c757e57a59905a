"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.openai_responses.client import OpenAIResponsesClient
from copyfit_adapters.openai_responses.dialect import PROTOCOL, STATELESS
from copyfit_adapters.openai_responses.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server


def frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n".encode()


OVERFLOW = b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}'
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
ANSWER = {"id": "r1", "status": "completed", "output": [MESSAGE]}


class TestOpenAIResponsesClient(ClientConformance):
    open_client = staticmethod(lambda **options: OpenAIResponsesClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput(
        "Be brief.",
        (UserMessage(content="hi"),),
        settings=ModelSettings(max_output_tokens=5, extra={PROTOCOL: STATELESS}),
    )
    answer = ANSWER
    frames = [
        frame("response.created", response={"id": "r1", "status": "in_progress", "output": []})
        + frame("response.output_item.added", output_index=0, item=MESSAGE | {"content": []})
        + frame("response.output_text.delta", output_index=0, content_index=0, delta="Hel"),
        frame("response.output_text.delta", output_index=0, content_index=0, delta="lo.")
        + frame("response.output_item.done", output_index=0, item=MESSAGE),
        frame("response.completed", response=ANSWER),
    ]
    overflow = OVERFLOW
    overflow_frame = b"data: " + OVERFLOW + b"\n\n"
    provider = "openai"
    complete_url = stream_url = "https://api.openai.com/v1/responses"
    elsewhere_path = "/responses"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "OPENAI_API_KEY"
    shown = "OpenAIResponsesClient('m1', provider='openai', host='api.openai.com')"

    @pytest.mark.anyio
    async def test_reasoning_is_asked_for_and_prefixes_are_marked_as_the_client_was_told(
        self, family: Any
    ) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        bare = ModelInput("", (UserMessage(content="hi"),))
        await self.client_of(server).complete(bare)
        await self.client_of(server, encrypted_reasoning=False, cache="12h").complete(bare)
        first, second = (json.loads(sent.read()) for sent in server.requests)
        assert first["include"] == ["reasoning.encrypted_content"]
        assert first["input"] == [{"type": "message", "role": "user", "content": "hi"}]
        assert "include" not in second
        assert second["input"][0]["content"] == [
            {
                "type": "input_text",
                "text": "hi",
                "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"},
            }
        ]
        assert first["store"] is second["store"] is False

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("model", "asks"),
        [
            ("gpt-5.1", True),
            ("o3", True),
            ("gpt-4o-mini", False),
            ("gpt-4.1", False),
            ("gpt-5.1-chat-latest", False),
        ],
    )
    async def test_a_model_that_does_not_reason_is_not_asked_for_its_reasoning(
        self, family: Any, model: str, asks: bool
    ) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await OpenAIResponsesClient(model, api_key=KEY, http=server.http).complete(self.asked)
        assert ("include" in json.loads(server.requests[0].read())) == asks

    asked = ModelInput("", (UserMessage(content="hi"),))
