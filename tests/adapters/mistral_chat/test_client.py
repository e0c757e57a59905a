"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import httpx
import pytest

from copyfit.shapes.messages import AssistantMessage, Origin, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.mistral_chat.client import MistralChatClient
from copyfit_adapters.mistral_chat.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance

OVERFLOW = (
    b'{"object":"error","message":"Prompt contains 40012 tokens and 0 draft tokens, too large for model with '
    b'32768 maximum context length","type":"invalid_request_prompt_too_long","param":null,"code":"3051"}'
)


class TestMistralChatClient(ClientConformance):
    open_client = staticmethod(lambda **options: MistralChatClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
    answer = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}
    frames = [
        b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}],"p":"abc"}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ]
    overflow = OVERFLOW
    overflow_frame = b"data: " + OVERFLOW + b"\n\n"
    provider = "mistral"
    complete_url = stream_url = "https://api.mistral.ai/v1/chat/completions"
    elsewhere_path = "/chat/completions"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "MISTRAL_API_KEY"
    shown = "MistralChatClient('m1', provider='mistral', host='api.mistral.ai')"


@pytest.mark.anyio
async def test_what_contributors_say_behind_a_result_gets_a_bridge_if_the_client_is_told_so() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append([message["role"] for message in json.loads(request.content)["messages"]])
        return httpx.Response(200, json=TestMistralChatClient.answer)

    call = AssistantMessage(content=(ToolCall(id="Jc4AR31Hp", name="f"),))
    asked = (UserMessage(content="a"), call, ToolMessage(call_id="Jc4AR31Hp", content="x"))
    contributed = UserMessage(content="the plan", origin=Origin.CONTRIBUTED)
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        for bridge_results in (False, True):
            client = MistralChatClient("m1", api_key=KEY, http=http, bridge_results=bridge_results)
            await client.complete(ModelInput("", (*asked, contributed)))
    row = ["user", "assistant", "tool"]
    assert sent == [[*row, "user"], [*row, "assistant", "user"]]
