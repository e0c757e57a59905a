"""The client of every server that speaks Ollama's chat."""

from collections.abc import Mapping
from typing import Unpack

from copyfit.errors import SettingsError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.ollama_chat.decode import decode
from copyfit_adapters.ollama_chat.encode import PATH, encode
from copyfit_adapters.ollama_chat.host import at_named_host
from copyfit_adapters.ollama_chat.stream import OllamaStream
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(
    name="Ollama",
    provider="ollama",
    url="http://127.0.0.1:11434/api",
    key_variables=("OLLAMA_API_KEY",),
    needs_key=False,
    cuts=True,
)
"""The server on this machine, which takes no key; one behind a gateway, or ollama.com itself, takes one."""


class OllamaChatClient(ProtocolClient):
    """Sends model inputs to one model of an Ollama server.

    `num_ctx` is the window that the server is to open, in tokens, and the one in `limits` where those are not
    given. Without it the server decides by the memory of its machine, from 4,096 tokens, whatever the model could
    take. A window larger than the model's is made smaller in silence. By default Ollama cuts an input that is too
    long and says nothing; here it is told to answer with an error instead, unless it `may_cut`. Servers from
    before October 2025 cut all the same: an answer that reports an input as large as the window is a
    `ContextOverflow` here, but where whole messages were left out, the report may be of any size. `home` is whose
    key is taken from the environment, and where the client sends unless a `base_url` says otherwise: the one that
    OLLAMA_HOST names, or else this machine. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: there is no key for a `base_url` that is not at home.
        SettingsError: `base_url` or OLLAMA_HOST is no http address, or one to which no path can be added; or
            `num_ctx` is not positive, or less than the window in `limits`.

    """

    def __init__(
        self,
        model: str,
        *,
        num_ctx: int | None = None,
        may_cut: bool = False,
        home: Home | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        if num_ctx is not None:
            limits = options.get("limits") or ModelLimits(context_tokens=num_ctx)
            if num_ctx < max(1, limits.context_tokens):
                least = f"{limits.context_tokens}, the window in limits, or more" if num_ctx > 0 else "1 or more"
                raise SettingsError("num_ctx", num_ctx, least)
            options["limits"] = limits
        super().__init__(model, home or at_named_host(HOME), PATH, **options)
        self._num_ctx = num_ctx
        self._may_cut = may_cut

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(
            model_input,
            self.model,
            stream=stream,
            num_ctx=self._num_ctx,
            may_cut=self._may_cut,
            known=self._fragments,
        )

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> OllamaStream:
        return OllamaStream(self._asked)

    def _window(self) -> int | None:
        return None if self._may_cut else self._num_ctx or super()._window()

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        return {"accept": "application/x-ndjson"} if stream else {}

    def _models_path(self) -> str:
        """Return where the server tells which windows are open; a model that is not in its memory has none."""
        return "/ps"
