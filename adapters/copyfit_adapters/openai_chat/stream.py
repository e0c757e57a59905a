"""Read a streamed chat completions answer: bytes in, events out.

The pieces are put together into the very object that a whole answer would have been, and that object is read by
the same code, so that both ways give the same output.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from copyfit.errors import MalformedReply, ProviderError, StreamBroken
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta, ThinkingDelta, ToolCallDelta
from copyfit_adapters.codec import join_surrogates
from copyfit_adapters.errors import OversizedEvent
from copyfit_adapters.openai_chat.decode import SOMEONE, decode, is_error, read_reply
from copyfit_adapters.openai_chat.dialect import THINKING_FIELDS
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_adapters.overflow.refusal import Asked, refusal
from copyfit_adapters.sse import MAX_EVENT_BYTES, SseEvent, SseParser

_STREAM_BEGINS = (b"data", b"event", b"id", b"retry", b":", b"\xef\xbb\xbf")
"""How the bytes of an event stream begin; anything else is an answer that is no stream after all."""
_ONCE = frozenset({"id", "type", "role", "index", "format", "name"})
"""Fields of a piece that name something: a later piece repeats them instead of going on with them."""


class ChatStream:
    """Decodes one streamed answer; feed it bytes cut anywhere, then close it.

    `asked` says who was asked, for errors.
    """

    def __init__(self, asked: Asked = SOMEONE) -> None:
        self._asked = asked
        self._sse = SseParser()
        self._head = bytearray()
        self._began = False
        self._finished = False
        self._top: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
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
            ProviderError: it says another error, or what it sends is no chat completion.

        """
        if not self._began and len(self._head) < MAX_EVENT_BYTES:
            self._head += data
        try:
            arrived = self._sse.feed(data)
        except OversizedEvent as e:
            raise self._malformed("sends an event without end") from e
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
        if whole and not whole.startswith(_STREAM_BEGINS):
            self._finished = True
            yield Finished(decode(200, whole, self._asked))
        elif any(choice.get("finish_reason") for choice in self._choices.values()):
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
        if self._finished:
            return []
        if event.data.strip() == "[DONE]":
            return [self._finish()]
        if not event.data.strip():
            return []
        try:
            chunk = json.loads(event.data)
        except (ValueError, RecursionError) as e:
            refused = self._refused(event, certain=event.type == "error")
            raise refused or self._malformed("sends an event that is not JSON") from e
        if event.type == "error" or isinstance(chunk, list) or (isinstance(chunk, dict) and is_error(chunk)):
            raise self._refused(event, certain=True) or self._malformed("sends an error that says nothing")
        if not isinstance(chunk, dict):
            raise self._malformed("sends an event that is no object")
        events = self._add(chunk)
        self._arrived += [event.text for event in events if isinstance(event, TextDelta)]
        return events

    def _add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
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
            delta = entry.get("delta")
            if isinstance(delta, dict):
                given = self._add_delta(choice["message"], delta)
                events += given if index == 0 else []
            rest = {name: value for name, value in entry.items() if name not in ("index", "delta")}
            _merge(choice, {"logprobs": rest.pop("logprobs", None)})
            choice |= {name: value for name, value in rest.items() if value is not None}
        return events

    def _add_delta(self, message: dict[str, Any], delta: Mapping[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        thinking = next((delta[name] for name in THINKING_FIELDS if isinstance(delta.get(name), str)), "")
        if thinking:
            events.append(ThinkingDelta(thinking))
        text = delta.get("content")
        if isinstance(text, str) and text:
            events.append(TextDelta(text))
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            held = message.setdefault("tool_calls", [])
            events += [self._add_call(held, piece) for piece in calls]
        _merge(message, {name: value for name, value in delta.items() if name != "tool_calls"})
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
        _merge(call, {key: value for key, value in piece.items() if key not in ("index", "function")})
        inner = {key: value for key, value in (function or {}).items() if key != "name"}
        _merge(call["function"], inner)
        if isinstance(name, str) and name != first_name:
            call["function"]["name"] = (first_name or "") + name
        arguments = inner.get("arguments")
        return ToolCallDelta(
            index=next(place for place, entry in enumerate(calls) if entry is call),
            arguments=arguments if isinstance(arguments, str) else "",
            id=call_id,
            name=name,
        )

    def _finish(self) -> Finished:
        self._finished = True
        choices = [_settled(self._choices[index]) for index in sorted(self._choices)]
        return Finished(read_reply({**self._top, "choices": choices}, self._asked))

    def _refused(self, event: SseEvent, *, certain: bool) -> ProviderError | None:
        """Return the error that `event` stands for; unless it is `certain` to be one, it has to be an overflow."""
        evidence = lift(None, event.data, in_stream=True)
        verdict = judge(evidence)
        if not evidence.message or not (certain or verdict.is_context_overflow):
            return None
        return refusal(evidence, self._asked, verdict=verdict)

    def _malformed(self, reason: str) -> MalformedReply:
        return MalformedReply(
            f"The stream of {self._asked.provider} {reason}; check that the base URL leads to a chat completions "
            "endpoint.",
            provider=self._asked.provider,
            model=self._asked.model,
        )


class _Pieces(list[Any]):
    """The pieces of one text, joined when all have come, so that a long answer costs no more for each piece."""


def _merge(held: dict[str, Any], piece: Mapping[str, Any]) -> None:
    """Go on with `held` where `piece` goes on: texts and lists grow, objects merge, anything else is replaced.

    List entries that carry an index merge with the entry of that index.
    """
    for name, value in piece.items():
        old = held.get(name)
        if isinstance(value, str) and name not in _ONCE:
            pieces = old if isinstance(old, _Pieces) else _Pieces(old if isinstance(old, list) else [old or ""])
            pieces.append(value)
            held[name] = pieces
        elif isinstance(value, dict):
            held[name] = old if isinstance(old, dict) else {}
            _merge(held[name], value)
        elif isinstance(value, list):
            held[name] = old if isinstance(old, list) else []
            _grow(held[name], value)
        elif value is not None or old is None:
            held[name] = value


def _grow(held: list[Any], pieces: list[Any]) -> None:
    for piece in pieces:
        index = piece.get("index") if isinstance(piece, dict) else None
        same = [entry for entry in held if isinstance(entry, dict) and entry.get("index") == index]
        if index is not None and same:
            _merge(same[-1], piece)
        else:
            held.append(piece)


def _settled(value: Any) -> Any:
    """Return `value` with its texts joined; a text that stands among other things becomes a text part."""
    if isinstance(value, dict):
        return {name: _settled(entry) for name, entry in value.items()}
    if not isinstance(value, list):
        return value
    if not isinstance(value, _Pieces):
        return [_settled(entry) for entry in value]
    if all(isinstance(piece, str) for piece in value):
        return join_surrogates("".join(value))
    runs = ((kind, list(run)) for kind, run in groupby(value, key=lambda piece: isinstance(piece, str)))
    parts = [[{"type": "text", "text": "".join(run)}] if texts else run for texts, run in runs]
    return [part for run in parts for part in run if part != {"type": "text", "text": ""}]
