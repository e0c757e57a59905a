"""The client of every server that speaks the messages protocol."""

from collections.abc import Mapping
from typing import Unpack
from urllib.parse import quote

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import PATH, CacheTime, encode
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(
    name="Anthropic",
    provider="anthropic",
    url="https://api.anthropic.com/v1",
    key_variables=("ANTHROPIC_API_KEY",),
    header="x-api-key",
    prefix="",
)
VERSION = "2023-06-01"
"""The version of the protocol that is asked for; servers of others know no other.

Anthropic's next one, ``2026-10-21``, refuses sampling settings, and documents in what the assistant said.
"""


class AnthropicMessagesClient(ProtocolClient):
    """Sends model inputs to one model of a server that speaks the messages protocol.

    With `cache`, the stable prefix is marked for the provider's cache. `betas` are names for the
    ``anthropic-beta`` header, and `version` is the one in ``anthropic-version``. `home` is whose key is taken from
    the environment, and where the client sends unless a `base_url` says otherwise. For the `options` see
    `ClientOptions`.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self,
        model: str,
        *,
        cache: CacheTime | None = None,
        betas: tuple[str, ...] = (),
        version: str = VERSION,
        home: Home = HOME,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(model, home, PATH, **options)
        self._cache = cache
        self._betas = betas
        self._version = version

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(model_input, self.model, stream=stream, cache=self._cache, known=self._fragments)

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> MessagesStream:
        return MessagesStream(self._asked)

    def _models_path(self) -> str:
        return f"/models/{quote(self.model, safe='')}"

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        betas = {"anthropic-beta": ",".join(self._betas)} if self._betas else {}
        return {"anthropic-version": self._version} | betas
