"""An adapter opens by its name; keys come from the usual variables; other packages bring adapters of their own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from copyfit.errors import AuthFailed, ContextOverflow, SettingsError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.catalog import known_adapters, open_adapter
from copyfit_adapters.errors import AdapterNotLoaded, UnknownAdapter
from copyfit_adapters.servers import SERVERS

KEY = "k-a1b2c3"
ANSWER = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}
NEEDS: dict[str, dict[str, Any]] = {
    "anthropic-bedrock": {"region": "us-east-1"},
    "anthropic-vertex": {"project": "p", "region": "global"},
    "azure": {"base_url": "https://r.openai.azure.com/openai/v1"},
    "bedrock-converse": {"region": "us-east-1"},
    "gemini-vertex": {"project": "p"},
}


def server() -> tuple[Any, list[Any]]:
    import httpx

    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request)
        return httpx.Response(200, json=ANSWER)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer)), seen


@pytest.mark.parametrize("name", known_adapters())
def test_every_name_opens_a_client_of_the_model(name: str) -> None:
    client = open_adapter(f"{name}:m1", api_key=KEY, **NEEDS.get(name, {}))
    assert client.model == "m1"
    assert client.provider
    assert KEY not in repr(client) + repr(vars(client))


@pytest.mark.anyio
@pytest.mark.parametrize("name", [name for name, server in SERVERS.items() if server.home.key_variables])
async def test_a_hosted_server_gets_its_key_from_its_variable_at_its_own_address(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = SERVERS[name].home
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/")
    monkeypatch.delenv(home.key_variables[0], raising=False)
    with pytest.raises(AuthFailed, match=home.key_variables[0]):
        open_adapter(f"{name}:m1")
    monkeypatch.setenv(home.key_variables[0], KEY)
    http, seen = server()
    client = open_adapter(f"{name}:m1", http=http)
    assert (await client.complete(ModelInput("", (UserMessage(content="hi"),)))).message.content == "Hello."
    assert client.provider == name
    url = home.url.replace("RESOURCE", "r")
    assert str(seen[0].url) == f"{url}/chat/completions"
    assert seen[0].headers[home.header] == home.prefix + KEY


LOCAL = [name for name, server in SERVERS.items() if not server.home.needs_key]


@pytest.mark.anyio
@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("elsewhere", [{}, {"base_url": "http://gpu-box:9000/v1"}], ids=["here", "elsewhere"])
async def test_a_local_server_gets_no_key_wherever_it_is(
    name: str, elsewhere: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    http, seen = server()
    client = open_adapter(f"{name}:m1", http=http, **elsewhere)
    await client.complete(ModelInput("", (UserMessage(content="hi"),)))
    assert seen[0].url.host == ("gpu-box" if elsewhere else "127.0.0.1")
    assert "authorization" not in seen[0].headers


@pytest.mark.anyio
@pytest.mark.parametrize("name", LOCAL)
async def test_a_local_server_that_may_cut_in_silence_is_watched(name: str) -> None:
    import httpx

    full = ANSWER | {"usage": {"prompt_tokens": 4096, "completion_tokens": 2}}
    http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(200, json=full)))
    client = open_adapter(f"{name}:m1", http=http, limits=ModelLimits(context_tokens=4096))
    asked = client.complete(ModelInput("", (UserMessage(content="hi"),)))
    if name in ("lm-studio", "ollama-openai"):
        with pytest.raises(ContextOverflow, match="did not say so"):
            await asked
    else:
        assert (await asked).message.content == "Hello."


def test_azure_without_an_address_says_which_variable_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(SettingsError, match="AZURE_OPENAI_ENDPOINT"):
        open_adapter("azure:m1", api_key=KEY)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "r.openai.azure.com")
    with pytest.raises(SettingsError, match=r"AZURE_OPENAI_ENDPOINT is 'r\.openai\.azure\.com'.*with https://"):
        open_adapter("azure:m1", api_key=KEY)


@pytest.mark.anyio
async def test_the_dialect_of_a_server_can_be_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from copyfit.shapes.model_input import ModelSettings
    from copyfit_adapters.openai_chat.dialect import OPENAI

    http, seen = server()
    capped = ModelInput("", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
    await open_adapter("groq:m1", api_key=KEY, http=http).complete(capped)
    await open_adapter("groq:m1", api_key=KEY, http=http, dialect=OPENAI).complete(capped)
    compatible, official = (json.loads(request.read()) for request in seen)
    assert compatible["max_tokens"] == official["max_completion_tokens"] == 5


@pytest.mark.parametrize("name", ["", "openai-chat", "openai-chat:", ":m1"])
def test_a_name_of_another_form_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="ADAPTER:MODEL"):
        open_adapter(name)


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownAdapter, match="did you mean 'openai-chat'") as caught:
        open_adapter("openai_chat:gpt-5.1", api_key=KEY)
    assert "gemini" in caught.value.known
    with pytest.raises(UnknownAdapter, match="there are openai-chat, openai-responses"):
        open_adapter("zzz:m1")


def test_limits_are_known_by_name_unless_they_are_given() -> None:
    known = open_adapter("anthropic-messages:claude-opus-5-5", api_key=KEY)
    assert known.limits == ModelLimits(context_tokens=1_000_000, max_output_tokens=128_000)
    given = ModelLimits(context_tokens=9_000)
    assert open_adapter("anthropic-messages:claude-opus-5-5", api_key=KEY, limits=given).limits == given
    assert open_adapter("openai-chat:nobody-knows-it", api_key=KEY).limits is None
    assert open_adapter("vllm:gpt-4o", api_key="").limits is None


ACME = """
class open_acme:
    complete = stream = aclose = None

    def __init__(self, model, **options):
        self.model, self.options = model, options
