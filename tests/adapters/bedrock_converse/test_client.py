"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.errors import AuthFailed, SettingsError
from copyfit.shapes.messages import TextPart, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.aws_signature import AwsSignature
from copyfit_adapters.bedrock_converse.client import BedrockConverseClient
from copyfit_adapters.bedrock_converse.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server

HOST = "bedrock-runtime.eu-west-1.amazonaws.com"


def frame(kind: str, **fields: Any) -> bytes:
    return encode_event({":message-type": "event", ":event-type": kind}, json.dumps(fields).encode())


OVERFLOW = b'{"message":"Input is too long for requested model."}'
OVERFLOW_HEADERS = {":message-type": "exception", ":exception-type": "validationException"}


class TestBedrockConverseClient(ClientConformance):
    open_client = staticmethod(lambda **options: BedrockConverseClient("m1", **{"region": "eu-west-1"} | options))
    readback = staticmethod(readback)
    hello = ModelInput(
        "Be brief.", (UserMessage(content=(TextPart(text="hi"),)),), settings=ModelSettings(max_output_tokens=5)
    )
    answer = {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}},
        "stopReason": "end_turn",
    }
    frames = [
        frame("messageStart", role="assistant")
        + frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "Hel"}),
        frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "lo."})
        + frame("contentBlockStop", contentBlockIndex=0)
        + frame("messageStop", stopReason="end_turn"),
        frame("metadata", usage={"inputTokens": 1, "outputTokens": 2}, metrics={"latencyMs": 3}),
    ]
    overflow = OVERFLOW
    overflow_frame = encode_event(OVERFLOW_HEADERS, OVERFLOW)
    accepts = "application/vnd.amazon.eventstream"
    provider = "bedrock"
    complete_url = f"https://{HOST}/model/m1/converse"
    stream_url = f"https://{HOST}/model/m1/converse-stream"
    elsewhere_path = "/model/m1/converse"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "AWS_BEARER_TOKEN_BEDROCK"
    shown = f"BedrockConverseClient('m1', provider='bedrock', host='{HOST}')"

    @pytest.mark.anyio
    async def test_an_arn_is_a_model_and_stays_one_step_of_the_path(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/m-v1:0"
        async with BedrockConverseClient(arn, region="eu-west-1", api_key=KEY, http=server.http) as client:
            await client.complete(self.hello)
        path = server.requests[0].url.raw_path
        assert path == b"/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fm-v1%3A0/converse"

    @pytest.mark.anyio
    async def test_cache_marks_travel_when_they_are_asked_for(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, cache="5m").complete(self.hello)
        await self.client_of(server).complete(self.hello)
        marked, plain = server.requests
        assert json.loads(marked.read())["system"][-1] == {"cachePoint": {"type": "default"}}
        assert b"cachePoint" not in plain.read()

    @pytest.mark.anyio
    async def test_a_signature_takes_the_place_of_the_key(self, family: Any) -> None:
        from botocore.credentials import Credentials

        server = Server(family, lambda: family.Response(200, json=self.answer))
        auth = AwsSignature(region="eu-west-1", credentials=Credentials("AK", "secret", "token"))
        await self.client_of(server, api_key=None, auth=auth).complete(self.hello)
        headers = server.requests[0].headers
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AK/")
        assert "/eu-west-1/bedrock/aws4_request" in headers["authorization"]
        assert headers["x-amz-security-token"] == "token"


def test_without_a_key_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    with pytest.raises(AuthFailed, match=r"AWS_BEARER_TOKEN_BEDROCK.*AwsSignature"):
        BedrockConverseClient("m1", region="eu-west-1")


@pytest.mark.parametrize(
    ("given", "environment", "host"),
    [
        ("eu-west-1", {"AWS_REGION": "us-west-2"}, "bedrock-runtime.eu-west-1.amazonaws.com"),
        (
            None,
            {"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "eu-west-1"},
            "bedrock-runtime.us-west-2.amazonaws.com",
        ),
        (
            None,
            {"AWS_REGION": "", "AWS_DEFAULT_REGION": "cn-north-1"},
            "bedrock-runtime.cn-north-1.amazonaws.com.cn",
        ),
    ],
)
def test_the_region_is_the_given_one_or_that_of_the_environment(
    given: str | None, environment: dict[str, str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert host in repr(BedrockConverseClient("m1", region=given, api_key=KEY))


def test_without_a_region_an_address_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(SettingsError, match="AWS_REGION"):
        BedrockConverseClient("m1", api_key=KEY)
    assert "127.0.0.1" in repr(BedrockConverseClient("m1", api_key=KEY, base_url="http://127.0.0.1:8080"))
