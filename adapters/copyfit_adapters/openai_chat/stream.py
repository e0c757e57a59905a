"""Read a streamed chat completions answer: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import SseFraming
from copyfit_adapters.answers.pieces import merge, settled
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.openai_chat.decode import BROKEN_OFF, REPLIES, SOMEONE, decode, read_reply
from copyfit_adapters.openai_chat.dialect import THINKING_FIELDS
from copyfit_adapters.overflow.refusal import Asked


class ChatStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, SseFraming())
        self._top: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def _complete(self) -> bool:
        return any(choice.get("finish_reason") for choice in self._choices.values())

    def _output(self) -> ModelOutput:
        choices = [settled(self._choices[index]) for index in sorted(self._choices)]
        output = read_reply({**self._top, "choices": choices}, self._asked)
        if output.raw_finish_reason in BROKEN_OFF:
            raise self.broken()
        return output

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _end_marked(self) -> list[StreamEvent]:
        return [self._finish()]

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        self._top |= {name: value for name, value in chunk.items() if name != "choices" and value is not None}
        events: list[StreamEvent] = []
        choices = chunk.get("choices")
        for entry in choices if isinstance(choices, list) else ():
            if not isinstance(entry, dict):
                raise self._malformed("sends a choice that is no object")
            index = entry.get("index", 0)
            if not isinstance(index, int):
                raise self._malformed("sends a choice without a number")
            choice = self._choices.setdefault(index, {"index": index, "message": {}})
            # Writer repeats an empty message beside each delta; others send a message where a delta belongs.
            delta = entry.get("delta", entry.get("message"))
            if isinstance(delta, dict):
                given = self._add_delta(choice["message"], delta)
                events += given if index == 0 else []
            rest = {name: value for name, value in entry.items() if name not in ("index", "delta", "message")}
            merge(choice, {"logprobs": rest.pop("logprobs", None)})
            choice |= {name: value for name, value in rest.items() if value is not None}
        return events

    def _add_delta(self, message: dict[str, Any], delta: Mapping[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        said = (delta[name] for name in THINKING_FIELDS if isinstance(delta.get(name), str))
        thinking = next(filter(None, said), None)
        if thinking:
            events.append(ThinkingDelta(thinking))
        text = delta.get("content")
        if isinstance(text, str) and text:
            events.append(TextDelta(text))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            held = message["tool_calls"] = message.get("tool_calls") or []
            events += [self._add_call(held, piece) for piece in calls]
        merge(message, {name: value for name, value in delta.items() if name != "tool_calls"})
        return events

    def _add_call(self, calls: list[dict[str, Any]], piece: Any) -> ToolCallDelta:
        """Add a piece to its call: the one with its index, unless the piece names a call of its own.

        Some servers (Gemini's compatible endpoint) give every parallel call the index 0 and an id of its own.
        """
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(piece, dict) or not isinstance(function, dict | None):
            raise self._malformed("sends a tool call that is no object")
        call_id = piece.get("id") or None
        name = (function or {}).get("name") or None
        held = (
            [call for call in calls if call.get("index") == piece.get("index")] if "index" in piece else calls[-1:]
        )
        call = held[-1] if held else None
        if call is None or (call_id and name and call.get("id") not in (None, call_id)):
            call = {"index": piece.get("index"), "function": {}}
            calls.append(call)
        first_name = call["function"].get("name")
        merge(call, {key: value for key, value in piece.items() if key not in ("index", "function")})
        inner = {key: value for key, value in (function or {}).items() if key != "name"}
        merge(call["function"], inner)
        if isinstance(name, str) and name != first_name:
            call["function"]["name"] = (first_name or "") + name
        arguments = inner.get("arguments")
        return ToolCallDelta(
            index=next(place for place, entry in enumerate(calls) if entry is call),
            arguments=arguments if isinstance(arguments, str) else "",
            id=call_id,
            name=name,
        )
