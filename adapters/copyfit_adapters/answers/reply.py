"""Tell an answer from an error, and read the values that answers of all protocols hold."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from copyfit.errors import MalformedReply, ProviderError
from copyfit.shapes.messages import AssistantMessage, TextPart
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked, refusal


@dataclass(frozen=True, slots=True)
class Replies:
    """The answers of one protocol: the words for its `endpoint`, and what `is_error` under a good status."""

    endpoint: str
    is_error: Callable[[Mapping[str, Any]], bool]

    def parsed(self, status: int, body: bytes, asked: Asked) -> dict[str, Any]:
        """Return the object in `body`, which is an answer and no error.

        Raises:
            ContextOverflow: it is an error that says the input is too long.
            ProviderError: it is another error.
            MalformedReply: it is no JSON object.

        """
        try:
            reply = json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as e:
            raise self._no_answer(status, body, asked) from e
        is_error = isinstance(reply, dict) and self.is_error(reply)
        if not 200 <= status < 300 or not isinstance(reply, dict) or is_error:
            raise self._no_answer(status, body, asked, is_error=is_error)
        return reply

    def malformed(self, reason: str, asked: Asked, *, what: str = "answer") -> MalformedReply:
        """Return the error for an answer, or a stream, that is none of this protocol."""
        return MalformedReply(
            f"The {what} of {asked.provider} {reason}; check that the base URL leads to {self.endpoint}.",
            provider=asked.provider,
            model=asked.model,
        )

    def _no_answer(self, status: int, body: bytes, asked: Asked, *, is_error: bool = False) -> ProviderError:
        evidence = lift(status, body, is_error=is_error)
        verdict = judge(evidence)
        says_nothing = evidence.data is None or not evidence.message
        if 200 <= status < 300 and not verdict.is_context_overflow and says_nothing:
            return self.malformed("is no JSON object", asked)
        return refusal(evidence, asked, verdict=verdict)


def plain(said: AssistantMessage) -> AssistantMessage:
    """Return an answer that is one text, or none, as plain text."""
    match said.content:
        case ():
            return said.model_copy(update={"content": ""})
        case (TextPart(text=text) as only,) if not only.extra:
            return said.model_copy(update={"content": text})
    return said


def digest_of(reply: Mapping[str, Any]) -> str:
    """Return twelve digits that tell a `reply` from others and are the same when it is replayed."""
    return sha256(json.dumps(reply, sort_keys=True).encode()).hexdigest()[:12]


def spoken(fields: Mapping[str, Any], modelled: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return those of `fields` that are not `modelled` and say something: no null, nothing empty."""
    return {name: value for name, value in fields.items() if name not in modelled and _says_something(value)}


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_says_something(entry) for entry in value.values())
    return value is not None and value != []