"""


def plug_in(folder: Path, code: str) -> None:
    (folder / "acme_adapter.py").write_text(code)
    facts = folder / "acme_adapter-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-adapter\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(
        "[copyfit.adapters]\nacme = acme_adapter:open_acme\nopenai-chat = acme_adapter:open_acme\n"
    )


def test_another_package_brings_an_adapter_and_cannot_take_a_name_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(tmp_path, ACME)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_adapter", raising=False)
    opened: Any = open_adapter("acme:m:1", api_key=KEY)
    assert (opened.model, opened.options) == ("m:1", {"api_key": KEY})
    assert known_adapters()[-1] == "acme"
    assert open_adapter("openai-chat:m1", api_key=KEY).provider == "openai"


def test_an_adapter_that_cannot_be_imported_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(tmp_path, "import nobody_has_this\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_adapter", raising=False)
    with pytest.raises(AdapterNotLoaded, match="acme-adapter") as caught:
        open_adapter("acme:m1")
    assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("def open_acme(model, **options):\n    return None\n", "'NoneType'"),
        ("def open_acme(model, **options):\n    return open_acme\n", "'function'"),
        ("open_acme = 'a client'\n", "'str'"),
    ],
)
def test_an_adapter_that_makes_no_client_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, made: str
) -> None:
    plug_in(tmp_path, code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_adapter", raising=False)
    with pytest.raises(AdapterNotLoaded, match=f"'acme' of acme-adapter .* gives {made} instead of a client"):
        open_adapter("acme:m1")


@pytest.mark.parametrize("name", known_adapters())
def test_an_option_that_the_adapter_does_not_have_is_named(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'temperature'"):
        open_adapter(f"{name}:m1", api_key=KEY, temperature=0.5, **NEEDS.get(name, {}))


def test_opening_an_adapter_loads_no_http_library_and_no_vendor() -> None:
    probe = (
        "import sys; from copyfit_adapters import open_adapter; open_adapter('openai-chat:gpt-5.1', api_key='k');"
        "print({'httpx', 'httpx2', 'openai', 'litellm', 'botocore', 'google.auth'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
