"""The clients of both clouds keep the port's promises, and prove who sends in each cloud's own way."""

import json
from base64 import b64encode
from typing import Any

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from copyfit.errors import AuthFailed, SettingsError
from copyfit.shapes.messages import TextPart, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.anthropic_messages.clouds import BedrockAnthropicClient, VertexAnthropicClient
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.aws_signature import AwsSignature
from copyfit_adapters.cloud_homes import REGION_VARIABLES
from copyfit_adapters.google_token import GoogleToken
from copyfit_harness.conformance.client import KEY, ClientConformance, Server

HELLO = ModelInput(
    "Be brief.", (UserMessage(content=(TextPart(text="hi"),)),), settings=ModelSettings(max_output_tokens=5)
)
ANSWER = {"type": "message", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"}
OVERFLOW = {"message": "Input is too long for requested model.", "type": "server_error"}
EVENTS: list[list[dict[str, Any]]] = [
    [
        {"type": "message_start", "message": {"id": "r1", "type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    ],
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    ],
    [{"type": "message_stop"}],
]
REGION = "eu-west-1"
BEDROCK = f"https://bedrock-runtime.{REGION}.amazonaws.com"
VERTEX = "https://europe-west1-aiplatform.googleapis.com/v1"
MODELS = "/projects/p/locations/europe-west1/publishers/anthropic/models"


def chunk(event: dict[str, Any]) -> bytes:
    held = json.dumps({"bytes": b64encode(json.dumps(event).encode()).decode(), "p": "abcd"}).encode()
    return encode_event({":event-type": "chunk", ":message-type": "event"}, held)


def sse(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


class TestBedrockAnthropicClient(ClientConformance):
    open_client = staticmethod(lambda **options: BedrockAnthropicClient("m1", **{"region": REGION} | options))
    readback = staticmethod(readback)
    hello = HELLO
    answer = ANSWER
    frames = [b"".join(map(chunk, events)) for events in EVENTS]
    overflow = json.dumps(OVERFLOW).encode()
    overflow_frame = encode_event(
        {":exception-type": "validationException", ":message-type": "exception"}, overflow
    )
    provider = "bedrock"
    complete_url = f"{BEDROCK}/model/m1/invoke"
    stream_url = f"{BEDROCK}/model/m1/invoke-with-response-stream"
    elsewhere_path = "/model/m1/invoke"
    accepts = "application/vnd.amazon.eventstream"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "AWS_BEARER_TOKEN_BEDROCK"
    shown = f"BedrockAnthropicClient('m1', provider='bedrock', host='bedrock-runtime.{REGION}.amazonaws.com')"

    @pytest.mark.anyio
    async def test_version_betas_and_cache_marks_travel_in_the_body(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, betas=("a-1", "b-2"), cache="1h").complete(self.hello)
        await self.client_of(server, version="2026-10-21").complete(self.hello)
        marked, plain = (json.loads(request.read()) for request in server.requests)
        assert marked["anthropic_version"] == "bedrock-2023-05-31"
        assert plain["anthropic_version"] == "2026-10-21"
        assert marked["anthropic_beta"] == ["a-1", "b-2"]
        assert "anthropic_beta" not in plain
        assert marked["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
        assert not any(name.startswith("anthropic") for name in server.requests[0].headers)

    @pytest.mark.anyio
    async def test_a_signature_covers_the_path_as_it_is_sent(self, family: Any) -> None:
        model = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0"
        credentials = Credentials("AKID", "secret-1", "token-1")
        signature = AwsSignature(region=REGION, credentials=credentials)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        client = BedrockAnthropicClient(model, region=REGION, auth=signature, http=server.http)
        await client.complete(self.hello)
        (sent,) = server.requests
        path = sent.url.raw_path.decode()
        assert path == f"/model/{model.replace(':', '%3A').replace('/', '%2F')}/invoke"
        assert sent.headers["x-amz-security-token"] == "token-1"
        assert sent.headers["host"] == f"bedrock-runtime.{REGION}.amazonaws.com"
        signed = "content-type;host;x-amz-date;x-amz-security-token"
        assert f"SignedHeaders={signed}," in sent.headers["authorization"]
        theirs = AWSRequest(
            "POST",
            f"{BEDROCK}{path}",
            headers={name: sent.headers[name] for name in signed.split(";")},
            data=sent.read(),
        )
        theirs.context["timestamp"] = sent.headers["x-amz-date"]
        signer = SigV4Auth(credentials, "bedrock", REGION)
        expected = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
        assert sent.headers["authorization"].endswith(f"Signature={expected}")

    @pytest.mark.anyio
    async def test_neither_region_nor_models_endpoint_is_asked_of_a_gateway(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in REGION_VARIABLES:
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(SettingsError, match="AWS_REGION"):
            BedrockAnthropicClient("m", api_key=KEY)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        client = BedrockAnthropicClient("m", api_key=KEY, base_url="https://gateway.example/aws", http=server.http)
        assert await client.fetch_limits() is None
        await client.complete(self.hello)
        assert [str(request.url) for request in server.requests] == ["https://gateway.example/aws/model/m/invoke"]


class TestVertexAnthropicClient(ClientConformance):
    open_client = staticmethod(
        lambda **options: VertexAnthropicClient("m1", project="p", region="europe-west1", **options)
    )
    readback = staticmethod(readback)
    hello = HELLO
    answer = ANSWER
    frames = [b"".join(map(sse, events)) for events in EVENTS]
    overflow = json.dumps(OVERFLOW).encode()
    overflow_frame = sse({"type": "error", "error": OVERFLOW})
    provider = "vertex"
    complete_url = f"{VERTEX}{MODELS}/m1:rawPredict"
    stream_url = f"{VERTEX}{MODELS}/m1:streamRawPredict"
    elsewhere_path = f"{MODELS}/m1:rawPredict"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = ""
    shown = "VertexAnthropicClient('m1', provider='vertex', host='europe-west1-aiplatform.googleapis.com')"

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
    async def test_the_version_travels_in_the_body_and_the_betas_in_their_header(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, betas=("a-1", "b-2"), cache="5m").complete(self.hello)
        await self.client_of(server, version="2026-10-21").complete(self.hello)
        marked, plain = server.requests
        body = json.loads(marked.read())
        assert body["anthropic_version"] == "vertex-2023-10-16"
        assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
        assert marked.headers["anthropic-beta"] == "a-1,b-2"
        assert json.loads(plain.read())["anthropic_version"] == "2026-10-21"
        assert not any(name.startswith("anthropic") for name in plain.headers)

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("region", "host"),
        [
            ("global", "aiplatform.googleapis.com"),
            ("us", "aiplatform.us.rep.googleapis.com"),
            ("us-east5", "us-east5-aiplatform.googleapis.com"),
        ],
    )
    async def test_each_region_has_its_host_and_its_place_in_the_path(self, region: str, host: str) -> None:
        server = Server(httpx, lambda: httpx.Response(200, json=self.answer))
        client = VertexAnthropicClient(
            "claude-sonnet-4@20250514", project="a.com:p", region=region, api_key=KEY, http=server.http
        )
        await client.complete(self.hello)
        path = f"/v1/projects/a.com:p/locations/{region}/publishers/anthropic/models"
        assert str(server.requests[0].url) == f"https://{host}{path}/claude-sonnet-4@20250514:rawPredict"
