"""Put the chunks of an answer together into one GenerateContentResponse; a whole answer is a single chunk.

Every chunk is a response of its own, whose parts go on where those of the last one ended. A plain text, or a plain
thought, goes on with one of its kind; a part that holds anything else, such as a signature, is never joined to
another, as the API demands. A call without an id, as Gemini 2 makes them, gets one here: ``call-`` with the id of
the response, or else a digest of the chunk that the call came in, and the number of the call in the response.
"""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit_adapters.answers.reply import digest_of
from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.gemini.messages import as_parts
from copyfit_adapters.gemini.partial_calls import PartialCalls
from copyfit_adapters.gemini.parts import READER
from copyfit_adapters.gemini.spelling import spelled

_PLAIN = ({"text"}, {"text", "thought"})


class Chunks:
    """The response that the chunks so far add up to."""

    def __init__(self) -> None:
        self._top: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}

    @property
    def complete(self) -> bool:
        """Whether the first candidate has ended, or the prompt was blocked."""
        first = self._candidates.get(0)
        feedback = self._top.get("promptFeedback")
        blocked = isinstance(feedback, dict) and bool(feedback.get("blockReason"))
        return blocked or (first is not None and bool(first.fields.get("finishReason")))

    def add(self, chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Add `chunk` and return the parts that it brought to the first candidate.

        Raises:
            UnreadableRequest: its candidates, their contents or their parts are none.

        """
        for name, value in chunk.items():
            if name != "candidates" and value is not None:
                held = self._top.get(name)
                self._top[name] = held | value if isinstance(held, dict) and isinstance(value, dict) else value
        response_id = self._top.get("responseId")
        candidates = chunk.get("candidates")
        brought: list[dict[str, Any]] = []
        for place, entry in enumerate([] if candidates is None else READER.list(candidates, "$.candidates")):
            where = f"$.candidates[{place}]"
            fields = READER.object(entry, where)
            index = fields.get("index", place)
            if not isinstance(index, int):
                index = place
            candidate = self._candidates.setdefault(index, _Candidate())
            parts = candidate.add(fields, where, lambda: str(response_id or digest_of(chunk)))
            brought += parts if index == 0 else []
        return brought

    def whole(self) -> dict[str, Any]:
        """Return the response as a whole answer holds it."""
        candidates = [self._candidates[index].whole() for index in sorted(self._candidates)]
        return self._top | ({"candidates": candidates} if candidates else {})


class _Candidate:
    """One candidate that grows."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._content: dict[str, Any] | None = None
        self._parts: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._calls = 0
        self._partial = PartialCalls()

    def add(self, fields: Mapping[str, Any], where: str, came_in: Callable[[], str]) -> list[dict[str, Any]]:
        """Go on with the candidate and return the parts that came; `came_in` tells the response from others."""
        given = {name: value for name, value in fields.items() if name != "content" and value is not None}
        citations = _longer(self.fields.get("citationMetadata"), given.get("citationMetadata"))
        self.fields |= given | ({} if citations is None else {"citationMetadata": citations})
        content = fields.get("content")
        if content is None:
            return []
        read = READER.object(content, f"{where}.content")
        self._content = (self._content or {}) | {name: read[name] for name in read if name != "parts"}
        parts = as_parts(read.get("parts"), f"{where}.content")
        place = f"{where}.content.parts"
        came = (self._partial.whole(READER.object(part, place), place) for part in parts)
        named = [self._named(part, came_in) for part in came if part is not None]
        for number, part in enumerate(named):
            self._join(part, goes_on=number == 0)
        return named

    def whole(self) -> dict[str, Any]:
        """Return the candidate with its parts."""
        self._settle()
        unfinished = self._partial.unfinished
        parts = [*self._parts, *([] if unfinished is None else [unfinished])]
        content = {} if self._content is None else {"content": self._content | {"parts": parts}}
        return content | self.fields

    def _named(self, part: dict[str, Any], came_in: Callable[[], str]) -> dict[str, Any]:
        """Return `part` with an id if it is a call without one."""
        fields = spelled(part, "functionCall")
        call = fields.get("functionCall")
        if not isinstance(call, dict):
            return part
        self._calls += 1
        if call.get("id") or not call.get("name"):
            return part
        return fields | {"functionCall": {"id": f"call-{came_in()}-{self._calls - 1}"} | _without_id(call)}

    def _join(self, part: dict[str, Any], *, goes_on: bool) -> None:
        last = self._parts[-1] if self._parts else {}
        plain = part.keys() in _PLAIN and isinstance(part["text"], str)
        if goes_on and plain and self._pieces and part.get("thought") == last.get("thought"):
            self._pieces.append(part["text"])
            return
        self._settle()
        self._parts.append(part)
        # The pieces of a text are joined when all have come, so that a long answer costs no more for each piece.
        self._pieces = [part["text"]] if plain else []

    def _settle(self) -> None:
        if self._pieces:
            self._parts[-1] = self._parts[-1] | {"text": join_surrogates("".join(self._pieces))}
            self._pieces = []


def _without_id(call: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in call.items() if name != "id"}


def _longer(held: Any, value: Any) -> dict[str, Any] | None:
    """Return citations that go on with those that are held, or None where there are none to join."""
    if not isinstance(held, dict) or not isinstance(value, dict):
        return None
    joined = dict(held)
    for name, entries in value.items():
        old = joined.get(name)
        joined[name] = [*old, *entries] if isinstance(old, list) and isinstance(entries, list) else entries
    return joined
