"""The client of Mistral's API, and of every server that speaks its protocol."""

from typing import Unpack

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.mistral_chat.decode import decode
from copyfit_adapters.mistral_chat.encode import PATH, encode
from copyfit_adapters.mistral_chat.stream import MistralStream
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(
    name="Mistral", provider="mistral", url="https://api.mistral.ai/v1", key_variables=("MISTRAL_API_KEY",)
)


class MistralChatClient(ProtocolClient):
    """Sends model inputs to one model of Mistral, or of a server that speaks its protocol.

    What contributors say for a turn follows the newest results of calls as a user's messages. A server that
    refuses that order ("Unexpected role 'user' after role 'tool'": vLLM and others with a mistral-common from
    before April 2026) needs `bridge_results`: the assistant then says a word between the two.

    `home` is whose key is taken from the environment, and where the client sends unless a `base_url` says
    otherwise. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self, model: str, *, bridge_results: bool = False, home: Home = HOME, **options: Unpack[ClientOptions]
    ) -> None:
        super().__init__(model, home, PATH, **options)
        self._bridge_results = bridge_results

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(
            model_input,
            self.model,
            stream=stream,
            bridge_results=self._bridge_results,
            known=self._fragments,
        )

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> MistralStream:
        return MistralStream(self._asked)
