"""Lift the evidence out of whatever object carries an error, by its shape: no client library is imported.

Known shapes: a response of httpx, httpx2, requests or botocore; an exception of the openai, anthropic,
google-genai, mistralai, cohere or ollama SDK, of botocore or of litellm; a body, a stream event or an answer as
a mapping or as a model that can be dumped; text.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit_adapters.overflow.evidence import Evidence, lift

_MAX_CAUSES = 4
"""Exceptions behind an exception that are looked at."""
_STATUS_NAMES = ("status_code", "http_status", "status", "code")
_BODY_NAMES = ("body", "details", "response_json", "raw_response")


def evidence_of(error: object, *, status: int | None = None, provider: str | None = None) -> Evidence:
    """Return the evidence that `error` carries; `status` and `provider` fill in what it does not say itself.

    A streamed response must have been read first, or its library's own error comes through.

    Raises:
        TypeError: `error` has none of the known shapes.

    """
    match error:
        case Evidence():
            return dataclasses.replace(error, provider=error.provider or provider)
        case bytes() | str() | list():
            return lift(status, error, provider=provider)
        case Mapping():
            metadata = error.get("ResponseMetadata")
            if status is None and isinstance(metadata, Mapping):
                status = _status(metadata.get("HTTPStatusCode"))
            return lift(status, error, headers=_headers(error), provider=provider)
        case BaseException():
            return _of_exception(error, status, provider)
    if (own := _status(getattr(error, "status_code", None))) is not None:
        return lift(own, _content(error), headers=_headers(error), provider=provider)
    if (dumped := _dumped(error)) is not None:
        return lift(status, dumped, provider=provider)
    name = type(error).__name__
    raise TypeError(f"{name} carries no error that can be judged: give a response, an exception, a body or text.")


def _of_exception(error: BaseException, status: int | None, provider: str | None) -> Evidence:
    chain = list(_chain(error))
    found = [_one_exception(each, provider) for each in chain]
    first = next((each for each in found if each.status is not None), found[0])
    names = {
        kind.__name__.lower() for each in chain for kind in type(each).__mro__ if kind.__module__ != "builtins"
    }
    messages = [line for each in found for line in each.message.split("\n") if line]
    named = next((each for each in found if each.code or each.type), first)
    return dataclasses.replace(
        first,
        status=first.status if first.status is not None else status,
        message="\n".join(dict.fromkeys(messages)),
        code=named.code,
        type=named.type,
        words=frozenset().union(names, *(each.words for each in found)),
        counts={name: count for each in reversed(found) for name, count in each.counts.items()},
    )


def _one_exception(error: BaseException, provider: str | None) -> Evidence:
    response = getattr(error, "response", None)
    body = next((value for name in _BODY_NAMES if _is_body(value := getattr(error, name, None))), None)
    if body is None and _is_body(response):
        body = response
    elif body is None and response is not None and _status(getattr(response, "status_code", None)) is not None:
        body = _content(response)
    statuses = [getattr(holder, name, None) for holder in (error, response) for name in _STATUS_NAMES]
    status = next((found for value in statuses if (found := _status(value)) is not None), None)
    holders = (response, getattr(error, "raw_response", None), error)
    headers = next((named for holder in holders if (named := _headers(holder))), {})
    said = lift(status, str(error), headers=headers, provider=provider)
    if body is None:
        return said
    inner = evidence_of(body, status=status, provider=provider)
    return dataclasses.replace(
        inner,
        message="\n".join(dict.fromkeys([inner.message, said.message])),
        words=inner.words | said.words,
        param=inner.param or said.param,
        status=inner.status if inner.status is not None else said.status,
        retry_after=said.retry_after,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen and len(seen) <= _MAX_CAUSES:
        seen.append(current)
        yield current
        current = current.__cause__


def _content(response: Any) -> bytes | str | Mapping[str, Any]:
    for name in ("content", "text", "body"):
        value = getattr(response, name, None)
        if isinstance(value, bytes | str | Mapping):
            return value
    return b""


def _headers(holder: Any) -> dict[str, str]:
    """Return the HTTP headers that a response, an exception or a parsed answer of botocore holds."""
    metadata = holder.get("ResponseMetadata") if isinstance(holder, Mapping) else None
    headers = metadata.get("HTTPHeaders") if isinstance(metadata, Mapping) else getattr(holder, "headers", None)
    if not isinstance(headers, Mapping):
        return {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _dumped(error: object) -> Mapping[str, Any] | None:
    """Return an SDK's model of an event or an answer as a mapping."""
    for name in ("model_dump", "to_dict", "dict"):
        dump = getattr(error, name, None)
        if callable(dump):
            value = dump()
            return value if isinstance(value, Mapping) else None
    if dataclasses.is_dataclass(error) and not isinstance(error, type):
        return dataclasses.asdict(error)
    return None


def _is_body(value: Any) -> bool:
    return isinstance(value, bytes | str | Mapping) and bool(value)


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else None
