"""Who may send: the home of a protocol, the key that is sent to it, and how a request carries it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import SecretStr

from copyfit.errors import AuthFailed
from copyfit_adapters.overflow.refusal import Asked

_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The address that a key belongs to: its `name` in words, its `url`, and how it wants its key.

    `provider` is the short name for errors and traces. The key comes from the first of `key_variables` that is
    set and travels in `header` behind `prefix`; where `needs_key` is false, none is sent if there is none.
    `otherwise` says in words how to prove who sends without a key, where the server knows another way. `cuts` says
    that it may cut an input that is too long and answer as if nothing were missing.
    """

    name: str
    provider: str
    url: str
    key_variables: tuple[str, ...] = ()
    header: str = "authorization"
    prefix: str = "Bearer "
    needs_key: bool = True
    otherwise: str = ""
    cuts: bool = False

    def owns(self, base_url: str) -> bool:
        """Whether `base_url` is at this home.

        A home that names its port is that port of its host alone, and one under https is not without it. The names
        of this machine for itself are one.
        """
        asked, own = urlsplit(base_url), urlsplit(self.url)
        same_host = asked.hostname == own.hostname or {asked.hostname, own.hostname} <= _THIS_MACHINE
        return same_host and own.port in (None, asked.port) and (own.scheme, asked.scheme) != ("https", "http")


class Auth(Protocol):
    """Gives each request what proves who sends it."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no error may repeat."""
        ...

    async def headers(self, url: str, body: bytes) -> Mapping[str, str]:
        """Return the headers for one POST of `body` to `url`, or for a GET where there is none.

        Raises:
            AuthFailed: there are no credentials, or they cannot be renewed.
            MissingExtra: the library that makes the proof is not installed.

        """
        ...


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key that goes along in one header; an empty one does not."""

    key: SecretStr
    header: str = "authorization"
    prefix: str = "Bearer "

    @property
    def secrets(self) -> tuple[str, ...]:
        """The key."""
        key = self.key.get_secret_value()
        return (key,) if key else ()

    async def headers(self, url: str, body: bytes) -> Mapping[str, str]:
        """Return the header with the key."""
        key = self.key.get_secret_value()
        return {self.header: self.prefix + key} if key else {}


def home_key(home: Home, base_url: str, given: str | SecretStr | None, asked: Asked) -> ApiKey:
    """Return the key to send to `base_url`: the one that is `given`, or at `home` the one in its variables.

    A key out of the environment is never sent to another address than the home's own, which needs a key of its
    own, or ``""`` when the server takes none.

    Raises:
        AuthFailed: there is no key, or one that no header can carry.

    """
    at_home = home.owns(base_url)
    if given is None and at_home:
        found = (os.environ.get(variable) for variable in home.key_variables)
        given = next((value for value in found if value and value.strip()), None if home.needs_key else "")
    if given is None and not (home.needs_key or home.key_variables):
        given = ""
    if given is None:
        raise AuthFailed(_no_key(home, asked, at_home=at_home), provider=asked.provider, model=asked.model)
    key = (given.get_secret_value() if isinstance(given, SecretStr) else given).strip()
    if not (key.isascii() and key.isprintable()):
        raise AuthFailed(
            f"The API key of {asked.provider} holds characters that no HTTP header can carry; copy it again.",
            provider=asked.provider,
            model=asked.model,
        )
    return ApiKey(SecretStr(key), home.header, home.prefix)


def _no_key(home: Home, asked: Asked, *, at_home: bool) -> str:
    ways = []
    if home.key_variables:
        variables = " or ".join(home.key_variables)
        ways.append(f"set {variables}" if at_home else f"{variables} is sent to {home.name}'s own address alone")
    ways.append("pass api_key, or '' for a server that takes none")
    if home.otherwise:
        ways.append(home.otherwise)
    return f"There is no API key for {asked.provider}: {'; '.join(ways)}."
