"""The clients of the Gemini API and of Gemini on Vertex AI."""

import re
from typing import Unpack
from urllib.parse import quote

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.auth import Home
from copyfit_adapters.cloud_homes import vertex_home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.gemini.decode import decode
from copyfit_adapters.gemini.dialect import DEVELOPER, VERTEX, Dialect
from copyfit_adapters.gemini.encode import PATH, encode, path_of
from copyfit_adapters.gemini.stream import GeminiStream
from copyfit_adapters.google_token import GoogleToken
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient

HOME = Home(
    name="the Gemini API",
    provider="gemini",
    url="https://generativelanguage.googleapis.com/v1beta",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    header="x-goog-api-key",
    prefix="",
)

_VERTEX_HOST = re.compile(r"(.+-)?aiplatform(\..+\.rep)?\.googleapis\.com")


class GeminiClient(ProtocolClient):
    """Sends model inputs to one model of a server that speaks generateContent.

    `dialect` defaults to Vertex AI's at its addresses and to the Gemini API's elsewhere. `home` is whose key is
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
        on_vertex = _VERTEX_HOST.fullmatch(self._host or "") is not None
        self._dialect = dialect or (VERTEX if on_vertex else DEVELOPER)

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(model_input, self.model, stream=stream, dialect=self._dialect, known=self._fragments)

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> GeminiStream:
        return GeminiStream(self._asked)

    def _models_path(self) -> str | None:
        return path_of(self.model)


class VertexGeminiClient(GeminiClient):
    """Sends model inputs to one Gemini model on Vertex AI, at the cost of a `project` and in a `location`.

    The location may be ``global``, a region, or ``us`` or ``eu`` for a whole continent. Unless the options say who
    sends, a `GoogleToken` of the application default credentials does, at Google's own address alone; an `api_key`
    is an access token. A `base_url` is everything before ``/projects``. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: `base_url` is another address than Google's, and there is no key for it.
        SettingsError: the location is no name of one, or `base_url` no http address to which a path can be added.

    """

    def __init__(
        self, model: str, *, project: str, location: str = "global", **options: Unpack[ClientOptions]
    ) -> None:
        home = vertex_home(location)
        if options.get("api_key") is None and home.owns(options.get("base_url") or home.url):
            options.setdefault("auth", GoogleToken())
        super().__init__(model, dialect=VERTEX, home=home, **options)
        self._place = f"/projects/{quote(project, safe=':')}/locations/{location}/publishers/google"

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        request = super()._encode(model_input, stream=stream)
        return WireRequest(path=self._place + request.path, body=request.body)

    def _models_path(self) -> None:
        return None
