"""Each server gets its requests in the form that it takes."""

import json
from typing import Any

import pytest

from copyfit.shapes.messages import AssistantMessage, Message, ThinkingPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.openai_chat.dialect import PROTOCOL
from copyfit_adapters.openai_chat.encode import encode
from copyfit_adapters.openai_chat.losses import LOSSES
from copyfit_adapters.openai_chat.readback import readback
from copyfit_adapters.servers import SERVERS

CALL = ToolCall(id="c1", name="f")
BY_OTHERS = ThinkingPart(text="sealed", signature="s", provider="anthropic-messages")
BY_CHAT = ThinkingPart(text="why", provider=PROTOCOL)
SWITCHED: tuple[Message, ...] = (
    UserMessage(content="a"),
    AssistantMessage(content=(BY_OTHERS, CALL)),
    ToolMessage(call_id="c1", content="x"),
    AssistantMessage(content=(BY_CHAT, CALL), extra={PROTOCOL: {"reasoning": "why"}}),
    ToolMessage(call_id="c1", content="y"),
    AssistantMessage(content="done"),
    UserMessage(content="b"),
)
"""What several models said: one that seals its reasoning, one that tells it twice, and one that tells none."""


def sent_to(server: str) -> dict[str, Any]:
    model_input = ModelInput("", SWITCHED, settings=ModelSettings(max_output_tokens=9))
    body = encode(model_input, "m", dialect=SERVERS[server].dialect).body
    read, given = (without_losses(each.as_data(), LOSSES) for each in (readback(body), model_input))
    assert read == given
    request: dict[str, Any] = json.loads(body)
    return request


@pytest.mark.parametrize(
    ("server", "cap", "field", "said"),
    [
        ("cerebras", "max_completion_tokens", "reasoning", [None, "why", None]),
        ("deepseek", "max_tokens", "reasoning_content", ["", "why", ""]),
        ("groq", "max_tokens", "reasoning", [None, "why", None]),
        ("moonshot", "max_completion_tokens", "reasoning_content", [" ", "why", " "]),
    ],
)
def test_reasoning_goes_where_the_server_takes_it_and_stands_wherever_the_server_demands_it(
    server: str, cap: str, field: str, said: list[str | None]
) -> None:
    request = sent_to(server)
    assistants = [message for message in request["messages"] if message["role"] == "assistant"]
    assert [message.get(field) for message in assistants] == said
    (other,) = {"reasoning", "reasoning_content"} - {field}
    assert not any(other in message for message in request["messages"])
    assert request[cap] == 9


@pytest.mark.parametrize("server", ["openrouter", "vllm", "zai"])
def test_a_server_of_many_models_gets_reasoning_back_as_it_came(server: str) -> None:
    assistants = [message for message in sent_to(server)["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in assistants] == [None, "why", None]
    assert [message.get("reasoning") for message in assistants] == [None, "why", None]
