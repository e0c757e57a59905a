"""The client of every chat completions server."""

from typing import Unpack

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.dialect import COMPATIBLE, OPENAI, Dialect
from copyfit_adapters.openai_chat.encode import PATH, encode
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(name="OpenAI", provider="openai", url="https://api.openai.com/v1", key_variables=("OPENAI_API_KEY",))


class OpenAIChatClient(ProtocolClient):
    """Sends model inputs to one model of a server that speaks chat completions.

    `dialect` defaults to OpenAI's at OpenAI's address and to the compatible one elsewhere. `home` is whose key is
    taken from the environment, and where the client sends unless a `base_url` says otherwise. For the `options`
    see `ClientOptions`.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self, model: str, *, dialect: Dialect | None = None, home: Home = HOME, **options: Unpack[ClientOptions]
    ) -> None:
        super().__init__(model, home, PATH, **options)
        self._dialect = dialect or (OPENAI if home is HOME and self._at_home else COMPATIBLE)

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(model_input, self.model, stream=stream, dialect=self._dialect, known=self._fragments)

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> ChatStream:
        return ChatStream(self._asked)
