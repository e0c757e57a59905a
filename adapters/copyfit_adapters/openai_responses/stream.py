"""Read a streamed Responses answer: bytes in, events out.

The last event holds the whole answer, and that is what counts. Only where a server leaves the output out of it,
the answer is put together from the items before. Servers differ in how they name an item in mid-stream: by its
number, by its id, or not at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import SseFraming
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.codec.reading import without
from copyfit_adapters.openai_responses.decode import REPLIES, SOMEONE, decode, is_error, read_reply
from copyfit_adapters.overflow.refusal import Asked

_LAST = ("response.completed", "response.incomplete")
_STATES = ("response.created", "response.queued", "response.in_progress")


@dataclass(frozen=True, slots=True)
class _Growth:
    """What a kind of delta adds to: the text `name` of an entry of type `entry` in the item's list `field`.

    Without a field it is a text of the item itself. `numbered` is the delta's field with the entry's number.
    """

    name: str
    field: str = ""
    numbered: str = ""
    entry: str = ""


_DELTAS = {
    "response.output_text.delta": _Growth("text", "content", "content_index", "output_text"),
    "response.refusal.delta": _Growth("refusal", "content", "content_index", "refusal"),
    "response.reasoning_text.delta": _Growth("text", "content", "content_index", "reasoning_text"),
    "response.reasoning_summary_text.delta": _Growth("text", "summary", "summary_index", "summary_text"),
    "response.function_call_arguments.delta": _Growth("arguments"),
}
_REPEATED = frozenset(
    {
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.done",
        "response.output_text.annotation.added",
        "response.refusal.done",
        "response.reasoning_text.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.done",
        "response.function_call_arguments.done",
    }
)
"""Events that say nothing which the deltas before and the end of the item do not say, too."""


class ResponsesStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, SseFraming())
        self._response: dict[str, Any] = {}
        self._items: list[_Item] = []
        self._unknown: list[Any] = []
        self._ended = False

    def _complete(self) -> bool:
        return self._ended

    def _output(self) -> ModelOutput:
        said = {} if self._response.get("output") else {"output": [item.whole() for item in self._items]}
        unknown = {"events": self._unknown} if self._unknown else {}
        return read_reply(self._response | said | unknown, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _is_error(self, chunk: Mapping[str, Any]) -> bool:
        kind, response = chunk.get("type"), chunk.get("response")
        if not isinstance(kind, str) or not kind.startswith("response."):
            return is_error(chunk)
        return kind == "response.failed" or (isinstance(response, Mapping) and is_error(response))

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        named = chunk.get("type")
        kind = named if isinstance(named, str) else kind
        if kind in _LAST or kind in _STATES:
            self._response |= without(chunk, "type", "sequence_number", "response")
            self._response |= self._object(chunk, "response")
            self._ended = kind in _LAST
            return [self._finish()] if self._ended else []
        if kind == "response.output_item.added":
            item = _Item(self._object(chunk, "item"), chunk.get("output_index"), call=self._calls())
            self._items.append(item)
            return item.begin()
        if kind == "response.output_item.done":
            return self._end_item(chunk)
        if kind in _DELTAS:
            return self._item(chunk).add(kind, chunk)
        if kind not in _REPEATED:
            self._unknown.append(chunk)
        return []

    def _end_item(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        fields = self._object(chunk, "item")
        known = self._find(chunk.get("output_index"), fields.get("id"))
        if known is not None:
            return known.end(fields)
        item = _Item(fields, chunk.get("output_index"), call=self._calls())
        self._items.append(item)
        return [*item.begin(), *item.end(fields)]

    def _item(self, chunk: Mapping[str, Any]) -> "_Item":
        # Some proxies give the deltas of an item another id than its beginning.
        last = self._items[-1] if self._items else None
        item = self._find(chunk.get("output_index"), chunk.get("item_id")) or last
        if item is None:
            raise self._malformed("goes on with an item that never began")
        return item

    def _find(self, number: Any, item_id: Any) -> "_Item | None":
        for item in reversed(self._items):
            if item.number == number if number is not None else item_id is not None and item.id == item_id:
                return item
        return None

    def _calls(self) -> int:
        return sum(item.is_call for item in self._items)


class _Item:
    """One output item that grows; `number` is its place in the output, `call` its number among the calls."""

    def __init__(self, fields: dict[str, Any], number: Any, *, call: int) -> None:
        self.id = fields.get("id")
        self.number = number
        self.is_call = fields.get("type") == "function_call"
        self._fields = fields
        self._call = call
        self._ended = False
        self._pieces: dict[tuple[str, int], tuple[_Growth, list[str]]] = {}

    def begin(self) -> list[StreamEvent]:
        """Return the event of a call that begins."""
        if not self.is_call:
            return []
        call_id, name = self._fields.get("call_id") or self.id, self._fields.get("name")
        return [
            ToolCallDelta(
                index=self._call,
                id=call_id if isinstance(call_id, str) else None,
                name=name if isinstance(name, str) else None,
            )
        ]

    def add(self, kind: str, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Go on with the text that a delta of this `kind` adds to."""
        growth = _DELTAS[kind]
        piece, index = chunk.get("delta"), chunk.get(growth.numbered, 0)
        if not isinstance(piece, str) or not piece or not isinstance(index, int):
            return []
        _, pieces = self._pieces.setdefault((growth.field, index), (growth, []))
        pieces.append(piece)
        return self._told(kind, piece)

    def end(self, fields: dict[str, Any]) -> list[StreamEvent]:
        """Take the whole item, and return the events of what no delta said."""
        self._fields, self._ended = fields, True
        events: list[StreamEvent] = []
        for place, kind, text in _texts(fields):
            said = "".join(self._pieces[place][1]) if place in self._pieces else ""
            if text.startswith(said) and len(said) < len(text):
                events += self._told(kind, text[len(said) :])
        return events

    def whole(self) -> dict[str, Any]:
        """Return the item as a whole answer holds it."""
        if self._ended:
            return self._fields
        fields = dict(self._fields)
        for (field, index), (growth, pieces) in sorted(self._pieces.items(), key=lambda entry: entry[0]):
            text = join_surrogates("".join(pieces))
            if not field:
                fields[growth.name] = text
            else:
                held = fields.get(field)
                before = held[:index] if isinstance(held, list) else []
                fields[field] = [*before, {"type": growth.entry, growth.name: text}]
        return fields

    def _told(self, kind: str, piece: str) -> list[StreamEvent]:
        match kind:
            case "response.output_text.delta":
                return [TextDelta(piece)]
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                return [ThinkingDelta(piece)]
            case "response.function_call_arguments.delta" if self.is_call:
                return [ToolCallDelta(index=self._call, arguments=piece)]
        return []


def _texts(fields: Mapping[str, Any]) -> Iterator[tuple[tuple[str, int], str, str]]:
    """Yield each text of a whole item: its place, the kind of delta that would have brought it, and the text."""
    if isinstance(fields.get("arguments"), str):
        yield ("", 0), "response.function_call_arguments.delta", fields["arguments"]
    for kind, growth in _DELTAS.items():
        entries = fields.get(growth.field)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, Mapping) and entry.get("type") == growth.entry:
                text = entry.get(growth.name)
                if isinstance(text, str):
                    yield (growth.field, index), kind, text
