"""Every error of the adapters that the sdk does not have.

CopyfitError
    UnreadableRequest           a request body that is not what its protocol says
    OversizedEvent              a stream that never ends its line or event
    BrokenFrame                 a binary event stream whose frame is damaged or cut off
    UnknownAdapter              a name under which there is no adapter
    AdapterNotLoaded            another package brings the adapter, and it cannot be imported or makes no client
    MissingExtra                a library that an extra of copyfit brings is not installed
    ProviderError (copyfit)
        BadRequest (copyfit)
            UnencodableInput    a model input that the protocol has no form for; nothing was sent

What a provider answers is raised as one of the sdk's `ProviderError` classes.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from copyfit.errors import BadRequest, CopyfitError


class UnreadableRequest(CopyfitError):
    """A request body cannot be read back: `protocol` says as what, `where` is the JSON path, `reason` says why."""

    def __init__(self, protocol: str, where: str, reason: str) -> None:
        super().__init__(f"This {protocol} request cannot be read back: {where} {reason}.")
        self.protocol = protocol
        self.where = where
        self.reason = reason


class OversizedEvent(CopyfitError):
    """A line or an event of a stream grew past `limit` bytes without ending."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"A line or event of the stream grew past {limit} bytes without ending; "
            "check that the address answers in the protocol that was asked for."
        )
        self.limit = limit


class BrokenFrame(CopyfitError):
    """A frame of an `application/vnd.amazon.eventstream` body cannot be read; nothing after it can be, either.

    `reason` says why; `offset` is where the frame begins, in bytes from the beginning of the stream.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(
            f"The event stream's frame at byte {offset} cannot be read: {reason}. Send the request again."
        )
        self.reason = reason
        self.offset = offset


class UnknownAdapter(CopyfitError):
    """There is no adapter called `name`; `known` are the names that there are."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
        super().__init__(f"There is no adapter {name!r}: {hint}")
        self.name = name
        self.known = tuple(known)


class AdapterNotLoaded(CopyfitError):
    """The adapter `name` of the package `distribution` cannot be used, for the `reason`."""

    def __init__(
        self,
        name: str,
        distribution: str,
        reason: str = "it cannot be imported; install that package with all it needs",
    ) -> None:
        super().__init__(f"The adapter {name!r} of {distribution} cannot be used: {reason}.")
        self.name = name
        self.distribution = distribution
        self.reason = reason


class MissingExtra(CopyfitError):
    """The library `package` is not installed; copyfit's extra `extra` brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'copyfit[{extra}]'.")
        self.package = package
        self.extra = extra


class UnencodableInput(BadRequest):
    """The wire protocol has no form for the thing at `where`; nothing was sent.

    `provider` is the protocol's name, for the input is refused before any server is asked.
    """

    def __init__(self, protocol: str, where: str, reason: str) -> None:
        super().__init__(f"{protocol} cannot carry {where}: {reason}.", provider=protocol)
        self.where = where
        self.reason = reason
