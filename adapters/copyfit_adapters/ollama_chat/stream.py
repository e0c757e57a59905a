"""Read a streamed answer of Ollama's chat: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output. A call always comes whole, in one piece.
"""

from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import LineFraming
from copyfit_adapters.answers.pieces import merge, settled
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.ollama_chat.decode import REPLIES, SOMEONE, completed, decode, read_reply
from copyfit_adapters.ollama_chat.messages import read_call
from copyfit_adapters.overflow.refusal import Asked


class OllamaStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, LineFraming())
        self._top: dict[str, Any] = {}
        self._lists: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._calls: list[Any] = []

    def _complete(self) -> bool:
        return self._top.get("done") is True

    def _output(self) -> ModelOutput:
        message = settled(self._message) | ({"tool_calls": self._calls} if self._calls else {})
        return read_reply(self._top | settled(self._lists) | {"message": message}, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        for name, value in chunk.items():
            if isinstance(value, list):
                merge(self._lists, {name: value})
            elif name != "message" and value is not None:
                self._top[name] = value
        events = self._add_message(chunk)
        return [*events, self._finish()] if self._complete() else events

    def _add_message(self, chunk: dict[str, Any]) -> list[StreamEvent]:
        piece = chunk.get("message")
        if piece is None:
            return []
        if not isinstance(piece, dict):
            raise self._malformed("sends a message that is no object")
        events: list[StreamEvent] = []
        thinking, text, calls = piece.get("thinking"), piece.get("content"), piece.get("tool_calls")
        if isinstance(thinking, str) and thinking:
            events.append(ThinkingDelta(thinking))
        if isinstance(text, str) and text:
            events.append(TextDelta(text))
        if isinstance(calls, list):
            events += [self._add_call(call, chunk) for call in calls]
        merge(self._message, {name: value for name, value in piece.items() if name != "tool_calls"})
        return events

    def _add_call(self, call: Any, chunk: dict[str, Any]) -> ToolCallDelta:
        """Keep a call under the id that is told now, before the answer is whole."""
        index = len(self._calls)
        whole = completed(call, index, chunk)
        read = read_call(whole)
        if read is None:
            raise self._malformed("sends a call that names no function")
        self._calls.append(whole)
        return ToolCallDelta(index=index, arguments=read.arguments, id=read.id, name=read.name)
