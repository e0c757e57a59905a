"""Read a streamed answer of the messages protocol: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output. Only a call's arguments keep the spelling of the stream.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from copyfit.errors import MalformedReply, ProviderError, StreamBroken
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.anthropic_messages.arguments import ExactJson
from copyfit_adapters.anthropic_messages.decode import SOMEONE, decode, is_error, malformed, read_reply
from copyfit_adapters.codec import join_surrogates
from copyfit_adapters.errors import OversizedEvent
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked, refusal
from copyfit_adapters.sse import MAX_EVENT_BYTES, SseEvent, SseParser

_STREAM_BEGINS = (b"data", b"event", b"id", b"retry", b":", b"\xef\xbb\xbf")
"""How the bytes of an event stream begin; anything else is an answer that is no stream after all."""
_LISTED = {"citation": "citations"}
"""Fields of a delta that are one more entry of a list in the block."""


class MessagesStream:
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        self._asked = asked
        self._sse = SseParser()
        self._head = bytearray()
        self._began = False
        self._finished = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self._unknown: list[Any] = []
        self._arrived: list[str] = []

    @property
    def arrived(self) -> str:
        """The answer's text that has come so far."""
        return "".join(self._arrived)

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """Take the next bytes and yield the events that they complete, in order.

        Iterate it to the end: what came before an error is given out before the error is raised.

        Raises:
            ContextOverflow: the server says in mid-stream that the context is full.
            ProviderError: it says another error, or what it sends is no message.

        """
        if not self._began and len(self._head) < MAX_EVENT_BYTES:
            self._head += data
        try:
            arrived = self._sse.feed(data)
        except OversizedEvent as e:
            raise malformed("sends an event without end", self._asked) from e
        for piece in arrived:
            yield from self._take(piece)

    def close(self) -> Iterator[StreamEvent]:
        """Yield the last events when the stream has ended, `Finished` among them if it was not given out before.

        Raises:
            StreamBroken: the stream ended before the answer did.
            ContextOverflow: what came was an error instead of a stream, and says that the input is too long.
            ProviderError: as `feed`.

        """
        for piece in self._sse.close():
            try:
                yield from self._take(piece)
            except MalformedReply as e:
                raise self.broken() from e
        if self._finished:
            return
        whole = bytes(self._head).strip()
        if whole and not _begins_a_stream(whole):
            self._finished = True
            yield Finished(decode(200, whole, self._asked))
        elif self._message.get("stop_reason"):
            yield self._finish()
        else:
            raise self.broken()

    def broken(self) -> StreamBroken:
        """Return the error for a stream that ended here."""
        return StreamBroken(
            f"The stream of {self._asked.provider} broke off in the answer, after {len(self.arrived)} characters; "
            "send the request again.",
            arrived=self.arrived,
            provider=self._asked.provider,
            model=self._asked.model,
            retryable=True,
        )

    def _take(self, event: SseEvent) -> list[StreamEvent]:
        self._began = True
        self._head.clear()
        if self._finished or not event.data.strip() or event.data.strip() == "[DONE]":
            return []
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError) as e:
            refused = self._refused(event, certain=event.type == "error")
            raise refused or malformed("sends an event that is not JSON", self._asked) from e
        if event.type == "error" or isinstance(chunk, list) or (isinstance(chunk, dict) and _is_error(chunk)):
            raise self._refused(event, certain=True) or malformed("sends an error that says nothing", self._asked)
        if not isinstance(chunk, dict):
            raise malformed("sends an event that is no object", self._asked)
        events = self._add(chunk.get("type") or event.type, chunk)
        self._arrived += [event.text for event in events if isinstance(event, TextDelta)]
        return events

    def _add(self, kind: Any, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        match kind:
            case "message_start":
                self._message |= self._object(chunk, "message")
            case "content_block_start":
                return self._start(self._index(chunk), self._object(chunk, "content_block"))
            case "content_block_delta":
                block = self._blocks.get(self._index(chunk))
                if block is None:
                    raise malformed("goes on with a block that never began", self._asked)
                return block.add(self._object(chunk, "delta"))
            case "message_delta":
                self._update(chunk)
            case "message_stop":
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

    def _finish(self) -> Finished:
        self._finished = True
        content = [self._blocks[index].whole() for index in sorted(self._blocks)]
        unknown = {"events": self._unknown} if self._unknown else {}
        return Finished(read_reply(self._message | {"content": content} | unknown, self._asked))

    def _index(self, chunk: Mapping[str, Any]) -> int:
        index = chunk.get("index")
        if not isinstance(index, int):
            raise malformed("sends a block without a number", self._asked)
        return index

    def _object(self, chunk: Mapping[str, Any], name: str) -> dict[str, Any]:
        value = chunk.get(name)
        if not isinstance(value, dict):
            raise malformed(f"sends an event without its {name}", self._asked)
        return value

    def _refused(self, event: SseEvent, *, certain: bool) -> ProviderError | None:
        """Return the error that `event` stands for; unless it is `certain` to be one, it has to be an overflow."""
        evidence = lift(None, event.data, in_stream=True)
        verdict = judge(evidence)
        if not evidence.message or not (certain or verdict.is_context_overflow):
            return None
        return refusal(evidence, self._asked, verdict=verdict)


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


def _begins_a_stream(head: bytes) -> bool:
    """Whether `head`, which may be less than a word, is the beginning of an event stream."""
    return any(head.startswith(word) or word.startswith(head) for word in _STREAM_BEGINS)


def _is_error(chunk: Mapping[str, Any]) -> bool:
    """Whether an event is an error: one with a type of its own is not, for a delta need not have content."""
    return is_error(chunk) if "type" not in chunk or chunk["type"] == "error" else bool(chunk.get("error"))


def _parsed(text: str) -> Any:
    """Return the input of a tool that runs at the provider, or its text where the answer was cut in it."""
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
