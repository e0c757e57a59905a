"""Judge an error by its evidence."""

from dataclasses import dataclass

from copyfit_adapters.overflow.evidence import MAX_CHARS, Evidence
from copyfit_adapters.overflow.families import MACHINE_WORDS, WITH_OUTPUT, WORDINGS
from copyfit_adapters.overflow.numbers import token_counts
from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.vetoes import OUTPUT_CAPS, VETOES
from copyfit_adapters.overflow.wording import plain

RULES: tuple[Rule, ...] = (*MACHINE_WORDS, *VETOES, *WITH_OUTPUT, *OUTPUT_CAPS, *WORDINGS)
"""The table, in the order in which it is tried; the first rule that fits decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What kind of error it is, by which rule.

    `limit_tokens` and `requested_tokens` are the window and the size asked for of an overflow, where the error
    says them exactly. `combined` means that the output cap is part of that size.
    """

    kind: Kind
    rule: str
    limit_tokens: int | None = None
    requested_tokens: int | None = None
    combined: bool = False

    @property
    def is_context_overflow(self) -> bool:
        """Whether a shorter input is the remedy."""
        return self.kind is Kind.CONTEXT_OVERFLOW


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict on `evidence`; without a fitting rule, what its HTTP status means."""
    message = plain(evidence.message[:MAX_CHARS])
    for rule in RULES:
        if not rule.fits(evidence, message):
            continue
        if rule.kind is not Kind.CONTEXT_OVERFLOW:
            return Verdict(kind=rule.kind, rule=rule.name)
        limit, requested = token_counts(message, evidence.counts)
        return Verdict(
            kind=rule.kind,
            rule=rule.name,
            limit_tokens=limit,
            requested_tokens=requested,
            # A machine word decides first and says nothing of the output; the wording beside it may.
            combined=any(each.combined and each.fits(evidence, message) for each in WITH_OUTPUT),
        )
    return Verdict(kind=_kind_of(evidence.status), rule=f"status-{evidence.status}")


def _kind_of(status: int | None) -> Kind:
    match status:
        case 403:
            return Kind.AUTH
        case 408 | 504:
            return Kind.TIMEOUT
        case 413:
            return Kind.PAYLOAD_TOO_LARGE
        case int() if status >= 500:
            return Kind.OVERLOADED
        case _:
            return Kind.INVALID_REQUEST
