"""A request to AWS carries the very signature that AWS's own client gives it, and no secret is shown."""

import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import boto3
import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.session import Session

from copyfit.errors import AuthFailed, ProviderError
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters import AnthropicMessagesClient
from copyfit_adapters.aws_signature import AwsSignature
from copyfit_adapters.errors import MissingExtra
from copyfit_harness.conformance.client import Server

URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse"
KEY_ID, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "session/token=="
NOW = datetime(2026, 3, 1, 12, 30, 15)  # noqa: DTZ001 - botocore signs with a time in UTC that does not say so
MODELS = [
    "anthropic.claude-sonnet-4-20250514-v1:0",
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-1-20250805-v1:0",
]


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda *_, **__: NOW)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Take everything away that botocore could find credentials in."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "DEFAULT_PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return monkeypatch


def sent_by_boto3(model: str, token: str | None) -> Any:
    """Return the request that boto3 is about to send for a conversation with `model`."""
    sent: list[Any] = []

    def keep(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        return AWSResponse(request.url, 400, {}, None)

    client = boto3.client(
        "bedrock-runtime",
        region_name="eu-west-1",
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        aws_session_token=token,
        config=Config(retries={"total_max_attempts": 1}),
    )
    client.meta.events.register("before-send.bedrock-runtime.Converse", keep)
    with pytest.raises(AttributeError):
        # The answer that is none breaks its reading; the request is all that is wanted here.
        client.converse(modelId=model, messages=[{"role": "user", "content": [{"text": "hi"}]}])
    (request,) = sent
    return request


@pytest.mark.anyio
@pytest.mark.usefixtures("frozen", "bare")
@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("model", MODELS)
async def test_the_signature_is_the_one_that_boto3_sends(model: str, token: str | None) -> None:
    theirs = sent_by_boto3(model, token)
    assert "%3A" in theirs.url
    signature = AwsSignature(region="eu-west-1", credentials=Credentials(KEY_ID, SECRET, token))
    ours = await signature.headers(theirs.url, theirs.body)
    assert set(ours) == {"content-type", "x-amz-date", "authorization"} | (
        {"x-amz-security-token"} if token else set()
    )
    expected = {name.lower(): value for name, value in theirs.headers.items()}
    for name, value in ours.items():
        said = expected[name]
        assert value == (said.decode() if isinstance(said, bytes) else said)


@pytest.mark.anyio
@pytest.mark.usefixtures("frozen")
async def test_another_body_path_region_service_or_secret_is_another_signature() -> None:
    async def signed(url: str = URL, body: bytes = b"{}", secret: str = SECRET, **options: Any) -> str:
        signature = AwsSignature(**{"region": "eu-west-1"} | options, credentials=Credentials(KEY_ID, secret))
        return (await signature.headers(url, body))["authorization"]

    others = [
        await signed(body=b"[]"),
        await signed(url=URL.replace("/m/", "/n/")),
        await signed(region="us-east-1"),
        await signed(service="sts"),
        await signed(secret="another"),
    ]
    assert await signed() == await signed()
    assert len({await signed(), *others}) == 6


@pytest.mark.anyio
@pytest.mark.usefixtures("frozen")
async def test_a_request_without_a_body_is_signed_as_a_get() -> None:
    credentials = Credentials(KEY_ID, SECRET)
    theirs = AWSRequest("GET", URL, headers={"content-type": "application/json"})
    SigV4Auth(credentials, "bedrock", "eu-west-1").add_auth(theirs)
    ours = await AwsSignature(region="eu-west-1", credentials=credentials).headers(URL, b"")
    assert ours["authorization"] == theirs.headers["Authorization"]


@pytest.mark.anyio
async def test_the_chain_is_asked_once_and_not_before_the_first_request(bare: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    chain = Session.get_credentials

    def counted(session: Session) -> Any:
        asked.append(threading.get_ident())
        return chain(session)

    bare.setattr(Session, "get_credentials", counted)
    bare.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    bare.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    signature = AwsSignature(region="eu-west-1")
    assert asked == []
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(signature.headers, URL, b"{}")
    assert len(asked) == 1
    assert asked[0] != threading.get_ident()
    assert signature.secrets == (SECRET,)


@pytest.mark.anyio
async def test_a_profile_is_read_from_its_file(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[field]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n"
    )
    headers = await AwsSignature(region="eu-west-1", profile="field").headers(URL, b"{}")
    assert f"Credential={KEY_ID}/" in headers["authorization"]
    with pytest.raises(AuthFailed, match=r"laboratory.*profile") as caught:
        await AwsSignature(region="eu-west-1", profile="laboratory").headers(URL, b"{}")
    assert caught.value.__cause__ is not None


@pytest.mark.anyio
@pytest.mark.usefixtures("bare")
async def test_without_credentials_the_ways_to_have_some_are_told() -> None:
    with pytest.raises(AuthFailed, match=r"AWS_ACCESS_KEY_ID.*profile.*AWS_BEARER_TOKEN_BEDROCK"):
        await AwsSignature(region="eu-west-1").headers(URL, b"{}")


@pytest.mark.anyio
async def test_credentials_that_expire_are_renewed_by_botocore() -> None:
    renewals = iter("12")

    def renew() -> dict[str, str]:
        number = next(renewals)
        # The first are good for ten minutes only, and botocore renews fifteen minutes before the end.
        expiry = datetime.now(UTC) + timedelta(minutes=10 if number == "1" else 60)
        return {
            "access_key": KEY_ID,
            "secret_key": SECRET + number,
            "token": TOKEN + number,
            "expiry_time": expiry.isoformat(),
        }

    credentials = RefreshableCredentials.create_from_metadata(renew(), renew, method="a test")
    signature = AwsSignature(region="eu-west-1", credentials=credentials)
    assert not signature.secrets
    assert (await signature.headers(URL, b"{}"))["x-amz-security-token"] == TOKEN + "2"
    assert signature.secrets == (SECRET + "2", TOKEN + "2")


@pytest.mark.anyio
async def test_a_renewal_that_fails_is_told_as_such() -> None:
    expired = {"access_key": KEY_ID, "secret_key": SECRET, "token": TOKEN, "expiry_time": "2020-01-01T00:00:00Z"}
    credentials = RefreshableCredentials.create_from_metadata(expired, lambda: expired, method="a test")
    with pytest.raises(AuthFailed, match="cannot be had") as caught:
        await AwsSignature(region="eu-west-1", credentials=credentials).headers(URL, b"{}")
    assert SECRET not in str(caught.value)


@pytest.mark.anyio
async def test_without_botocore_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.auth", None)
    with pytest.raises(MissingExtra, match=r"copyfit\[bedrock\]"):
        await AwsSignature(region="eu-west-1").headers(URL, b"{}")


@pytest.mark.anyio
async def test_the_secrets_are_in_no_representation_and_in_no_error() -> None:
    credentials = Credentials(KEY_ID, SECRET, TOKEN)
    signature = AwsSignature(region="eu-west-1", credentials=credentials)
    server = Server(httpx, lambda: httpx.Response(400, json={"message": f"{TOKEN} of {SECRET} is no good"}))
    client = AnthropicMessagesClient("m", auth=signature, http=server.http)
    with pytest.raises(ProviderError, match="is no good") as caught:
        await client.complete(ModelInput("", ()))
    assert server.requests[0].headers["x-amz-security-token"] == TOKEN
    shown = repr(signature) + repr(vars(client)) + repr(vars(client._connection)) + repr(vars(caught.value))
    for secret in (SECRET, TOKEN):
        assert secret not in shown + str(caught.value)
