"""Sign requests to AWS with its own library, botocore, which is loaded at the first request."""

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from copyfit.errors import AuthFailed
from copyfit_adapters.errors import MissingExtra
from copyfit_adapters.overflow.refusal import quote

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_PROVIDER = "aws"
_WAYS = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile of ~/.aws, or use a Bedrock API key "
    "(AWS_BEARER_TOKEN_BEDROCK, or api_key) instead of a signature"
)


class AwsSignature:
    """Signs each request for one `region` and `service` (Signature Version 4).

    The `credentials` are botocore's. Without them its own chain is asked at the first request: the environment,
    then the files of `profile`, then what the machine offers. botocore renews those that expire. All of it happens
    in a worker thread, for the chain may read files or ask the network.
    """

    def __init__(
        self,
        *,
        region: str,
        service: str = "bedrock",
        profile: str | None = None,
        credentials: "Credentials | None" = None,
    ) -> None:
        self._region = region
        self._service = service
        self._profile = profile
        self._credentials: Any = credentials
        self._resolving = Lock()
        self._secrets: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret key and the session token of the newest signature; nothing before the first."""
        return self._secrets

    async def headers(self, url: str, body: bytes) -> Mapping[str, str]:
        """Return the signature of one POST of the JSON `body` to `url`, and the headers that it covers.

        A request without a body is a GET.

        Raises:
            AuthFailed: there are no credentials, or they cannot be renewed.
            MissingExtra: botocore is not installed.

        """
        from anyio import to_thread

        return await to_thread.run_sync(self._signed, url, body, abandon_on_cancel=True)

    def __repr__(self) -> str:
        return f"AwsSignature(region={self._region!r}, service={self._service!r}, profile={self._profile!r})"

    def _signed(self, url: str, body: bytes) -> dict[str, str]:
        try:
            from botocore.auth import SigV4Auth
            from botocore.awsrequest import AWSRequest
        except ImportError as e:
            raise MissingExtra("botocore", "bedrock") from e
        credentials = self._frozen_credentials()
        method = "POST" if body else "GET"
        # AWS wants the type of the content under the signature wherever it is sent.
        request = AWSRequest(method, url, headers={"Content-Type": "application/json"}, data=body)
        SigV4Auth(credentials, self._service, self._region).add_auth(request)
        return {name.lower(): value for name, value in request.headers.items()}

    def _frozen_credentials(self) -> Any:
        """Return the secrets that are good now; botocore renews them here when their time is nearly up."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            with self._resolving:
                self._credentials = self._credentials or self._chain()
            frozen = self._credentials.get_frozen_credentials() if self._credentials else None
        except (BotoCoreError, ClientError, RuntimeError) as e:
            # botocore raises a bare RuntimeError for renewed credentials that have expired already.
            reason = quote(f"{type(e).__name__}: {e}", self._secrets)
            raise AuthFailed(
                f"The AWS credentials cannot be had ({reason}): mend them, or {_WAYS}.", provider=_PROVIDER
            ) from e
        if frozen is None:
            raise AuthFailed(f"There are no AWS credentials: {_WAYS}.", provider=_PROVIDER)
        self._secrets = tuple(filter(None, (frozen.secret_key, frozen.token)))
        return frozen

    def _chain(self) -> Any:
        from botocore.session import Session

        return Session(profile=self._profile).get_credentials()
