"""A key goes to the address it belongs to, in the header that address wants, and nowhere else."""

import pytest
from pydantic import SecretStr

from copyfit.errors import AuthFailed
from copyfit_adapters.auth import ApiKey, Home, home_key
from copyfit_adapters.overflow.refusal import Asked

HOME = Home(
    name="Acme", provider="acme", url="https://api.acme.test/v1", key_variables=("ACME_KEY", "ACME_OLD_KEY")
)
LOCAL = Home(name="Local", provider="local", url="http://127.0.0.1:9000/v1", needs_key=False)
ASKED = Asked(provider="acme", model="m")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in HOME.key_variables:
        monkeypatch.delenv(variable, raising=False)


def key_of(home: Home, base_url: str, given: str | SecretStr | None = None) -> str:
    return home_key(home, base_url, given, ASKED).key.get_secret_value()


def test_the_first_variable_that_is_set_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_OLD_KEY", "k-old")
    assert key_of(HOME, HOME.url) == "k-old"
    monkeypatch.setenv("ACME_KEY", "k-new")
    assert key_of(HOME, "https://api.acme.test/v2") == "k-new"
    assert key_of(HOME, HOME.url, "k-given") == "k-given"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://acme.test/v1",
        "https://api.acme.test.evil.test/v1",
        "https://evil.test/api.acme.test",
        "http://127.0.0.1",
    ],
)
def test_a_key_out_of_the_environment_goes_nowhere_else(elsewhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "k-new")
    with pytest.raises(AuthFailed, match="ACME_KEY or ACME_OLD_KEY is sent to Acme's own address alone"):
        key_of(HOME, elsewhere)
    assert key_of(HOME, elsewhere, "k-given") == "k-given"


def test_a_variable_that_is_blank_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", " \n")
    with pytest.raises(AuthFailed, match="set ACME_KEY"):
        key_of(HOME, HOME.url)
    monkeypatch.setenv("ACME_OLD_KEY", " k-old\n")
    assert key_of(HOME, HOME.url) == "k-old"


def test_a_key_goes_out_encrypted_alone_where_its_home_is_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_KEY", "k-new")
    with pytest.raises(AuthFailed):
        key_of(HOME, "http://api.acme.test/v1")
    assert key_of(HOME, "https://API.acme.test:8443/v1") == "k-new"


@pytest.mark.parametrize(
    ("base_url", "at_home"),
    [
        ("http://localhost:9000/v1", True),
        ("http://[::1]:9000/v1", True),
        ("https://localhost:9000/v1", True),
        ("http://localhost:9001/v1", False),
        ("http://localhost/v1", False),
        ("http://other:9000/v1", False),
    ],
)
def test_this_machine_is_one_home_under_all_its_names(base_url: str, at_home: bool) -> None:
    assert LOCAL.owns(base_url) is at_home


def test_a_home_that_needs_no_key_sends_none() -> None:
    assert key_of(LOCAL, LOCAL.url) == ""


@pytest.mark.anyio
async def test_a_key_stands_in_its_header_and_in_no_representation() -> None:
    key = ApiKey(SecretStr("k-1"), "x-key", "Key ")
    assert await key.headers("https://api.acme.test", b"") == {"x-key": "Key k-1"}
    assert key.secrets == ("k-1",)
    assert "k-1" not in repr(key)
    empty = ApiKey(SecretStr(""))
    assert await empty.headers("https://api.acme.test", b"") == {}
    assert empty.secrets == ()
