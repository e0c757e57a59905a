"""Read a streamed answer of Mistral's chat completions: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import SseFraming
from copyfit_adapters.answers.pieces import merge, settled
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import string, without
from copyfit_adapters.codec.writing import given
from copyfit_adapters.mistral_chat.decode import NO_ID, REPLIES, SOMEONE, decode, read_reply
from copyfit_adapters.mistral_chat.growing import joined
from copyfit_adapters.overflow.refusal import Asked

_PADDING = "p"
"""A field of a chunk that hides from onlookers how long its text is."""


class MistralStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, SseFraming())
        self._top: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def _complete(self) -> bool:
        return any(choice.ended for choice in self._choices.values())

    def _output(self) -> ModelOutput:
        choices = [self._choices[index].whole() for index in sorted(self._choices)]
        return read_reply({**self._top, "choices": choices}, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _end_marked(self) -> list[StreamEvent]:
        return [self._finish()]

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        self._top |= {
            name: value for name, value in chunk.items() if name not in ("choices", _PADDING) and value is not None
        }
        events: list[StreamEvent] = []
        choices = chunk.get("choices")
        for entry in choices if isinstance(choices, list) else ():
            index = entry.get("index", 0) if isinstance(entry, dict) else None
            if not isinstance(index, int):
                raise self._malformed("sends a choice without a number")
            delta = entry.get("delta")
            told = self._choices.setdefault(index, _Choice(index)).add(
                without(entry, "index", "delta"), self._checked(delta) if isinstance(delta, dict) else {}
            )
            events += told if index == 0 else []
        return events

    def _checked(self, delta: dict[str, Any]) -> dict[str, Any]:
        """Return `delta` if all its calls are pieces of calls."""
        calls = delta.get("tool_calls") or []
        if not isinstance(calls, list) or not all(
            isinstance(call, dict) and isinstance(call.get("function"), dict) for call in calls
        ):
            raise self._malformed("sends a tool call without a function")
        return delta


class _Choice:
    """One answer that grows."""

    def __init__(self, index: int) -> None:
        self._fields: dict[str, Any] = {"index": index}
        self._message: dict[str, Any] = {}
        self._content: list[Any] = []
        self._calls: list[dict[str, Any]] = []

    @property
    def ended(self) -> bool:
        """Whether the server has said why the answer ended."""
        return bool(self._fields.get("finish_reason"))

    def add(self, fields: Mapping[str, Any], delta: Mapping[str, Any]) -> list[StreamEvent]:
        """Go on with the answer by a `delta` and the `fields` beside it, and return the events of the piece."""
        merge(self._fields, {"logprobs": fields.get("logprobs")})
        rest = without(fields, "logprobs")
        self._fields |= {name: value for name, value in rest.items() if value is not None}
        merge(self._message, without(delta, "content", "tool_calls"))
        content, calls = delta.get("content"), delta.get("tool_calls")
        pieces = content if isinstance(content, list) else [] if content is None else [content]
        self._content += pieces
        events = [event for piece in pieces for event in _told(piece)]
        return events + [self._add_call(piece) for piece in calls or ()]

    def whole(self) -> dict[str, Any]:
        """Return the choice as a whole answer holds it."""
        calls = {"tool_calls": settled(self._calls)} if self._calls else {}
        message = settled(self._message) | {"content": joined(self._content)} | calls
        return {**settled(self._fields), "message": message}

    def _add_call(self, piece: Mapping[str, Any]) -> ToolCallDelta:
        """Add a piece to its call.

        Mistral's own models send each call whole and with an id. The models of others that it relays send it in
        pieces, which have an index but no id after the first.
        """
        function, given_id = piece["function"], piece.get("id")
        call_id = given_id if isinstance(given_id, str) and given_id not in ("", NO_ID) else None
        at = self._place(piece, call_id)
        call = self._calls[at]
        arguments, name = function.get("arguments"), string(function.get("name")) or None
        text = arguments if isinstance(arguments, str) else as_arguments(arguments) or ""
        merge(call, without(piece, "id", "function") | given(id=call_id))
        merge(call["function"], without(function, "name") | given(name=name, arguments=text))
        return ToolCallDelta(index=at, arguments=text, id=call_id, name=name)

    def _place(self, piece: Mapping[str, Any], call_id: str | None) -> int:
        """Return the place of the call that `piece` belongs to, a new one if it begins one."""
        same = [at for at, call in enumerate(self._calls) if call.get("index") == piece.get("index")]
        if same and (call_id is None or self._calls[same[-1]].get("id", call_id) == call_id):
            return same[-1]
        self._calls.append({"function": {}})
        return len(self._calls) - 1


def _told(piece: Any) -> Iterator[StreamEvent]:
    """Yield the events of a piece of the content: a text, or a chunk."""
    match piece:
        case str(text) | {"type": "text", "text": str(text)} if text:
            yield TextDelta(text)
        case {"type": "thinking", "thinking": list(thinking)}:
            for thought in thinking:
                match thought:
                    case {"type": "text", "text": str(text)} if text:
                        yield ThinkingDelta(text)
