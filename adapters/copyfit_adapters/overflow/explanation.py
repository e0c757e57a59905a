"""Say in words which rule judged an error, and what in the error made it fit."""

from copyfit_adapters.overflow.answers import ANSWER_RULES
from copyfit_adapters.overflow.evidence import MAX_CHARS, Evidence
from copyfit_adapters.overflow.judge import RULES, Verdict, finished_answer, judge
from copyfit_adapters.overflow.refusal import quote
from copyfit_adapters.overflow.rules import Rule
from copyfit_adapters.overflow.sources import evidence_of
from copyfit_adapters.overflow.wording import plain


def explain(
    error: object,
    *,
    status: int | None = None,
    provider: str | None = None,
    window_tokens: int | None = None,
) -> str:
    """Return two or three sentences on the verdict that `judge` gives on the same arguments.

    What the error said is quoted shortened, with whatever looks like a key masked.

    Raises:
        TypeError: `error` has none of the known shapes.

    """
    evidence = evidence_of(error, status=status, provider=provider)
    verdict = judge(error, status=status, provider=provider, window_tokens=window_tokens)
    if verdict is None:
        unknown = "" if window_tokens else " The window is not known, so a cut input could not be noticed."
        return f"It is a finished answer with nothing wrong.{unknown}"
    meaning = "a shorter input is the remedy" if verdict.is_context_overflow else "a shorter input does not help"
    return f"It is {verdict.kind}: {meaning}.{_numbers(verdict)} {_why(evidence, verdict)}"


def _why(evidence: Evidence, verdict: Verdict) -> str:
    if finished_answer(evidence) is not None:
        why = next(rule.why for rule in ANSWER_RULES if rule.name == verdict.rule)
        return f"The rule {verdict.rule} fits: {why}."
    rule = next((rule for rule in RULES if rule.name == verdict.rule), None)
    if rule is None:
        status = "it has no HTTP status" if evidence.status is None else f"its HTTP status is {evidence.status}"
        return f"No rule fits its words; {status}, and that decides."
    return f"The rule {rule.name} fits: {_met(rule, evidence)}. Its family: {rule.source}."


def _met(rule: Rule, evidence: Evidence) -> str:
    met = []
    if words := rule.words_of(evidence):
        met.append(f"its machine word is {', '.join(sorted(words))}")
    if rule.patterns:
        said = (rule.match(plain(evidence.message[:MAX_CHARS])) or "").strip()
        met.append(f'it says "{quote(said)}"' if said else "it says nothing")
    if rule.statuses:
        met.append("it has no HTTP status" if evidence.status is None else f"its status is {evidence.status}")
    if rule.providers:
        met.append(f"its provider is {evidence.provider}")
    return " and ".join(met)


def _numbers(verdict: Verdict) -> str:
    limit, requested = verdict.limit_tokens, verdict.requested_tokens
    parts = []
    if requested is not None:
        parts.append(f"{'at least ' if verdict.at_least else ''}{requested:,} tokens were asked for")
    if limit is not None:
        parts.append(f"the limit is {limit:,}")
    return f" By the numbers in it {' and '.join(parts)}." if parts else ""
