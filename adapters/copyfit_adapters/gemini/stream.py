"""Read a streamed generateContent answer: bytes in, events out.

The chunks are put together into the very response that a whole answer would have been, and that is read by the
same code, so that both ways give the same output. The stream ends by closing; it is complete when a finish reason,
or a block reason, has come.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import TextPart, ThinkingPart, ToolCall
from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import SseFraming
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.gemini.chunks import Chunks
from copyfit_adapters.gemini.decode import REPLIES, SOMEONE, decode, read_reply
from copyfit_adapters.gemini.parts import read_part
from copyfit_adapters.overflow.refusal import Asked


class GeminiStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, SseFraming())
        self._chunks = Chunks()
        self._calls = 0

    def _complete(self) -> bool:
        return self._chunks.complete

    def _output(self) -> ModelOutput:
        return read_reply(self._chunks.whole(), self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        try:
            parts = self._chunks.add(chunk)
            return [event for part in parts if (event := self._event(part)) is not None]
        except UnreadableRequest as e:
            raise self._malformed(f"sends a chunk that cannot be read: {e.where} {e.reason}") from e

    def _event(self, part: Mapping[str, Any]) -> StreamEvent | None:
        match read_part(part, "$.candidates[0].content.parts"):
            case TextPart(text=text) if text:
                return TextDelta(text)
            case ThinkingPart(text=text) if text:
                return ThinkingDelta(text)
            case ToolCall() as call:
                self._calls += 1
                return ToolCallDelta(index=self._calls - 1, arguments=call.arguments, id=call.id, name=call.name)
        return None
