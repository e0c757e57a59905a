"""Judge an error by its evidence, and an answer by its own figures."""

from dataclasses import dataclass
from typing import overload

from copyfit_adapters.overflow.answers import Answer, answer_in, rule_for
from copyfit_adapters.overflow.evidence import MAX_CHARS, Evidence
from copyfit_adapters.overflow.families import MACHINE_WORDS, PROVIDER_HABITS, WITH_OUTPUT, WORDINGS
from copyfit_adapters.overflow.numbers import cap_counts, token_counts
from copyfit_adapters.overflow.rules import Kind, Rule
from copyfit_adapters.overflow.sources import evidence_of
from copyfit_adapters.overflow.vetoes import FAULTS, NAMED, OUTPUT_CAPS, VETOES
from copyfit_adapters.overflow.wording import plain

RULES: tuple[Rule, ...] = (
    *MACHINE_WORDS,
    *VETOES,
    *WITH_OUTPUT,
    *OUTPUT_CAPS,
    *WORDINGS,
    *PROVIDER_HABITS,
    *FAULTS,
    *NAMED,
)
"""The table, in the order in which it is tried; the first rule that fits decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What kind of error it is, by which rule.

    `limit_tokens` and `requested_tokens` are the bound and the size asked for, where the error says them: of an
    overflow the window and the whole request, of an output cap the cap, of a rate the tokens in its time.
    `at_least` means that the size is only a lower bound. `combined` means that the output cap is part of it.
    """

    kind: Kind
    rule: str
    limit_tokens: int | None = None
    requested_tokens: int | None = None
    at_least: bool = False
    combined: bool = False

    @property
    def is_context_overflow(self) -> bool:
        """Whether a shorter input is the remedy; so it is after a silent truncation."""
        return self.kind in (Kind.CONTEXT_OVERFLOW, Kind.SILENT_TRUNCATION)


@overload
def judge(error: Evidence) -> Verdict: ...
@overload
def judge(
    error: object,
    *,
    status: int | None = None,
    provider: str | None = None,
    window_tokens: int | None = None,
) -> Verdict | None: ...
def judge(
    error: object,
    *,
    status: int | None = None,
    provider: str | None = None,
    window_tokens: int | None = None,
) -> Verdict | None:
    """Return the verdict on `error`, or None when it is a finished answer with nothing wrong.

    `error` is evidence, an HTTP response, an exception, a stream event, an answer, a body or text, of the shapes
    that `sources` lists. `status` (HTTP) and `provider` fill in what it does not say itself; `window_tokens` is
    the model's window where it is known, and without it no silent truncation can be found. Without a fitting rule
    an error's HTTP status decides.

    Raises:
        TypeError: `error` has none of the known shapes.

    """
    if isinstance(error, Evidence):
        return _judged(error)
    evidence = evidence_of(error, status=status, provider=provider)
    answer = finished_answer(evidence)
    return _judged(evidence) if answer is None else _judged_answer(answer, window_tokens)


def finished_answer(evidence: Evidence) -> Answer | None:
    """Return the figures of the answer that `evidence` holds, or None when it is an error."""
    if evidence.status is not None and evidence.status >= 400:
        return None
    return answer_in(evidence.data)


def _judged(evidence: Evidence) -> Verdict:
    message = plain(evidence.message[:MAX_CHARS])
    for rule in RULES:
        if rule.fits(evidence, message):
            return _verdict(rule, evidence, message)
    return Verdict(kind=_kind_of(evidence.status), rule=f"status-{evidence.status}")


def _verdict(rule: Rule, evidence: Evidence, message: str) -> Verdict:
    match rule.kind:
        case Kind.CONTEXT_OVERFLOW | Kind.SILENT_TRUNCATION:
            counts = token_counts(message, evidence.counts)
        case Kind.OUTPUT_LIMIT | Kind.RATE_LIMIT_TOKENS:
            counts = cap_counts(message)
        case _:
            return Verdict(kind=rule.kind, rule=rule.name)
    # A machine word decides first and says nothing of the output; the wording beside it may.
    combined = rule.kind is Kind.CONTEXT_OVERFLOW and any(
        each.combined and each.fits(evidence, message) for each in WITH_OUTPUT
    )
    return Verdict(
        kind=rule.kind,
        rule=rule.name,
        limit_tokens=counts.limit,
        requested_tokens=counts.requested,
        at_least=counts.at_least,
        combined=combined,
    )


def _judged_answer(answer: Answer, window_tokens: int | None) -> Verdict | None:
    rule = rule_for(answer, window_tokens=window_tokens)
    if rule is None:
        return None
    limit, requested = None, None
    if rule.kind is Kind.SILENT_TRUNCATION:
        limit, requested = window_tokens, answer.input_tokens
    elif rule.kind is Kind.OUTPUT_LIMIT:
        limit = answer.output_tokens
    return Verdict(
        kind=rule.kind,
        rule=rule.name,
        limit_tokens=limit,
        requested_tokens=requested,
        # A server that cuts reports what it kept.
        at_least=requested is not None,
    )


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
