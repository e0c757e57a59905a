"""Turn what litellm raises into the typed error that it stands for.

litellm maps errors by itself, and loses some of what they say on the way: its class for a context that is too
long covers half of the wordings, a mid-stream error is always its ``MidStreamFallbackError``. So its exceptions
are evidence here, judged by the same table as everything else.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit.errors import MalformedReply, ProviderError, StreamBroken, Unavailable
from copyfit_adapters.errors import UnencodableInput
from copyfit_adapters.litellm.loading import part
from copyfit_adapters.overflow.evidence import lift, retry_after
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import QUOTE_CHARS, Asked, quote, refusal
from copyfit_adapters.overflow.sources import evidence_of

_MAX_BEHIND = 12
"""Exceptions behind an exception that are looked at."""
_MISREADS = (ValueError, LookupError, TypeError, AttributeError)
"""What litellm's code runs into where an answer is not what it expects."""


def typed_error(
    error: Exception, asked: Asked, *, status: int | None = None, arrived: str | None = None
) -> ProviderError:
    """Return the error that litellm's `error` stands for.

    `status` is that of the answer, where litellm's may be another; `arrived` is the text that a stream gave before
    the error.
    """
    if isinstance(error, part("litellm.exceptions").UnsupportedParamsError):
        return UnencodableInput(asked.provider, "the settings", quote(str(error), asked.secrets))
    evidence = evidence_of(error, provider=asked.provider)
    headers = getattr(error, "litellm_response_headers", None)
    if isinstance(headers, Mapping):
        asked_wait = retry_after({str(name).lower(): str(value) for name, value in headers.items()})
        evidence = dataclasses.replace(evidence, retry_after=evidence.retry_after or asked_wait)
    if status is not None and status >= 400:
        evidence = dataclasses.replace(evidence, status=status)
    evidence = dataclasses.replace(evidence, in_stream=arrived is not None)
    verdict = judge(evidence)
    if not verdict.is_context_overflow:
        if reason := _first(error, _ends()):
            return _broken(reason, asked, arrived)
        if status is not None and status < 400 and (reason := _first(error, _MISREADS)):
            return _malformed(reason, asked)
    return refusal(evidence, asked, verdict=verdict)


def refusal_in(body: bytes, asked: Asked) -> ProviderError | None:
    """Return the error that came as the `body` of an answer where a stream was asked for, or None if none did."""
    evidence = lift(None, body, in_stream=True, provider=asked.provider)
    said = isinstance(evidence.data, dict) and evidence.message
    return refusal(evidence, asked) if said else None


def cause_of(error: Exception, asked: Asked) -> Exception | None:
    """Return `error` as the cause to chain, or None when it, or one behind it, would show a secret."""
    for each in _behind(error):
        text = " ".join(str(each).split())
        for start in range(0, len(text), QUOTE_CHARS // 2):
            window = text[start : start + QUOTE_CHARS]
            if quote(window, asked.secrets) != window:
                return None
    return error


def _broken(reason: BaseException, asked: Asked, arrived: str | None) -> ProviderError:
    facts: dict[str, Any] = {"provider": asked.provider, "model": asked.model, "retryable": True}
    if arrived is not None:
        return StreamBroken(
            f"The stream of {asked.provider} broke off in the answer, after {len(arrived)} characters; "
            "send the request again.",
            arrived=arrived,
            **facts,
        )
    told = quote(f"{type(reason).__name__}: {reason}", asked.secrets)
    return Unavailable(
        f"{asked.provider} gave no answer ({told}): check the address and the network, or send it again later.",
        **facts,
    )


def _malformed(reason: BaseException, asked: Asked) -> MalformedReply:
    told = quote(f"{type(reason).__name__}: {reason}", asked.secrets)
    return MalformedReply(
        f"litellm cannot read the answer of {asked.provider} ({told}); check that the base URL leads to it.",
        provider=asked.provider,
        model=asked.model,
    )


def _ends() -> tuple[type[BaseException], ...]:
    import httpx

    return (httpx.TransportError, StopAsyncIteration)


def _first(error: Exception, kinds: tuple[type[BaseException], ...]) -> BaseException | None:
    return next((each for each in _behind(error) if isinstance(each, kinds)), None)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and those that it was raised from, on account of, or in the place of."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting and len(seen) < _MAX_BEHIND:
        each = waiting.pop(0)
        if each is None or each in seen:
            continue
        seen.append(each)
        yield each
        waiting += [each.__cause__, each.__context__, getattr(each, "original_exception", None)]
