"""Send Google's access tokens along, with its own library, google-auth, which is loaded at the first request."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from copyfit.errors import AuthFailed
from copyfit_adapters.errors import MissingExtra
from copyfit_adapters.overflow.refusal import quote

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
"""The scope that all of Vertex AI takes."""

_PROVIDER = "google"
_WAYS = (
    "run 'gcloud auth application-default login', set GOOGLE_APPLICATION_CREDENTIALS to the file of a service "
    "account, or pass credentials"
)


class GoogleToken:
    """Gives each request an access token that is good now.

    The `credentials` are google-auth's, and are bound to `scopes` if they want any. Without them the application
    default credentials are looked for at the first request. A token is renewed shortly before it expires, by one
    request at a time, in a worker thread; until then it costs nothing.
    """

    def __init__(
        self, *, credentials: "Credentials | None" = None, scopes: Sequence[str] = (CLOUD_PLATFORM,)
    ) -> None:
        self._given: Any = credentials
        self._scopes = tuple(scopes)
        self._credentials: Any = None
        self._renewing = Lock()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, once there is one."""
        token = getattr(self._credentials or self._given, "token", None)
        return (token,) if token else ()

    async def headers(self, url: str, body: bytes) -> Mapping[str, str]:
        """Return the header with the token, and the one with the project that pays if the credentials name one.

        Raises:
            AuthFailed: there are no credentials, or they cannot be renewed.
            MissingExtra: google-auth is not installed.

        """
        if self._credentials is None or not self._credentials.valid:
            from anyio import to_thread

            await to_thread.run_sync(self._renew, abandon_on_cancel=True)
        headers: dict[str, str] = {}
        self._credentials.apply(headers)
        return headers

    def __repr__(self) -> str:
        return f"GoogleToken(scopes={self._scopes!r})"

    def _renew(self) -> None:
        try:
            from google.auth.exceptions import GoogleAuthError
            from google.auth.transport.requests import Request
        except ImportError as e:
            raise MissingExtra("google-auth", "vertex") from e
        with self._renewing:
            try:
                found = self._credentials or self._scoped()
                if not found.valid:
                    found.refresh(Request())
                self._credentials = found
            except GoogleAuthError as e:
                reason = quote(f"{type(e).__name__}: {e}", self.secrets)
                raise AuthFailed(
                    f"There is no access token of Google ({reason}): {_WAYS}.",
                    provider=_PROVIDER,
                    retryable=e.retryable,
                ) from e

    def _scoped(self) -> Any:
        if self._given is None:
            from google.auth import default

            return default(scopes=self._scopes)[0]
        if getattr(self._given, "requires_scopes", False):
            return self._given.with_scopes(self._scopes)
        return self._given
