"""The clients of Claude on the clouds that host it: Amazon Bedrock and Google Vertex AI."""

from collections.abc import Mapping
from typing import Unpack

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.encode import CacheTime
from copyfit_adapters.anthropic_messages.hosted import (
    BEDROCK_VERSION,
    VERTEX_VERSION,
    ChunkFraming,
    encode_for_bedrock,
    encode_for_vertex,
)
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.cloud_homes import bedrock_home, vertex_home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.google_token import GoogleToken
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient


class BedrockAnthropicClient(ProtocolClient):
    """Sends model inputs to one Claude model on Bedrock, by its id or the ARN of its inference profile.

    The `region` is that of AWS_REGION or AWS_DEFAULT_REGION when it is not given. The key is a Bedrock API key;
    with ``auth=AwsSignature(...)`` each request is signed instead. With `cache`, the stable prefix is marked for
    the provider's cache. `betas` and the `version` go along in the body. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: there is no key and no other proof of who sends.
        SettingsError: there is neither a region nor a `base_url`, or that is no http address to which a path can
            be added.

    """

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        cache: CacheTime | None = None,
        betas: tuple[str, ...] = (),
        version: str = BEDROCK_VERSION,
        **options: Unpack[ClientOptions],
    ) -> None:
        home = bedrock_home(region, elsewhere=options.get("base_url") is not None)
        super().__init__(model, home, "/model", **options)
        self._cache = cache
        self._betas = betas
        self._version = version

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode_for_bedrock(
            model_input,
            self.model,
            stream=stream,
            cache=self._cache,
            betas=self._betas,
            version=self._version,
            known=self._fragments,
        )

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> MessagesStream:
        return MessagesStream(self._asked, ChunkFraming())

    def _models_path(self) -> None:
        return None

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        return {"accept": "application/vnd.amazon.eventstream"} if stream else {}


class VertexAnthropicClient(ProtocolClient):
    """Sends model inputs to one Claude model on Vertex AI, at the cost of a `project` and in a `region`.

    The region may be ``global``, or ``us`` or ``eu`` for a whole continent. Unless the options say who sends, a
    `GoogleToken` of the application default credentials does, at Google's own address alone; an `api_key` is an
    access token. With `cache`, the stable prefix is marked for the provider's cache. `betas` are names for the
    ``anthropic-beta`` header; the `version` goes along in the body. For the `options` see `ClientOptions`.

    Raises:
        AuthFailed: `base_url` is another address than Google's, and there is no key for it.
        SettingsError: the region is no name of one, or `base_url` no http address to which a path can be added.

    """

    def __init__(
        self,
        model: str,
        *,
        project: str,
        region: str,
        cache: CacheTime | None = None,
        betas: tuple[str, ...] = (),
        version: str = VERTEX_VERSION,
        **options: Unpack[ClientOptions],
    ) -> None:
        home = vertex_home(region)
        if options.get("api_key") is None and home.owns(options.get("base_url") or home.url):
            options.setdefault("auth", GoogleToken())
        super().__init__(model, home, "/projects", **options)
        self._project = project
        self._region = region
        self._cache = cache
        self._betas = betas
        self._version = version

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode_for_vertex(
            model_input,
            self.model,
            project=self._project,
            region=self._region,
            stream=stream,
            cache=self._cache,
            version=self._version,
            known=self._fragments,
        )

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> MessagesStream:
        return MessagesStream(self._asked)

    def _models_path(self) -> None:
        return None

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        return {"anthropic-beta": ",".join(self._betas)} if self._betas else {}
