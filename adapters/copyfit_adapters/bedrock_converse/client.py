"""The client of Amazon Bedrock's Converse API."""

from collections.abc import Mapping
from typing import Unpack

from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.bedrock_converse.decode import decode
from copyfit_adapters.bedrock_converse.encode import CacheTime, encode, path_of
from copyfit_adapters.bedrock_converse.stream import ACCEPTED, ConverseStream
from copyfit_adapters.cloud_homes import bedrock_home
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.protocol_client import ClientOptions, ProtocolClient


class BedrockConverseClient(ProtocolClient):
    """Sends model inputs to one model of Amazon Bedrock, whatever its maker; `model` is its id or an ARN.

    The `region` is that of ``AWS_REGION`` or ``AWS_DEFAULT_REGION`` when none is given. A request carries a bearer
    key (`api_key`, or ``AWS_BEARER_TOKEN_BEDROCK``), or else is signed: ``auth=AwsSignature(region=...)``. With
    `cache`, the stable prefix is marked for the provider's cache. For the other `options` see `ClientOptions`.

    Raises:
        AuthFailed: there is no key and no signature.
        SettingsError: there is neither a region nor a `base_url`; or `base_url` is no http address, or one to
            which no path can be added.

    """

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        cache: CacheTime | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        home = bedrock_home(region, elsewhere=options.get("base_url") is not None)
        super().__init__(model, home, path_of(model, stream=False), **options)
        self._cache = cache

    def _encode(self, model_input: ModelInput, *, stream: bool) -> WireRequest:
        return encode(model_input, self.model, stream=stream, cache=self._cache, known=self._fragments)

    def _decode(self, status: int, body: bytes) -> ModelOutput:
        return decode(status, body, self._asked)

    def _decoder(self) -> ConverseStream:
        return ConverseStream(self._asked)

    def _models_path(self) -> None:
        return None

    def _headers(self, *, stream: bool) -> Mapping[str, str]:
        return {"accept": ACCEPTED} if stream else {}
