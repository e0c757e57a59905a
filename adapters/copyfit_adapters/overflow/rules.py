"""What a rule is, and the kinds of error that rules tell apart."""

from dataclasses import dataclass
from enum import StrEnum

from copyfit_adapters.overflow.evidence import Evidence
from copyfit_adapters.overflow.wording import compiled


class Kind(StrEnum):
    """What sort of error it is; each asks for another remedy."""

    CONTEXT_OVERFLOW = "context_overflow"
    OUTPUT_LIMIT = "output_limit"
    RATE_LIMIT_TOKENS = "rate_limit_tokens"
    RATE_LIMIT_REQUESTS = "rate_limit_requests"
    QUOTA = "quota"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    IMAGE_LIMIT = "image_limit"
    TOOL_LIMIT = "tool_limit"
    CONTENT_FILTER = "content_filter"
    AUTH = "auth"
    INVALID_REQUEST = "invalid_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row: it fits when every demand that it makes is met.

    `words` demands that one of them is a machine word of the error, `statuses` that the status is among them,
    `patterns` that one of them is found in the plain message, `unless` that it is not found there. `combined`
    marks the rules whose overflow counts the room kept for the answer, so that a smaller output cap helps as
    well.
    """

    name: str
    kind: Kind
    source: str
    words: frozenset[str] = frozenset()
    statuses: frozenset[int] = frozenset()
    patterns: tuple[str, ...] = ()
    unless: str | None = None
    combined: bool = False

    def fits(self, evidence: Evidence, message: str) -> bool:
        """Whether `evidence`, whose plain message is `message`, meets every demand."""
        if self.statuses and evidence.status not in self.statuses:
            return False
        if self.words and not self.words & evidence.words:
            return False
        if self.patterns and not any(compiled(pattern).search(message) for pattern in self.patterns):
            return False
        return self.unless is None or not compiled(self.unless).search(message)
