"""What a rule is, and the kinds of error that rules tell apart."""

from dataclasses import dataclass
from enum import StrEnum

from copyfit_adapters.overflow.evidence import Evidence
from copyfit_adapters.overflow.wording import compiled


class Kind(StrEnum):
    """What sort of error it is; each asks for another remedy."""

    CONTEXT_OVERFLOW = "context_overflow"
    SILENT_TRUNCATION = "silent_truncation"
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

    `words` demands that one of them is a machine word of the error, and `word_pattern` that it is found in one;
    where both are given, either will do. `statuses` demands that the status is among them, `providers` that the
    provider is, `patterns` that one of them is found in the plain message, `unless` that it is not found there.
    `cues` only save time: the patterns are tried where one of them stands in the message; in the same way a
    pattern in Chinese is tried on a message that is not all ASCII. `combined` marks the rules whose overflow
    counts the room kept for the answer, so that a smaller output cap helps as well.
    """

    name: str
    kind: Kind
    source: str
    words: frozenset[str] = frozenset()
    word_pattern: str | None = None
    statuses: frozenset[int | None] = frozenset()
    providers: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    unless: str | None = None
    combined: bool = False

    def fits(self, evidence: Evidence, message: str) -> bool:
        """Whether `evidence`, whose plain message is `message`, meets every demand."""
        if self.statuses and evidence.status not in self.statuses:
            return False
        if (self.words or self.word_pattern) and not self.words_of(evidence):
            return False
        if self.providers and evidence.provider not in self.providers:
            return False
        if self.patterns and self.match(message) is None:
            return False
        return self.unless is None or not compiled(self.unless).search(message)

    def words_of(self, evidence: Evidence) -> frozenset[str]:
        """Return the machine words of `evidence` that this rule asks for."""
        met = self.words & evidence.words
        if met or self.word_pattern is None:
            return met
        search = compiled(self.word_pattern).search
        return frozenset(word for word in evidence.words if search(word))

    def match(self, message: str) -> str | None:
        """Return the piece of the plain `message` that a pattern fits, or None."""
        if self.cues and not any(cue in message for cue in self.cues):
            return None
        ascii_only = message.isascii()
        for pattern in self.patterns:
            if ascii_only and not pattern.isascii():
                continue
            if found := compiled(pattern).search(message):
                return found[0]
        return None
