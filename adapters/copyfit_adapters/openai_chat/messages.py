"""Read chat completions messages, from requests and answers alike, into copyfit's shapes.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["openai-chat"]` under its own name, so that nothing is dropped in silence. A null stands for an absent
field.

- A role other than user, assistant and tool (a system or developer message in mid-conversation, the old function
  role) becomes a `UserMessage` whose extra `role` names it. Such a message can be compared, and is refused by
  `encode`: a role is never taken from `extra`.
- A content part of a type that has no shape (audio, refusal) becomes a `TextPart` whose extra holds the part.
- Tool calls that cannot be modelled (custom tools) stay in the message's extra as a whole; so does reasoning that
  is blank.
- No content, or an empty list, is an empty text, and an empty text beside reasoning alone is none.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import (
    AssistantMessage,
    AssistantPart,
    FilePart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit_adapters.codec.functions import pop_all, read_function_call
from copyfit_adapters.codec.reading import DATA_URL, Reader, pop_text, without
from copyfit_adapters.openai_chat.dialect import PROTOCOL, THINKING_FIELDS

ContentPart = TextPart | ImagePart | FilePart
Content = str | tuple[ContentPart, ...]

_READER = Reader(PROTOCOL)


def read_message(message: Any, where: str) -> UserMessage | AssistantMessage | ToolMessage:
    """Return the shape of one wire `message`; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is neither text nor parts.

    """
    fields = _READER.object(message, where)
    role = _READER.text(fields.get("role"), f"{where}.role")
    if role == "assistant":
        return read_assistant(fields, where)
    content = _read_content(fields.get("content"), f"{where}.content") or ""
    rest = without(fields, "role", "content")
    if role == "tool":
        call_id = _READER.text(rest.pop("tool_call_id", None), f"{where}.tool_call_id")
        return ToolMessage(
            call_id=call_id, content=content, name=pop_text(rest, "name"), extra=_READER.extra(rest)
        )
    name = pop_text(rest, "name")
    marker = {} if role == "user" else {"role": role}
    return UserMessage(content=content, name=name, extra=_READER.extra(marker | rest))


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer.

    The parts come in the order of the wire: reasoning, text, calls.

    Raises:
        UnreadableRequest: the content is neither text nor parts.

    """
    content = _read_content(fields.get("content"), f"{where}.content")
    rest = without(fields, "role", "content")
    name = pop_text(rest, "name")
    thinking = _pop_thinking(rest)
    calls = pop_all(rest, "tool_calls", read_call)
    if thinking or calls:
        said = (TextPart(text=content),) if isinstance(content, str) else content
        if content == "" and not calls:
            said = ()
        parts: tuple[AssistantPart, ...] = (*thinking, *said, *calls)
        return AssistantMessage(content=parts, name=name, extra=_READER.extra(rest))
    return AssistantMessage(content=content or "", name=name, extra=_READER.extra(rest))


def read_part(part: Any, where: str) -> ContentPart:
    """Return the shape of one content part of a message.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    fields = _READER.object(part, where)
    kind = _READER.text(fields.get("type"), f"{where}.type")
    text = fields.get("text")
    if kind == "text" and isinstance(text, str):
        return TextPart(text=text, extra=_READER.extra(without(fields, "type", "text")))
    modelled = _read_image(fields) if kind == "image_url" else _read_file(fields) if kind == "file" else None
    if modelled is not None:
        return modelled
    if isinstance(text, str):
        return TextPart(text=text, extra=_READER.extra(without(fields, "text")))
    return TextPart(text="", extra=_READER.extra(fields))


def read_call(call: Any) -> ToolCall | None:
    """Return the shape of one entry of `tool_calls`, or None when it is not a complete call of a function."""
    return read_function_call(call, _READER)


def _read_content(content: Any, where: str) -> Content:
    if isinstance(content, str):
        return content
    parts = _READER.list([] if content is None else content, where)
    return tuple(read_part(part, f"{where}[{index}]") for index, part in enumerate(parts))


def _read_image(fields: dict[str, Any]) -> ImagePart | None:
    image = fields["image_url"] if isinstance(fields.get("image_url"), dict) else {}
    url, detail = image.get("url"), image.get("detail")
    if not isinstance(url, str) or not isinstance(detail, str | None):
        return None
    extra = _READER.extra(without(fields, "type", "image_url"), image_url=without(image, "url", "detail"))
    inline = DATA_URL.fullmatch(url)
    if inline:
        return ImagePart(media_type=inline[1], data=inline[2], detail=detail, extra=extra)
    return ImagePart(url=url, detail=detail, extra=extra)


def _read_file(fields: dict[str, Any]) -> FilePart | None:
    file = fields["file"] if isinstance(fields.get("file"), dict) else {}
    file_id, data, filename = (file.get(name) for name in ("file_id", "file_data", "filename"))
    named = {name: value for name, value in (("file_id", file_id), ("filename", filename)) if value is not None}
    if data is None and file_id is None:
        return None
    if not all(isinstance(value, str) for value in (*named.values(), data or "")):
        return None
    inner = without(file, "file_id", "file_data", "filename")
    extra = _READER.extra(without(fields, "type", "file"), file=inner)
    if data is None:
        return FilePart(**named, extra=extra)
    inline = DATA_URL.fullmatch(data)
    if inline:
        return FilePart(**named, media_type=inline[1], data=inline[2], extra=extra)
    return FilePart(**named, url=data, extra=extra) if ":" in data else FilePart(**named, data=data, extra=extra)


def _pop_thinking(rest: dict[str, Any]) -> tuple[ThinkingPart, ...]:
    found: tuple[ThinkingPart, ...] = ()
    for field in THINKING_FIELDS:
        value = rest.get(field)
        if value is None:
            rest.pop(field, None)
        elif isinstance(value, str) and value.strip() and not found:
            opaque = {} if field == THINKING_FIELDS[0] else {"field": field}
            found = (ThinkingPart(text=rest.pop(field), provider=PROTOCOL, opaque=opaque),)
    return found
