"""A request to Google carries a token that is good now, fetched once for all who wait for it."""

import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import google.auth.transport.requests
import httpx
import pytest
from google.auth.credentials import CredentialsWithQuotaProject, Scoped
from google.auth.exceptions import GoogleAuthError, RefreshError, TransportError
from google.oauth2.credentials import Credentials as UserCredentials

from copyfit.errors import AuthFailed, ProviderError
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters import AnthropicMessagesClient
from copyfit_adapters.errors import MissingExtra
from copyfit_adapters.google_token import CLOUD_PLATFORM, GoogleToken
from copyfit_harness.conformance.client import Server

URL = "https://europe-west1-aiplatform.googleapis.com/v1/x:rawPredict"


class Issued(Scoped, CredentialsWithQuotaProject):
    """Credentials that number their tokens, each good for `minutes`, and keep the thread of each renewal."""

    def __init__(self, *, minutes: float = 60, fails: Exception | None = None, project: str | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.threads: list[int] = []
        self._quota_project_id = project
        self._minutes = minutes
        self._fails = fails

    @property
    def requires_scopes(self) -> bool:
        return not self._scopes

    def with_scopes(self, scopes: Any, default_scopes: Any = None) -> "Issued":
        self._scopes = scopes
        return self

    def refresh(self, request: Any) -> None:
        time.sleep(0.01)
        if self._fails is not None:
            raise self._fails
        self.threads.append(threading.get_ident())
        self.token = f"token-{len(self.threads)}"
        self.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=self._minutes)


@pytest.mark.anyio
async def test_many_requests_at_once_wait_for_one_token_and_later_ones_for_none() -> None:
    issued = Issued()
    token = GoogleToken(credentials=issued)
    got: list[Any] = []

    async def ask() -> None:
        got.append(await token.headers(URL, b"{}"))

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ask)
    await ask()
    assert got == [{"authorization": "Bearer token-1"}] * 9
    assert len(issued.threads) == 1
    assert issued.threads[0] != threading.get_ident()
    assert issued.scopes == (CLOUD_PLATFORM,)


@pytest.mark.anyio
async def test_a_token_is_renewed_before_it_expires() -> None:
    token = GoogleToken(credentials=Issued(minutes=2))
    assert await token.headers(URL, b"{}") == {"authorization": "Bearer token-1"}
    assert token.secrets == ("token-1",)
    assert await token.headers(URL, b"{}") == {"authorization": "Bearer token-2"}
    assert token.secrets == ("token-2",)


@pytest.mark.anyio
async def test_the_project_that_pays_is_named_when_the_credentials_name_one() -> None:
    headers = await GoogleToken(credentials=Issued(project="field-lab")).headers(URL, b"{}")
    assert headers == {"authorization": "Bearer token-1", "x-goog-user-project": "field-lab"}


@pytest.mark.anyio
async def test_a_token_that_is_good_already_is_used_as_it_is() -> None:
    token = GoogleToken(credentials=UserCredentials(token="given"))  # type: ignore[no-untyped-call]
    assert token.secrets == ("given",)
    assert await token.headers(URL, b"{}") == {"authorization": "Bearer given"}


@pytest.mark.anyio
async def test_the_default_credentials_are_looked_for_at_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def default(scopes: Any) -> tuple[Issued, str]:
        asked.append(scopes)
        return Issued(), "a-project"

    monkeypatch.setattr("google.auth.default", default)
    token = GoogleToken(scopes=("s",))
    assert (asked, token.secrets) == ([], ())
    for _ in range(2):
        assert await token.headers(URL, b"{}") == {"authorization": "Bearer token-1"}
    assert asked == [("s",)]


@pytest.mark.anyio
async def test_without_credentials_the_ways_to_have_some_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(
        AuthFailed, match=r"gcloud auth.*GOOGLE_APPLICATION_CREDENTIALS.*pass credentials"
    ) as caught:
        await GoogleToken().headers(URL, b"{}")
    assert caught.value.__cause__ is not None


@pytest.mark.anyio
@pytest.mark.parametrize(("kind", "retryable"), [(RefreshError, False), (TransportError, True)])
async def test_a_renewal_that_fails_is_told_as_such(kind: type[GoogleAuthError], retryable: bool) -> None:
    error = kind("no way there", retryable=retryable)
    with pytest.raises(AuthFailed, match="no way there") as caught:
        await GoogleToken(credentials=Issued(fails=error)).headers(URL, b"{}")
    assert (caught.value.retryable, caught.value.__cause__) == (retryable, error)


@pytest.mark.anyio
async def test_without_google_auth_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, google.auth.transport.requests.__name__, None)
    with pytest.raises(MissingExtra, match=r"copyfit\[vertex\]"):
        await GoogleToken().headers(URL, b"{}")


@pytest.mark.anyio
async def test_the_token_is_in_no_representation_and_in_no_error() -> None:
    token = GoogleToken(credentials=Issued())
    server = Server(httpx, lambda: httpx.Response(400, json={"message": "token-1 is no good"}))
    client = AnthropicMessagesClient("m", auth=token, http=server.http)
    with pytest.raises(ProviderError, match="is no good") as caught:
        await client.complete(ModelInput("", ()))
    assert server.requests[0].headers["authorization"] == "Bearer token-1"
    shown = repr(token) + repr(vars(client)) + repr(vars(client._connection)) + repr(vars(caught.value))
    assert "token-1" not in shown + str(caught.value)
