"""Read a streamed answer of Cohere's chat API v2: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output. A tool plan comes as text, for it is text in the message.
"""

import json
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import Frame, SseFraming
from copyfit_adapters.answers.pieces import merge, settled
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.codec.reading import without
from copyfit_adapters.cohere_v2.decode import REPLIES, SOMEONE, decode, read_reply
from copyfit_adapters.cohere_v2.dialect import TOOL_PLAN
from copyfit_adapters.overflow.refusal import Asked

_ENDS = ("content-end", "tool-call-end", "citation-end")
"""Events that close what a later event opens anew anyway."""


class CohereStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, SseFraming())
        self._top: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._content: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._citations: list[Any] = []
        self._logprobs: list[Any] = []
        self._unknown: list[Any] = []

    def _complete(self) -> bool:
        # The one event that completes an answer ends the stream as well.
        return False

    def _output(self) -> ModelOutput:
        message = settled(self._message) | {
            "content": [settled(self._content[index]) for index in sorted(self._content)],
            "tool_calls": [settled(call) for call in self._calls.values()],
            "citations": self._citations,
        }
        beside = {"message": message, "logprobs": self._logprobs, "events": self._unknown}
        return read_reply(self._top | beside, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        event = chunk.get("type") or kind
        match event:
            case "message-start":
                self._top |= without(chunk, "type", "delta")
                lists = ("content", "tool_calls", "citations")
                merge(self._message, without(self._told(chunk), *lists))
            case "content-start" | "content-delta":
                return self._add_content(chunk, begins=event == "content-start")
            case "tool-plan-delta":
                plan = self._told(chunk).get(TOOL_PLAN)
                merge(self._message, {TOOL_PLAN: plan})
                return [TextDelta(plan)] if isinstance(plan, str) and plan else []
            case "tool-call-start" | "tool-call-delta":
                return self._add_call(chunk, begins=event == "tool-call-start")
            case "citation-start":
                self._citations.append(self._object(self._told(chunk), "citations"))
            case "message-end":
                return self._end(chunk)
            case _ if event not in _ENDS:
                self._unknown.append(chunk)
        return []

    def _add_content(self, chunk: dict[str, Any], *, begins: bool) -> list[StreamEvent]:
        piece = self._object(self._told(chunk), "content")
        part = self._grown(self._content, chunk, "a part", begins=begins)
        merge(part, piece)
        if chunk.get("logprobs") is not None:
            self._logprobs.append(chunk["logprobs"])
        text, thinking = piece.get("text"), piece.get("thinking")
        if part.get("type") == "text" and isinstance(text, str) and text:
            return [TextDelta(text)]
        if part.get("type") == "thinking" and isinstance(thinking, str) and thinking:
            return [ThinkingDelta(thinking)]
        return []

    def _add_call(self, chunk: dict[str, Any], *, begins: bool) -> list[StreamEvent]:
        piece = self._object(self._told(chunk), "tool_calls")
        function = self._object(piece, "function")
        call = self._grown(self._calls, chunk, "a call", begins=begins)
        merge(call, piece)
        call_id, name, arguments = piece.get("id"), function.get("name"), function.get("arguments")
        return [
            ToolCallDelta(
                index=list(self._calls).index(chunk["index"]),
                arguments=arguments if isinstance(arguments, str) else "",
                id=call_id if isinstance(call_id, str) else None,
                name=name if isinstance(name, str) else None,
            )
        ]

    def _end(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        delta = self._object(chunk, "delta")
        if delta.get("error"):
            said = Frame(json.dumps({"error": delta["error"]}))
            raise self._refused(said, certain=True) or self._malformed("ends with an error that says nothing")
        self._top |= without(chunk, "type", "delta") | delta
        return [self._finish()]

    def _told(self, chunk: Mapping[str, Any]) -> dict[str, Any]:
        """Return the piece of the message that an event brings."""
        return self._object(self._object(chunk, "delta"), "message")

    def _grown(
        self, held: dict[int, dict[str, Any]], chunk: Mapping[str, Any], what: str, *, begins: bool
    ) -> dict[str, Any]:
        """Return the entry of `held` that the event goes on with."""
        index = chunk.get("index")
        if not isinstance(index, int):
            raise self._malformed(f"sends {what} without a number")
        if index not in held and not begins:
            raise self._malformed(f"goes on with {what} that never began")
        return held.setdefault(index, {})
