"""A run on an Ollama too old to be told not to cut: the answer to a cut input is not taken for an answer."""

import json
from typing import Any

import pytest

from copyfit.runtime.composition import RunParts, compose_run
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import AssistantMessage, Message, UserMessage
from copyfit.shapes.transcript import Transcript
from copyfit_adapters.ollama_chat.client import OllamaChatClient

pytestmark = pytest.mark.anyio

WINDOW = 8_000
BYTES_A_TOKEN = 4


class OldOllama:
    """Cuts every input to the window that was asked for, and says so nowhere but in the count."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, request: Any) -> Any:
        import httpx

        body = request.read()
        self.sizes.append(len(body) // BYTES_A_TOKEN)
        read = min(self.sizes[-1], json.loads(body)["options"]["num_ctx"])
        said = {"message": {"role": "assistant", "content": "Dry."}, "done": True, "done_reason": "stop"}
        return httpx.Response(200, json=said | {"prompt_eval_count": read, "eval_count": 3})


async def run(server: OldOllama, *, rounds: int, believed: int) -> Any:
    import httpx

    talk: list[Message] = []
    for number in range(rounds):
        talk += [UserMessage(content=f"{number}? " * 60), AssistantMessage(content=f"{number}. " * 60)]
    http = httpx.AsyncClient(transport=httpx.MockTransport(server))
    client = OllamaChatClient("m1", num_ctx=WINDOW, http=http)
    budgets = ContextBudgets(model_max_tokens=believed, output_reserve_tokens=1_000)
    composed = compose_run(RunParts(client=client, budgets=budgets))
    return await composed.run(Transcript([*talk, UserMessage(content="Which plot is the driest?")]))


async def test_a_cut_input_is_made_smaller_and_sent_once_more() -> None:
    server = OldOllama()
    result = await run(server, rounds=90, believed=100_000)
    assert result.output.message.text == "Dry."
    assert server.sizes[0] > WINDOW > server.sizes[-1]


async def test_an_input_that_fits_is_sent_once() -> None:
    server = OldOllama()
    await run(server, rounds=2, believed=WINDOW)
    assert len(server.sizes) == 1
