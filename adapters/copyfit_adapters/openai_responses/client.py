"""The client of every server that speaks the Responses protocol."""

import re
from typing import Unpack

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.openai_responses.decode import decode
from copyfit_adapters.openai_responses.encode import PATH, CacheTime, encode
from copyfit_adapters.openai_responses.stream import ResponsesStream
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(name="OpenAI", provider="openai", url="https://api.openai.com/v1", key_variables=("OPENAI_API_KEY",))

_NO_REASONING = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-)|gpt-5[\d.]*-chat")
"""Models that do not reason: those before the o-series and GPT-5, and GPT-5's chat variants."""


class OpenAIResponsesClient(ProtocolClient):
    """Sends model inputs to one model of a server that speaks the Responses protocol.

    With `encrypted_reasoning` the model's reasoning comes encrypted, so that it can go back. A model that does not
    reason refuses to be asked for it, so where it is not said, OpenAI's names for such models decide. With
    `cache`, the stable prefix is marked for the provider's cache. `home` is whose key is taken from the
    environment, and where the client sends unless a `base_url` says otherwise. For the `options` see
    `ClientOptions`.

    Raises:
        AuthFailed: there is no key.
        SettingsError: `base_url` is no http address, or one to which no path can be added.

    """

    def __init__(
        self,
        model: str,
        *,
        encrypted_reasoning: bool | None = None,
        cache: CacheTime | None = None,
        home: Home = HOME,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(model, home, PATH, **options)
        reasons = _NO_REASONING.match(model) is None
        self._encrypted_reasoning = reasons if encrypted_reasoning is None else encrypted_reasoning
        self._cache = cache

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(
            model_input,
            self.model,
            stream=stream,
            encrypted_reasoning=self._encrypted_reasoning,
            cache=self._cache,
            known=self._fragments,
        )

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> ResponsesStream:
        return ResponsesStream(self._asked)
