"""Read the items of the protocol, from requests and answers alike, into copyfit's messages.

What an assistant said is a row of items: reasoning, messages, calls, and those of tools that run at the provider.
Such a row is one `AssistantMessage`, and its items go back in the same order. The fields of an item ride with the
part that it became: a call's and a reasoning's own with it, a message's under `ITEM` in the extra of its first
part; a message's further parts say that they go on with it (`CONTINUES`). An item of a type that has no shape
becomes a `TextPart` in the row whose extra holds the item.

A message of any other role than user and assistant becomes a `UserMessage` whose extra `role` names it; it can be
compared, and is refused by `encode`: a role is never taken from `extra`. Only the system messages before all other
items have a place of their own (see `split_system`).
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from copyfit.shapes.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.openai_responses.content import READER, carried, lone_text, read_content, read_part
from copyfit_adapters.openai_responses.dialect import CONTINUES, ITEM, PROTOCOL

AssistantParts = tuple[AssistantPart, ...]

_SYSTEM_ROLES = ("system", "developer")
_REASONING = ("summary", "content", "encrypted_content")
"""The fields of a reasoning item in which a null stands for an absent field."""


def read_items(items: Sequence[Any], where: str, *, first: int = 0) -> tuple[Message, ...]:
    """Return the messages in `items`, whose first has the number `first` in the list at `where`.

    Raises:
        UnreadableRequest: one of them is no item.

    """
    messages: list[Message] = []
    said: list[AssistantPart] = []
    for index, item in enumerate(items, start=first):
        read = read_item(item, f"{where}[{index}]")
        if isinstance(read, tuple):
            said += read
            continue
        if said:
            messages.append(as_message(said))
            said = []
        messages.append(read)
    return (*messages, as_message(said)) if said else tuple(messages)


def as_message(said: Sequence[AssistantPart]) -> AssistantMessage:
    """Return the message of an assistant who said what the parts say, if it was anything."""
    parts = tuple(said)
    text = lone_text(parts) if parts else ""
    return AssistantMessage(content=parts if text is None else text)


def read_item(item: Any, where: str) -> UserMessage | ToolMessage | AssistantParts:
    """Return the shape of one item; `where` is its JSON path, for errors. What an assistant said are parts.

    Raises:
        UnreadableRequest: it is not an object with a type or a role, or its content is neither text nor parts.

    """
    fields = READER.object(item, where)
    kind = _kind(fields, where)
    read: AssistantPart | None = None
    match kind:
        case "message":
            return _read_message(fields, where)
        case "function_call_output":
            result = _read_result(fields, where)
            if result is not None:
                return result
        case "function_call":
            read = read_call(fields)
        case "reasoning":
            read = read_reasoning(fields)
    return (carried({**fields, "type": kind}) if read is None else read,)


def read_call(fields: Mapping[str, Any]) -> ToolCall | None:
    """Return the shape of a call, or None when it is not complete."""
    call_id, name, arguments = (fields.get(key) for key in ("call_id", "name", "arguments"))
    if not (isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str)):
        return None
    rest = without(fields, "type", "call_id", "name", "arguments")
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=READER.extra(rest))


def read_reasoning(fields: Mapping[str, Any]) -> ThinkingPart:
    """Return the shape of a reasoning item.

    Encrypted content is the signature. A summary of one text is the text; any other summary or content stays as it
    is, and the text repeats what it says.
    """
    rest = {name: value for name, value in fields.items() if name not in _REASONING or value is not None}
    signature = rest.pop("encrypted_content") if isinstance(rest.get("encrypted_content"), str) else None
    del rest["type"]
    text = ""
    match rest:
        case {"content": _}:
            text = _joined(rest["content"]) or _joined(rest.get("summary"))
        case {"summary": []}:
            del rest["summary"]
        case {"summary": [{"type": "summary_text", "text": str(text), **more}]} if text and not more:
            del rest["summary"]
        case {"summary": summary}:
            text = _joined(summary)
    return ThinkingPart(text=text, signature=signature, provider=PROTOCOL, opaque=rest)


def split_system(items: Sequence[Any], *, instructed: bool) -> tuple[str, list[Any]]:
    """Return the system text in `items`, and the system messages before all others that are more than a text.

    One plain text is the system text, unless the request is `instructed` elsewhere; of several messages, or of one
    with fields of its own, none is.
    """
    leading = list(takewhile(_is_system, items))
    text = _system_text(leading[0]) if len(leading) == 1 and not instructed else None
    return (text, []) if text else ("", leading)


def _kind(fields: Mapping[str, Any], where: str) -> str:
    kind = fields.get("type")
    if kind is None:
        kind = "message" if "role" in fields else "item_reference" if "id" in fields else None
    if not isinstance(kind, str):
        raise UnreadableRequest(PROTOCOL, f"{where}.type", "is not text")
    return kind


def _is_system(item: Any) -> bool:
    if not isinstance(item, Mapping) or item.get("type") not in (None, "message"):
        return False
    return item.get("role") in _SYSTEM_ROLES


def _system_text(item: Mapping[str, Any]) -> str | None:
    if not item.keys() <= {"type", "role", "content"}:
        return None
    match item.get("content"):
        case str(text):
            return text
        case [{"type": "input_text", "text": str(text), **more}] if not more:
            return text
    return None


def _read_message(fields: dict[str, Any], where: str) -> UserMessage | AssistantParts:
    role, content = READER.text(fields.get("role"), f"{where}.role"), fields.get("content")
    rest = without(fields, "type", "role", "content")
    if role != "assistant":
        marker = {} if role == "user" else {"role": role}
        return UserMessage(content=read_content(content, f"{where}.content"), extra=READER.extra(marker | rest))
    if isinstance(content, str):
        return (TextPart(text=content, extra=READER.extra({ITEM: rest} if rest else {})),)
    if not content:
        return (carried({**fields, "type": "message"}),)
    parts: list[AssistantPart] = []
    for index, entry in enumerate(READER.list(content, f"{where}.content")):
        part = read_part(entry, f"{where}.content[{index}]", "output_text")
        own = dict(part.extra.get(PROTOCOL, {}))
        if index:
            own[CONTINUES] = True
        elif rest or "type" in own:
            own[ITEM] = rest
        parts.append(part.model_copy(update={"extra": READER.extra(own)}))
    return tuple(parts)


def _read_result(fields: dict[str, Any], where: str) -> ToolMessage | None:
    call_id, output, name = fields.get("call_id"), fields.get("output"), fields.get("name")
    if not (isinstance(call_id, str) and isinstance(output, str | list) and isinstance(name, str | None)):
        return None
    return ToolMessage(
        call_id=call_id,
        content=read_content(output, f"{where}.output"),
        name=name,
        extra=READER.extra(without(fields, "type", "call_id", "output", "name")),
    )


def _joined(entries: Any) -> str:
    listed = entries if isinstance(entries, list) else []
    found = (entry.get("text") for entry in listed if isinstance(entry, Mapping))
    return "\n\n".join(text for text in found if isinstance(text, str))
