"""A models endpoint says the window under many names; the entry of the right model is read."""

import json
from typing import Any

import pytest

from copyfit.errors import AuthFailed, MalformedReply
from copyfit.shapes.budgets import ModelLimits
from copyfit_adapters import OpenAIChatClient
from copyfit_adapters.model_lists import read_limits

FORMS: dict[str, tuple[Any, int, int | None]] = {
    "groq": ({"data": [{"id": "m", "context_window": 131072, "max_completion_tokens": 65536}]}, 131072, 65536),
    "openrouter": (
        {"data": [{"id": "m", "context_length": 8, "top_provider": {"max_completion_tokens": 4}}]},
        8,
        4,
    ),
    "vllm": ({"object": "list", "data": [{"id": "m", "max_model_len": 2048}]}, 2048, None),
    "llama.cpp": ({"models": [], "data": [{"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}}]}, 2048, None),
    "gemini": ({"name": "models/m", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}, 1048576, 65536),
    "anthropic": ({"id": "m", "type": "model", "max_input_tokens": 200000, "max_tokens": 64000}, 200000, 64000),
    "mistral": ({"data": [{"id": "m", "max_context_length": 262144}]}, 262144, None),
    "lm-studio": (
        {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]},
        4096,
        None,
    ),
    "together": ([{"id": "m", "context_length": 131072}], 131072, None),
    "ollama, open": ({"models": [{"name": "m:latest", "context_length": 4096}]}, 4096, None),
    "ollama": ({"model_info": {"general.architecture": "llama", "llama.context_length": 8192}}, 8192, None),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_window_is_read_in_every_form(form: str) -> None:
    reply, window, output = FORMS[form]
    assert read_limits(reply, "m") == ModelLimits(context_tokens=window, max_output_tokens=output)


@pytest.mark.parametrize(
    "reply",
    [
        {"data": [{"id": "another", "context_window": 9}]},
        {"data": [{"id": "m"}]},
        {"data": [{"id": "m", "context_window": True}]},
        {"data": [{"id": "m", "context_window": 0}]},
        {"data": "m"},
        [],
        None,
        7,
    ],
    ids=str,
)
def test_what_says_nothing_of_the_model_gives_none(reply: Any) -> None:
    assert read_limits(reply, "m") is None


def server(status: int, body: bytes) -> tuple[Any, list[Any]]:
    import httpx

    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx.Response(status, content=body)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer)), seen


@pytest.mark.anyio
async def test_a_client_asks_the_models_endpoint_with_its_key() -> None:
    http, seen = server(200, json.dumps(FORMS["vllm"][0]).encode())
    client = OpenAIChatClient("m", api_key="k-1", base_url="http://127.0.0.1:8000/v1", http=http)
    assert await client.fetch_limits() == ModelLimits(context_tokens=2048)
    (sent,) = seen
    assert (sent.method, str(sent.url)) == ("GET", "http://127.0.0.1:8000/v1/models")
    assert sent.headers["authorization"] == "Bearer k-1"


@pytest.mark.anyio
async def test_a_refusal_and_a_page_of_html_are_typed_errors() -> None:
    http, _ = server(401, b'{"error":{"message":"no such key"}}')
    with pytest.raises(AuthFailed):
        await OpenAIChatClient("m", api_key="k-1", http=http).fetch_limits()
    http, _ = server(200, b"<html>")
    with pytest.raises(MalformedReply, match="models endpoint"):
        await OpenAIChatClient("m", api_key="k-1", http=http).fetch_limits()
