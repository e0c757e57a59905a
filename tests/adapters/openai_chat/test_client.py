"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import importlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from copyfit.errors import AuthFailed, BadRequest, ContextOverflow, CopyfitError, SettingsError, StreamBroken
from copyfit.ports.provider import ProviderModelClient
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import ImagePart, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta
from copyfit_adapters import OpenAIChatClient, UnencodableInput
from copyfit_adapters.openai_chat.readback import readback

KEY = "k-a1b2c3"
HELLO = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
ANSWER = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}
FRAMES = [
    b'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"lo."},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
]
OVERFLOW = b'{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}'


@pytest.fixture(params=["httpx", "httpx2"])
def family(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


class Server:
    """Answers with what `answer` returns, and keeps the requests."""

    def __init__(self, family: Any, answer: Callable[[], Any]) -> None:
        self.requests: list[Any] = []
        self._answer = answer
        self.http = family.AsyncClient(transport=family.MockTransport(self))

    def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        return self._answer()

    def client(self, **options: Any) -> OpenAIChatClient:
        return OpenAIChatClient("m1", **{"api_key": KEY, "http": self.http} | options)


def pieces(family: Any, *parts: bytes | Exception, then: Callable[[], Any] | None = None) -> Any:
    class Body(family.AsyncByteStream):  # type: ignore[misc]
        closed = False
        exhausted = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for part in parts:
                if isinstance(part, Exception):
                    raise part
                yield part
            if then is not None:
                await then()
            self.exhausted = True

        async def aclose(self) -> None:
            self.closed = True

    return Body()


async def collect(client: OpenAIChatClient, seen: list[StreamEvent] | None = None) -> list[StreamEvent]:
    kept = [] if seen is None else seen
    async for event in client.stream(HELLO):
        kept.append(event)
    return kept


@pytest.mark.anyio
async def test_complete_sends_the_input_exactly_and_returns_the_answer(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    output = await server.client().complete(HELLO)
    assert output.message.content == "Hello."
    (sent,) = server.requests
    assert (sent.method, str(sent.url)) == ("POST", "https://api.openai.com/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["content-type"] == "application/json"
    assert readback(sent.read()) == HELLO
    assert json.loads(sent.read())["model"] == "m1"


@pytest.mark.anyio
async def test_stream_yields_the_pieces_and_finished_last(family: Any) -> None:
    body = pieces(family, *FRAMES)
    server = Server(family, lambda: family.Response(200, stream=body))
    *deltas, last = await collect(server.client())
    assert deltas == [TextDelta("Hel"), TextDelta("lo.")]
    assert isinstance(last, Finished)
    assert last.output.message.content == "Hello."
    assert json.loads(server.requests[0].read())["stream"] is True
    assert server.requests[0].headers["accept"] == "text/event-stream"
    assert body.closed
    assert body.exhausted


@pytest.mark.anyio
async def test_a_server_that_lingers_after_the_end_does_not_hold_the_answer_back(
    family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copyfit_adapters.connection._DRAIN_SECONDS", 0.01)
    body = pieces(family, *FRAMES, then=anyio.sleep_forever)
    with anyio.fail_after(5):
        events = await collect(Server(family, lambda: family.Response(200, stream=body)).client())
    assert isinstance(events[-1], Finished)
    assert body.closed


@pytest.mark.anyio
async def test_an_overflow_is_raised_from_either_way_and_sent_once(family: Any) -> None:
    server = Server(family, lambda: family.Response(500, content=OVERFLOW))
    with pytest.raises(ContextOverflow):
        await server.client().complete(HELLO)
    with pytest.raises(ContextOverflow):
        await collect(server.client())
    assert len(server.requests) == 2


@pytest.mark.anyio
async def test_an_overflow_in_mid_stream_comes_after_the_pieces_before_it(family: Any) -> None:
    body = pieces(family, FRAMES[0] + b"data: " + OVERFLOW + b"\n\n")
    client = Server(family, lambda: family.Response(200, stream=body)).client()
    seen: list[StreamEvent] = []
    with pytest.raises(ContextOverflow) as caught:
        await collect(client, seen)
    assert seen == [TextDelta("Hel")]
    assert (caught.value.provider, caught.value.model) == ("openai", "m1")
    assert body.closed


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["ends", "breaks"])
async def test_a_stream_that_stops_short_is_broken_and_keeps_what_arrived(family: Any, how: str) -> None:
    rest = [family.ReadError("gone")] if how == "breaks" else []
    body = pieces(family, FRAMES[0], *rest)
    with pytest.raises(StreamBroken) as caught:
        await collect(Server(family, lambda: family.Response(200, stream=body)).client())
    assert caught.value.arrived == "Hel"
    assert (caught.value.__cause__ is not None) == (how == "breaks")


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["closed early", "cancelled"])
async def test_leaving_a_stream_early_closes_the_response(family: Any, way: str) -> None:
    body = pieces(family, FRAMES[0], then=anyio.sleep_forever)
    stream = Server(family, lambda: family.Response(200, stream=body)).client().stream(HELLO)
    assert await anext(stream) == TextDelta("Hel")
    if way == "closed early":
        await stream.aclose()  # type: ignore[attr-defined]
    else:
        with anyio.move_on_after(0.01):
            await anext(stream)
    assert body.closed


@pytest.mark.anyio
async def test_an_input_without_a_wire_form_is_never_sent(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    with pytest.raises(UnencodableInput):
        await server.client().complete(ModelInput("", (UserMessage(content=(ImagePart(),)),)))
    assert server.requests == []


@pytest.mark.anyio
async def test_retries_and_their_number_are_the_clients(family: Any) -> None:
    answers = [family.Response(503, headers={"retry-after": "0"}), family.Response(200, json=ANSWER)]
    server = Server(family, lambda: answers.pop(0))
    assert (await server.client().complete(HELLO)).message.content == "Hello."
    server = Server(family, lambda: family.Response(503))
    with pytest.raises(CopyfitError):
        await server.client(max_retries=0).complete(HELLO)
    assert len(server.requests) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("status", [400, 401, 500])
async def test_neither_key_nor_request_is_in_any_error(family: Any, status: int) -> None:
    said = json.dumps({"error": {"message": f"the key {KEY} is no good"}}).encode()
    client = Server(family, lambda: family.Response(status, content=said)).client(max_retries=0)
    for call in (client.complete(HELLO), collect(client)):
        with pytest.raises(CopyfitError) as caught:
            await call
        assert "is no good" in str(caught.value)
        assert KEY not in str(caught.value) + repr(caught.value) + repr(vars(caught.value))
        assert "Be brief." not in str(caught.value)


@pytest.mark.anyio
async def test_neither_is_it_in_an_error_that_comes_under_a_good_status(family: Any) -> None:
    said = json.dumps({"error": {"message": f"the key {KEY} is no good"}})
    client = Server(family, lambda: family.Response(200, content=said)).client()
    with pytest.raises(BadRequest, match="masked"):
        await client.complete(HELLO)
    framed = Server(family, lambda: family.Response(200, content=f"data: {said}\n\n")).client()
    with pytest.raises(BadRequest, match="masked"):
        await collect(framed)


@pytest.mark.parametrize("given", [KEY, SecretStr(KEY), f" {KEY}\n"], ids=["text", "secret", "with blanks"])
def test_the_key_is_in_no_representation(given: str | SecretStr) -> None:
    client = OpenAIChatClient("m1", api_key=given)
    assert repr(client) == "OpenAIChatClient('m1', provider='openai', host='api.openai.com')"
    assert KEY not in repr(vars(client))
    assert KEY not in repr(vars(client._connection))
    assert KEY not in repr(vars(client._connection._sender))


@pytest.mark.anyio
async def test_the_key_comes_from_the_environment_for_openai_alone(
    family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    await server.client(api_key=None).complete(HELLO)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY"):
        server.client(api_key=None, base_url="http://127.0.0.1:8080/v1")


def test_a_missing_key_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(AuthFailed, match="set OPENAI_API_KEY"):
        OpenAIChatClient("m1")


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(AuthFailed) as caught:
        OpenAIChatClient("m1", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.anyio
async def test_a_server_without_keys_gets_none(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    client = server.client(api_key="", base_url="http://127.0.0.1:8080/v1/", provider="llama.cpp")
    await client.complete(HELLO)
    assert "authorization" not in server.requests[0].headers
    assert str(server.requests[0].url) == "http://127.0.0.1:8080/v1/chat/completions"
    assert client.provider == "llama.cpp"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("base_url", "field"),
    [("https://api.openai.com/v1", "max_completion_tokens"), ("https://host/v1", "max_tokens")],
)
async def test_the_dialect_follows_the_address_unless_given(family: Any, base_url: str, field: str) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    await server.client(base_url=base_url).complete(HELLO)
    assert json.loads(server.requests[0].read())[field] == 5


@pytest.mark.parametrize(
    "base_url",
    [
        "api.openai.com/v1",
        "ftp://host/v1",
        "https://",
        "",
        "http://host:port/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "https://host/v1?api-version=1",
        "https://host/v1/chat/completions/",
    ],
)
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(SettingsError, match="base_url"):
        OpenAIChatClient("m1", base_url=base_url, api_key=KEY)


@pytest.mark.anyio
async def test_the_client_is_a_provider_port_and_leaves_a_given_http_client_open(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    limits = ModelLimits(context_tokens=8)
    async with server.client(limits=limits) as client:
        port: ProviderModelClient = client
        assert (port.provider, port.model, port.limits) == ("openai", "m1", limits)
        assert (await port.complete(HELLO)).finish_reason == "stop"
    assert not server.http.is_closed


def test_both_families_fit_the_http_protocol() -> None:
    import httpx
    import httpx2

    OpenAIChatClient("m1", api_key=KEY, http=httpx.AsyncClient())
    OpenAIChatClient("m1", api_key=KEY, http=httpx2.AsyncClient())


@pytest.mark.parametrize("module", ["encode", "decode", "stream", "readback", "client"])
def test_no_module_loads_an_http_library(module: str) -> None:
    probe = (
        f"import sys, copyfit_adapters.openai_chat.{module} as m; print({{'httpx', 'httpx2'}} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
