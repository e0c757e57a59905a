"""The client of Cohere's chat API v2."""

from typing import Unpack
from urllib.parse import quote

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.cohere_v2.decode import decode
from copyfit_adapters.cohere_v2.encode import PATH, encode
from copyfit_adapters.cohere_v2.stream import CohereStream
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(
    name="Cohere",
    provider="cohere",
    url="https://api.cohere.com",
    key_variables=("CO_API_KEY", "COHERE_API_KEY"),
)


class CohereChatClient(ProtocolClient):
    """Sends model inputs to one model of a server that speaks Cohere's chat API v2.

    `home` is whose key is taken from the environment, and where the client sends unless a `base_url` says
    otherwise. A `base_url` is everything before ``/v2``, as for Cohere's own client: what it tells about its
    models stands under ``/v1`` of the same address. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(self, model: str, *, home: Home = HOME, **options: Unpack[ClientOptions]) -> None:
        super().__init__(model, home, PATH, **options)

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(model_input, self.model, stream=stream, known=self._fragments)

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> CohereStream:
        return CohereStream(self._asked)

    def _models_path(self) -> str:
        return f"/v1/models/{quote(self.model, safe='')}"
