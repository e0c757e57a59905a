"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

from copyfit.shapes.messages import UserMessage
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
