"""Read a streamed answer of the Converse protocol: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output. Only a call's arguments keep the spelling of the stream.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import AwsFraming
from copyfit_adapters.answers.pieces import merge, settled
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.bedrock_converse.decode import REPLIES, SOMEONE, decode, read_reply
from copyfit_adapters.codec.json_text import ExactJson, join_surrogates, loads
from copyfit_adapters.codec.reading import without
from copyfit_adapters.overflow.refusal import Asked

ACCEPTED = "application/vnd.amazon.eventstream"
"""The media type of a streamed answer."""

_PADDING = "p"
"""A field of every event whose only use is to hide how long the others are."""

_REASONING: Mapping[str, str] = MappingProxyType(
    {"reasoning": "text", "signature": "signature", "hidden reasoning": "redactedContent"}
)
"""Where the pieces of each field of reasoning are kept."""


class ConverseStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        super().__init__(asked, REPLIES, AwsFraming())
        self._reply: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self._unknown: list[Any] = []

    def _complete(self) -> bool:
        return bool(self._reply.get("stopReason"))

    def _output(self) -> ModelOutput:
        content = [block for index in sorted(self._blocks) for block in self._blocks[index].whole()]
        message = self._message | {"content": content}
        unknown = {"events": self._unknown} if self._unknown else {}
        return read_reply(self._reply | {"output": {"message": message}} | unknown, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        fields = {name: value for name, value in chunk.items() if name != _PADDING and value is not None}
        match kind:
            case "messageStart":
                self._message |= fields
            case "contentBlockStart":
                return self._block(fields).begin(self._object(fields, "start"))
            case "contentBlockDelta":
                return self._block(fields).add(self._object(fields, "delta"))
            case "messageStop":
                self._reply |= fields
            case "metadata":
                self._reply |= fields
                return [self._finish()]
            case "contentBlockStop":
                pass
            case _:
                self._unknown.append({kind: fields})
        return []

    def _block(self, chunk: Mapping[str, Any]) -> "_Block":
        """Return the block that `chunk` goes on with; a text has no event of its own for its beginning."""
        index = chunk.get("contentBlockIndex")
        if not isinstance(index, int):
            raise self._malformed("sends a block without a number")
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block(call=sum(other.is_call for other in self._blocks.values()))
        return block


class _Block:
    """One content block that grows; `call` is its number among the calls if it is one."""

    def __init__(self, *, call: int) -> None:
        self.is_call = False
        self._call = call
        self._begun: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._lists: dict[str, list[Any]] = {}
        self._other: dict[str, Any] = {}

    def begin(self, start: Mapping[str, Any]) -> list[StreamEvent]:
        """Keep what the block begins with, and return its events."""
        self._begun |= start
        call = start.get("toolUse")
        if not isinstance(call, dict) or "type" in call:
            return []
        self.is_call = True
        call_id, name = call.get("toolUseId"), call.get("name")
        return [
            ToolCallDelta(
                index=self._call,
                id=call_id if isinstance(call_id, str) else None,
                name=name if isinstance(name, str) else None,
            )
        ]

    def add(self, delta: Mapping[str, Any]) -> list[StreamEvent]:
        """Go on with the block, and return the events of the piece."""
        events: list[StreamEvent] = []
        for name, value in delta.items():
            match name, value:
                case "text", str():
                    self._grow("text", value)
                    events += [TextDelta(value)] if value else []
                case "toolUse", {"input": str(piece)}:
                    self._begun.setdefault("toolUse", {})
                    self._grow("input", piece)
                    events += [ToolCallDelta(index=self._call, arguments=piece)] if self.is_call else []
                case "reasoningContent", dict():
                    events += self._reason(value)
                case "citation", dict():
                    self._lists.setdefault("citations", []).append(value)
                case "toolResult", list():
                    self._begun.setdefault("toolResult", {})
                    self._lists.setdefault("results", []).extend(value)
                case "image", {"source": {"bytes": str(piece)}}:
                    self._begun.setdefault("image", {})
                    self._grow("bytes", piece)
                case _ if value is not None:
                    merge(self._other, {name: value})
        return events

    def whole(self) -> list[dict[str, Any]]:
        """Return the block as a whole answer holds it; nothing where nothing came."""
        blocks: list[dict[str, Any]] = []
        if "citations" in self._lists:
            content = [{"text": self._joined("text")}]
            blocks.append({"citationsContent": {"content": content, "citations": self._lists["citations"]}})
        elif "text" in self._texts:
            blocks.append({"text": self._joined("text")})
        if self._texts.keys() & _REASONING:
            blocks.append({"reasoningContent": self._reasoning()})
        for name in dict.fromkeys([*self._begun, *self._other]):
            ended, other = self._ended(name, self._begun.get(name)), settled(self._other.get(name))
            blocks.append({name: ended if other is None else _joint(ended, other)})
        return blocks

    def _grow(self, name: str, piece: str) -> None:
        self._texts.setdefault(name, []).append(piece)

    def _joined(self, name: str) -> str:
        return join_surrogates("".join(self._texts.get(name, ())))

    def _reason(self, piece: Mapping[str, Any]) -> list[StreamEvent]:
        for place, name in _REASONING.items():
            if isinstance(piece.get(name), str):
                self._grow(place, piece[name])
        rest = without(piece, *_REASONING.values())
        merge(self._other, {"reasoningContent": rest} if rest else {})
        text = piece.get("text")
        return [ThinkingDelta(text)] if isinstance(text, str) and text else []

    def _reasoning(self) -> dict[str, Any]:
        said = {
            name: self._joined(place)
            for place, name in _REASONING.items()
            if place in self._texts and name != "redactedContent"
        }
        inner: dict[str, Any] = {"reasoningText": {"text": ""} | said} if said else {}
        hidden = self._texts.get("hidden reasoning")
        return inner if hidden is None else inner | {"redactedContent": _joined_data(hidden)}

    def _ended(self, name: str, begun: Any) -> Any:
        """Return what began under `name`, with what came to it."""
        if not isinstance(begun, dict):
            return begun
        match name:
            case "toolUse":
                text = "".join(self._texts.get("input", ()))
                return begun | {"input": ExactJson(text) if self.is_call else _parsed(text)}
            case "toolResult":
                return begun | {"content": self._lists.get("results", [])}
            case "image" if "bytes" in self._texts:
                return begun | {"source": {"bytes": _joined_data(self._texts["bytes"])}}
        return begun


def _joint(begun: Any, other: Any) -> Any:
    return begun | other if isinstance(begun, dict) and isinstance(other, dict) else other


def _joined_data(pieces: list[str]) -> str:
    """Return the base64 text of all `pieces`, each of which is one of its own."""
    try:
        return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
    except (binascii.Error, ValueError):
        return "".join(pieces)


def _parsed(text: str) -> Any:
    """Return the input of a tool that runs at the provider, or its text where the answer was cut in it."""
    try:
        return loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
