"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.errors import AuthFailed, SettingsError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import AssistantMessage, TextPart, ToolCall, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.gemini.client import GeminiClient, VertexGeminiClient
from copyfit_adapters.gemini.readback import readback
from copyfit_adapters.google_token import GoogleToken
from copyfit_harness.conformance.client import KEY, ClientConformance, Server


def chunk(text: str, **fields: Any) -> bytes:
    content = {"parts": [{"text": text}], "role": "model"}
    return (
        b"data: " + json.dumps({"candidates": [{"content": content, "index": 0} | fields]}).encode() + b"\r\n\r\n"
    )


OVERFLOW = json.dumps(
    {
        "error": {
            "code": 400,
            "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "status": "INVALID_ARGUMENT",
        }
    }
).encode()
HOST = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://aiplatform.eu.rep.googleapis.com/v1"
PLACE = "/projects/p/locations/eu/publishers/google"


class TestGeminiClient(ClientConformance):
    open_client = staticmethod(lambda **options: GeminiClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput(
        "Be brief.", (UserMessage(content=(TextPart(text="hi"),)),), settings=ModelSettings(max_output_tokens=5)
    )
    answer = {
        "candidates": [{"content": {"parts": [{"text": "Hello."}], "role": "model"}, "finishReason": "STOP"}]
    }
    frames = [chunk("Hel"), chunk("lo.", finishReason="STOP")]
    overflow = OVERFLOW
    overflow_frame = b"data: " + OVERFLOW + b"\r\n\r\n"
    provider = "gemini"
    complete_url = f"{HOST}/models/m1:generateContent"
    stream_url = f"{HOST}/models/m1:streamGenerateContent?alt=sse"
    elsewhere_path = "/models/m1:generateContent"
    marks_end = False
    key_header, key_value = "x-goog-api-key", KEY
    variable = "GEMINI_API_KEY"
    shown = "GeminiClient('m1', provider='gemini', host='generativelanguage.googleapis.com')"

    @pytest.fixture(autouse=True)
    def only_one_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("GOOGLE_API_KEY", raising=False)

    @pytest.mark.anyio
    async def test_the_older_variable_is_read_when_the_newer_is_not_set(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("GEMINI_API_KEY", raising=False)
        monkeypatch.setenv("GOOGLE_API_KEY", KEY)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert server.requests[0].headers["x-goog-api-key"] == KEY

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("base_url", "expected"),
        [
            (HOST, {"id": "c"}),
            ("http://127.0.0.1:8080", {"id": "c"}),
            ("https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google", {}),
            ("https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/l/publishers/google", {}),
        ],
    )
    async def test_call_ids_are_sent_to_every_server_but_vertex_ai(
        self, family: Any, base_url: str, expected: dict[str, str]
    ) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        asked = ModelInput("", (AssistantMessage(content=(ToolCall(id="c", name="f"),)),))
        await self.client_of(server, base_url=base_url).complete(asked)
        (sent,) = server.requests
        assert str(sent.url) == f"{base_url}/models/m1:generateContent"
        (part,) = json.loads(sent.read())["contents"][0]["parts"]
        assert part["functionCall"] == {**expected, "name": "f", "args": {}}

    @pytest.mark.anyio
    async def test_the_limits_are_those_that_the_models_endpoint_tells(self, family: Any) -> None:
        said = {"name": "models/m1", "inputTokenLimit": 1048576, "outputTokenLimit": 65536}
        server = Server(family, lambda: family.Response(200, json=said))
        limits = await self.client_of(server).fetch_limits()
        assert limits == ModelLimits(context_tokens=1048576, max_output_tokens=65536)
        assert str(server.requests[0].url) == f"{HOST}/models/m1"


class TestVertexGeminiClient(ClientConformance):
    open_client = staticmethod(lambda **options: VertexGeminiClient("m1", project="p", location="eu", **options))
    readback = staticmethod(readback)
    hello = TestGeminiClient.hello
    answer = TestGeminiClient.answer
    frames = TestGeminiClient.frames
    overflow = OVERFLOW
    overflow_frame = TestGeminiClient.overflow_frame
    provider = "vertex"
    complete_url = f"{VERTEX}{PLACE}/models/m1:generateContent"
    stream_url = f"{VERTEX}{PLACE}/models/m1:streamGenerateContent?alt=sse"
    elsewhere_path = f"{PLACE}/models/m1:generateContent"
    marks_end = False
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = ""
    shown = "VertexGeminiClient('m1', provider='vertex', host='aiplatform.eu.rep.googleapis.com')"

    @pytest.mark.anyio
    async def test_the_key_comes_from_the_environment_for_its_home_alone(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Access tokens are in no variable: the default credentials give one, for Google's own address alone."""
        asked: list[str] = []

        async def headers(_: GoogleToken, url: str, body: bytes) -> dict[str, str]:
            asked.append(url)
            return {"authorization": "Bearer of-google"}

        monkeypatch.setattr(GoogleToken, "headers", headers)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert asked == [self.complete_url]
        assert server.requests[0].headers["authorization"] == "Bearer of-google"
        with pytest.raises(AuthFailed, match="pass api_key"):
            self.client_of(server, api_key=None, base_url="http://127.0.0.1:8080/v1")

    def test_a_missing_key_is_told_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No key is needed to open the client: the credentials are looked for at the first request."""
        monkeypatch.setattr("google.auth.default", None)
        assert repr(type(self).open_client()) == self.shown

    @pytest.mark.anyio
    async def test_the_ids_of_calls_stay_at_home(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        asked = ModelInput("", (AssistantMessage(content=(ToolCall(id="c", name="f"),)),))
        await self.client_of(server).complete(asked)
        (part,) = json.loads(server.requests[0].read())["contents"][0]["parts"]
        assert part["functionCall"] == {"name": "f", "args": {}}

    @pytest.mark.anyio
    async def test_no_endpoint_tells_the_limits(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json={}))
        assert await self.client_of(server).fetch_limits() is None
        assert server.requests == []


@pytest.mark.anyio
async def test_a_project_is_one_segment_of_the_path() -> None:
    import httpx

    server = Server(httpx, lambda: httpx.Response(200, json=TestGeminiClient.answer))
    client = VertexGeminiClient("m1", project="a.com:p/../x", api_key=KEY, http=server.http)
    await client.complete(TestGeminiClient.hello)
    path = b"/v1/projects/a.com:p%2F..%2Fx/locations/global/publishers/google/models/m1:generateContent"
    assert server.requests[0].url.raw_path == path


@pytest.mark.parametrize("location", ["", "x.evil.com/", "EU"])
def test_a_location_that_would_change_the_address_is_refused(location: str) -> None:
    with pytest.raises(SettingsError):
        VertexGeminiClient("m1", project="p", location=location)
