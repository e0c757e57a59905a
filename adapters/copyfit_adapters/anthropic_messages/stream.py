"""Read a streamed answer of the messages protocol: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output. Only a call's arguments keep the spelling of the stream.
"""

import json
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.model_output import ModelOutput, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.answers.framing import Framing, SseFraming
from copyfit_adapters.answers.stream import AnswerStream
from copyfit_adapters.anthropic_messages.decode import REPLIES, SOMEONE, decode, is_error, read_reply
from copyfit_adapters.codec.json_text import ExactJson, join_surrogates
from copyfit_adapters.codec.reading import without
from copyfit_adapters.overflow.refusal import Asked

_LISTED = {"citation": "citations"}
"""Fields of a delta that are one more entry of a list in the block."""


class MessagesStream(AnswerStream):
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors; `framing` how the events travel, if not as server-sent ones.
    """

    def __init__(self, asked: Asked = SOMEONE, framing: Framing | None = None) -> None:
        super().__init__(asked, REPLIES, framing or SseFraming())
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self._unknown: list[Any] = []

    def _complete(self) -> bool:
        return bool(self._message.get("stop_reason"))

    def _output(self) -> ModelOutput:
        content = [self._blocks[index].whole() for index in sorted(self._blocks)]
        unknown = {"events": self._unknown} if self._unknown else {}
        return read_reply(self._message | {"content": content} | unknown, self._asked)

    def _whole(self, body: bytes) -> ModelOutput:
        return decode(200, body, self._asked)

    def _is_error(self, chunk: Mapping[str, Any]) -> bool:
        # An event with a type of its own is none, for a delta need not have content.
        return is_error(chunk) if chunk.get("type", "error") == "error" else bool(chunk.get("error"))

    def _add(self, kind: str, chunk: dict[str, Any]) -> list[StreamEvent]:
        match chunk.get("type") or kind:
            case "message_start":
                self._message |= self._object(chunk, "message")
            case "content_block_start":
                return self._start(self._index(chunk), self._object(chunk, "content_block"))
            case "content_block_delta":
                block = self._blocks.get(self._index(chunk))
                if block is None:
                    raise self._malformed("goes on with a block that never began")
                return block.add(self._object(chunk, "delta"))
            case "message_delta":
                self._update(chunk)
            case "message_stop":
                # Bedrock adds its own measurements to it.
                self._message = without(chunk, "type") | self._message
                return [self._finish()]
            case "content_block_stop" | "ping":
                pass
            case _:
                self._unknown.append(chunk)
        return []

    def _start(self, index: int, fields: dict[str, Any]) -> list[StreamEvent]:
        calls = sum(block.is_call for block in self._blocks.values())
        block = _Block(fields, call=calls)
        self._blocks[index] = block
        return block.begin()

    def _update(self, chunk: Mapping[str, Any]) -> None:
        given = {name: value for name, value in chunk.items() if name not in ("type", "delta", "usage")}
        given |= self._object(chunk, "delta")
        self._message |= {name: value for name, value in given.items() if value is not None}
        usage, known = chunk.get("usage"), self._message.get("usage")
        if isinstance(usage, dict):
            counts = {name: value for name, value in usage.items() if value is not None}
            self._message["usage"] = (known if isinstance(known, dict) else {}) | counts

    def _index(self, chunk: Mapping[str, Any]) -> int:
        index = chunk.get("index")
        if not isinstance(index, int):
            raise self._malformed("sends a block without a number")
        return index


class _Block:
    """One content block that grows; `call` is its number among the calls if it is one."""

    def __init__(self, fields: dict[str, Any], *, call: int) -> None:
        self.is_call = fields.get("type") == "tool_use"
        self._fields = fields
        self._call = call
        self._pieces: dict[str, list[str]] = {}

    def begin(self) -> list[StreamEvent]:
        """Return the events of what the block began with."""
        if self.is_call:
            call_id, name = self._fields.get("id"), self._fields.get("name")
            return [
                ToolCallDelta(
                    index=self._call,
                    id=call_id if isinstance(call_id, str) else None,
                    name=name if isinstance(name, str) else None,
                )
            ]
        return self._told(self._fields)

    def add(self, delta: Mapping[str, Any]) -> list[StreamEvent]:
        """Go on with the block: texts grow, an entry of a list joins it, anything else is set."""
        for name, value in delta.items():
            if name == "type" or value is None:
                continue
            if isinstance(value, str):
                self._pieces.setdefault(name, []).append(value)
            elif name in _LISTED:
                held = self._fields.get(_LISTED[name])
                self._fields[_LISTED[name]] = [*(held if isinstance(held, list) else ()), value]
            else:
                self._fields[name] = value
        arguments = delta.get("partial_json")
        if self.is_call and isinstance(arguments, str):
            return [ToolCallDelta(index=self._call, arguments=arguments)]
        return self._told(delta)

    def whole(self) -> dict[str, Any]:
        """Return the block as a whole answer holds it."""
        fields = dict(self._fields)
        for name, pieces in self._pieces.items():
            text = "".join(pieces)
            if name == "partial_json":
                fields["input"] = ExactJson(text) if self.is_call else _parsed(text)
            else:
                begun = fields.get(name)
                fields[name] = join_surrogates((begun if isinstance(begun, str) else "") + text)
        if self.is_call and "input" not in fields:
            fields["input"] = {}
        return fields

    def _told(self, fields: Mapping[str, Any]) -> list[StreamEvent]:
        text, thinking = fields.get("text"), fields.get("thinking")
        if self._fields.get("type") == "text" and isinstance(text, str) and text:
            return [TextDelta(text)]
        if self._fields.get("type") == "thinking" and isinstance(thinking, str) and thinking:
            return [ThinkingDelta(thinking)]
        return []


def _parsed(text: str) -> Any:
    """Return the input of a tool that runs at the provider, or its text where the answer was cut in it."""
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
