"""Turn a judged error into the typed error that the caller gets."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from copyfit.errors import AuthFailed, BadRequest, ContextOverflow, ProviderError, RateLimited, Unavailable
from copyfit.shapes.model_output import ModelOutput
from copyfit_adapters.overflow.answers import Answer, rule_for
from copyfit_adapters.overflow.evidence import Evidence
from copyfit_adapters.overflow.judge import Verdict, judge
from copyfit_adapters.overflow.rules import Kind

QUOTE_CHARS = 500
"""Code points of a provider's message that an error may repeat."""

_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|r8|pplx|tgp|fw|csk)[-_][\w*-]{8,}"
    r"|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\beyJ[\w-]{8,}(?:\.[\w-]+)*"
    r"|(?<=[Bb]earer )[\w.~+/=-]{8,}|\b(?=[a-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}\b"
)
_MASK = "[masked]"

_REMEDIES = {
    Kind.CONTEXT_OVERFLOW: "shorten the history, or use a model with a larger window",
    Kind.SILENT_TRUNCATION: "shorten the history, or use a model with a larger window",
    Kind.OUTPUT_LIMIT: "lower max_output_tokens",
    Kind.RATE_LIMIT_TOKENS: "wait, then send it again",
    Kind.RATE_LIMIT_REQUESTS: "wait, then send it again",
    Kind.QUOTA: "check the plan and the balance of the account",
    Kind.OVERLOADED: "send it again later",
    Kind.TIMEOUT: "send it again later",
    Kind.PAYLOAD_TOO_LARGE: "send fewer or smaller attachments",
    Kind.IMAGE_LIMIT: "send fewer or smaller images, or use a model that takes them",
    Kind.TOOL_LIMIT: "offer fewer tools",
    Kind.CONTENT_FILTER: "change what the request says",
    Kind.AUTH: "check the API key and what it is allowed to do",
    Kind.INVALID_REQUEST: "correct the request",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who was asked, for errors; `secrets` are masked wherever an error repeats what a provider said.

    They are read anew for each error, so that a source of secrets may learn new ones.
    """

    provider: str
    model: str | None = None
    secrets: Iterable[str] = field(default=(), repr=False)


def refusal(evidence: Evidence, asked: Asked, *, verdict: Verdict | None = None) -> ProviderError:
    """Return the error that `evidence` calls for, by `verdict` (judged here when it is not given).

    The provider's own message is quoted, shortened to `QUOTE_CHARS`, with secrets and whatever looks like a key
    masked.
    """
    verdict = verdict or judge(evidence)
    sentence = _sentence(evidence, verdict, asked)
    facts: dict[str, Any] = {
        "provider": asked.provider,
        "model": asked.model,
        "status": evidence.status,
        "code": _code(evidence),
        "retry_after": evidence.retry_after,
    }
    if verdict.is_context_overflow:
        return ContextOverflow(
            sentence,
            limit_tokens=verdict.limit_tokens,
            # The room for a shorter answer is computed from it, which a lower bound would make too large.
            requested_tokens=None if verdict.at_least else verdict.requested_tokens,
            combined=verdict.combined,
            rule=verdict.rule,
            **facts,
        )
    error = _error_type(evidence.status, verdict.kind)
    retryable = error in (RateLimited, Unavailable) and verdict.kind is not Kind.QUOTA and evidence.status != 501
    return error(sentence, retryable=retryable, **facts)


def silent_cut(output: ModelOutput, asked: Asked, *, window_tokens: int) -> ContextOverflow | None:
    """Return the error for an answer whose figures tell that its input was cut to `window_tokens`, or None."""
    usage = output.usage
    answer = Answer(
        finish=output.finish_reason, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
    )
    rule = rule_for(answer, window_tokens=window_tokens)
    if rule is None or rule.kind is not Kind.SILENT_TRUNCATION:
        return None
    return ContextOverflow(
        f"{asked.provider} cut the input to its window of {window_tokens} tokens and did not say so ({rule.why}): "
        f"{_REMEDIES[rule.kind]}.",
        limit_tokens=window_tokens,
        rule=rule.name,
        provider=asked.provider,
        model=asked.model,
    )


def quote(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` on one line, at most `QUOTE_CHARS` long, with `secrets` and what looks like a key masked."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, _MASK)
    text = _KEY.sub(_MASK, " ".join(text.split()))
    return text if len(text) <= QUOTE_CHARS else text[: QUOTE_CHARS - 1] + "…"


def _sentence(evidence: Evidence, verdict: Verdict, asked: Asked) -> str:
    where = "in mid-stream" if evidence.in_stream else f"with status {evidence.status}"
    what = "the input as too long" if verdict.is_context_overflow else "the request"
    said = quote(evidence.message, asked.secrets)
    quoted = f' ("{said}")' if said else ""
    return f"{asked.provider} refused {what} {where}{quoted}: {_REMEDIES[verdict.kind]}."


def _code(evidence: Evidence) -> str | None:
    """Return the provider's own word for the error; a number only where there is no word."""
    words = [word for word in (evidence.code, evidence.type) if word]
    return next((word for word in words if not word.isdecimal()), words[0] if words else None)


def _error_type(status: int | None, kind: Kind) -> type[ProviderError]:
    match status:
        case 401 | 403:
            return AuthFailed
        case 429:
            return RateLimited
        # Bedrock says 424 when the model broke off its answer.
        case 408 | 424:
            return Unavailable
        case int() if 400 <= status < 500:
            return BadRequest
        case int() if status >= 500:
            return Unavailable
    match kind:
        case Kind.AUTH:
            return AuthFailed
        case Kind.RATE_LIMIT_TOKENS | Kind.RATE_LIMIT_REQUESTS | Kind.QUOTA:
            return RateLimited
        case Kind.OVERLOADED | Kind.TIMEOUT:
            return Unavailable
        case _:
            return BadRequest
