"""Turns: in several protocols roles take turns, and results of calls stand in what the user says.

Neighbours under one role, such as the results of parallel calls and what the user says after them, become one wire
message; reading takes it apart again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolMessage, UserMessage, UserPart
from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.codec.reading import Reader
from copyfit_adapters.codec.writing import Writer

AROUND = "message"
"""In a tool message's extra: the fields of the wire message around its result, where its own are the result's."""

_STABLE = (Origin.CANONICAL, Origin.CHECKPOINT)


@dataclass(frozen=True, slots=True)
class Turn:
    """The JSON of one message's content under its wire `role`, and that of the fields `around` it, if any."""

    role: str
    content: bytes
    around: bytes = b""


def as_turns(turns: Iterable[Turn], field: str = "content") -> Iterator[bytes]:
    """Yield the pieces of the wire messages, whose content stands in `field`.

    Neighbours under one role are one, but for those with fields around them. A turn without content is left out.
    """
    role, end = "", b""
    for turn in turns:
        if not turn.content:
            continue
        if turn.role == role and not turn.around:
            yield b","
        else:
            yield end + (b"," if end else b"") + f'{{"role":"{turn.role}","{field}":['.encode()
        yield turn.content
        role = "" if turn.around else turn.role
        end = b"]," + turn.around[1:] if turn.around else b"]}"
    yield end


def around(message: Message, writer: Writer, where: str, field: str = "content") -> bytes:
    """Return the JSON of the fields that stand around the message's content, beside role and `field`.

    Raises:
        UnencodableInput: they would change the role or the content.

    """
    own = writer.own(message.extra)
    found = own.get(AROUND, {}) if isinstance(message, ToolMessage) else own
    if not isinstance(found, Mapping) or found.keys() & {"role", field}:
        raise writer.refused(where, "its extra would change the role or the content of the message")
    return writer.dumps(found, where) if found else b""


def read_turn(
    parts: Iterable[UserPart | ToolMessage], rest: Mapping[str, Any], reader: Reader
) -> list[UserMessage | AssistantMessage | ToolMessage]:
    """Return the messages in what the user says: its results, and what stands between them.

    The fields in `rest`, which are the wire message's own, go to the first of them.
    """
    read: list[UserMessage | AssistantMessage | ToolMessage] = []
    said: list[UserPart] = []
    for part in parts:
        if not isinstance(part, ToolMessage):
            said.append(part)
            continue
        if said:
            read.append(UserMessage(content=tuple(said)))
            said = []
        read.append(part)
    if said or not read:
        read.append(UserMessage(content=tuple(said)))
    if rest:
        first = read[0]
        own = dict(first.extra.get(reader.protocol, {}))
        added = own | {AROUND: dict(rest)} if isinstance(first, ToolMessage) else rest
        read[0] = first.model_copy(update={"extra": reader.extra(added)})
    return read


def last_stable(messages: Sequence[Message], written: Sequence[bytes]) -> int | None:
    """Return the place of the last message that says something before the first that lives for this turn alone."""
    last = None
    for index, message in enumerate(messages):
        if message.origin not in _STABLE:
            break
        if written[index]:
            last = index
    return last


def with_names(messages: Iterable[Message]) -> list[Message]:
    """Return `messages` with the name of its tool on every result whose call came before it.

    A result without a name gets a copy that has it, whose bytes depend on another message: it is not remembered.
    """
    given = list(messages)
    if not any(isinstance(message, ToolMessage) and message.name is None for message in given):
        return given
    names: dict[str, str] = {}
    kept: list[Message] = []
    for message in given:
        if isinstance(message, AssistantMessage):
            names |= {join_surrogates(call.id): call.name for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.name is None:
            name = names.get(join_surrogates(message.call_id))
            message = message if name is None else message.model_copy(update={"name": name})
        kept.append(message)
    return kept
