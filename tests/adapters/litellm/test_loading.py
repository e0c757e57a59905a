"""litellm is loaded late, out of its own files, and left alone where the program loaded it."""

import os
import subprocess
import sys
from typing import Any

import anyio
import httpx
import pytest

from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.errors import MissingExtra
from copyfit_adapters.litellm.client import LiteLLMClient
from copyfit_adapters.litellm.loading import OWN_FILES, load

CONSTRUCTED = """
import sys
from copyfit_adapters.litellm.client import LiteLLMClient
client = LiteLLMClient("groq/m1", api_key="k")
print(client.limits, *({"litellm", "openai", "httpx", "httpx2", "aiohttp"} & set(sys.modules)))
"""

CALLED = """
import asyncio, os, socket, warnings
tried = []
def guarded(self, address):
    tried.append(address)
    raise ConnectionRefusedError
socket.socket.connect = guarded
socket.getaddrinfo = lambda *rest, **named: tried.append(rest) or []
from copyfit.errors import ProviderError
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit_adapters.litellm.client import LiteLLMClient

async def call():
    import httpx
    answer = {"id": "r", "model": "m1", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}
    answer["usage"] = {"input_tokens": 9, "output_tokens": 1}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    http = httpx.AsyncClient(transport=transport)
    client = LiteLLMClient("anthropic/claude-sonnet-4-5", api_key="k", http=http)
    # What needs a beta header makes litellm look at its table of them.
    settings = ModelSettings(response_schema=ResponseSchema(json_schema={"type": "object", "properties": {}}))
    output = await client.complete(ModelInput("", (UserMessage(content="hi"),), settings=settings))
    print(output.message.content)
    try:
        await LiteLLMClient("nobody/m1", api_key="k").complete(ModelInput("", ()))
    except ProviderError as e:
        print(type(e).__name__)

asyncio.run(call())
import litellm
print(tried, litellm.suppress_debug_info, litellm.disable_hf_tokenizer_download, litellm.disable_aiohttp_transport)
print(*(os.environ.get(name) for name in NAMES))
"""


def run(probe: str, **environment: str) -> list[str]:
    known = {name: value for name, value in os.environ.items() if name not in OWN_FILES} | environment
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, env=known)
    return answer.stdout.splitlines()


def test_importing_and_constructing_load_neither_litellm_nor_an_http_client() -> None:
    assert run(CONSTRUCTED) == ["None"]


def test_the_first_call_loads_it_without_a_look_at_the_network_and_prints_nothing() -> None:
    names = list(OWN_FILES)
    probe = CALLED.replace("NAMES", repr(names))
    assert run(probe, **{names[0]: "False"}) == ["Hi.", "BadRequest", "[] True True True", "False None"]


def test_a_litellm_that_the_program_loaded_is_left_as_it_is(litellm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("suppress_debug_info", "disable_hf_tokenizer_download", "disable_aiohttp_transport"):
        monkeypatch.setattr(litellm, name, False)
    assert load() is litellm
    assert not litellm.suppress_debug_info
    assert not litellm.disable_hf_tokenizer_download
    assert not litellm.disable_aiohttp_transport


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")
@pytest.mark.filterwarnings("ignore::UserWarning")
async def test_what_the_program_logs_of_litellm_holds_its_own_calls_alone(
    litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    done = anyio.Event()

    async def log(call: dict[str, Any], *_: Any) -> None:
        logged.append(call["model"])
        if call["model"] == "theirs":
            done.set()

    monkeypatch.setattr(litellm, "success_callback", [])
    monkeypatch.setattr(litellm, "_async_success_callback", [log])
    answer = {"choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, json=answer)))
    await LiteLLMClient("deepseek/ours", api_key="k-1", http=http).complete(
        ModelInput("", (UserMessage(content="hi"),))
    )
    hello = [{"role": "user", "content": "hi"}]
    await litellm.acompletion(model="deepseek/theirs", messages=hello, mock_response="Hi.")
    with anyio.fail_after(5):
        await done.wait()
    assert logged == ["theirs"]


@pytest.mark.anyio
async def test_a_missing_litellm_names_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    client = LiteLLMClient("groq/m1", api_key="k")
    for call in (client.complete, lambda model_input: anext(client.stream(model_input))):
        with pytest.raises(MissingExtra, match=r"pip install 'copyfit\[litellm\]'") as caught:
            await call(ModelInput("", (UserMessage(content="hi"),)))
        assert (caught.value.package, caught.value.extra) == ("litellm", "litellm")
    await client.aclose()
