"""Read content blocks, from requests and answers alike, into copyfit's parts.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["anthropic-messages"]` (in `opaque` for thinking) under its own name. A block of a type that has no
shape (a server tool's, a search result, an image by file id) becomes a `TextPart` whose extra holds the block.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, TextPart, ThinkingPart, ToolCall, ToolMessage
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import DATA_URL, Reader, without

ContentPart = TextPart | ImagePart | FilePart
Block = ContentPart | ThinkingPart | ToolCall | ToolMessage

READER = Reader(PROTOCOL)


def read_block(block: Any, where: str) -> Block:
    """Return the shape of one content block; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    fields = READER.object(block, where)
    kind = READER.text(fields.get("type"), f"{where}.type")
    read: Block | None = None
    match kind:
        case "text" if isinstance(fields.get("text"), str):
            read = TextPart(text=fields["text"], extra=READER.extra(without(fields, "type", "text")))
        case "image":
            read = _read_image(fields)
        case "document":
            read = _read_document(fields)
        case "thinking" | "redacted_thinking":
            read = _read_thinking(fields)
        case "tool_use":
            read = _read_call(fields)
        case "tool_result":
            read = _read_result(fields, where)
    return carried(fields) if read is None else read


def read_content(content: Any, where: str) -> str | tuple[ContentPart, ...]:
    """Return the content of a user or of a tool result; blocks that have no place there are carried whole.

    Raises:
        UnreadableRequest: it is neither text nor a list of blocks.

    """
    if isinstance(content, str):
        return content
    parts: list[ContentPart] = []
    for index, block in enumerate(as_list(content, where)):
        read = read_block(block, f"{where}[{index}]")
        parts.append(read if isinstance(read, ContentPart) else carried(block))
    return tuple(parts)


def carried(fields: Mapping[str, Any]) -> TextPart:
    """Return the text part whose extra holds a block that has no shape."""
    if fields["type"] != "text" and fields.get("text") and isinstance(fields["text"], str):
        return TextPart(text=fields["text"], extra=READER.extra(without(fields, "text")))
    return TextPart(text="", extra=READER.extra(fields))


def as_list(value: Any, where: str) -> list[Any]:
    """Return `value` if it is a list; a null is an empty one.

    Raises:
        UnreadableRequest: it is something else.

    """
    if value is None:
        return []
    return READER.list(value, where)


def _read_image(fields: dict[str, Any]) -> ImagePart | None:
    extra = READER.extra(without(fields, "type", "source"))
    match _source(fields):
        case ("base64", {"media_type": str(media_type), "data": str(data)}, 2):
            return ImagePart(media_type=media_type, data=data, extra=extra)
        case ("url", {"url": str(url)}, 1) if not DATA_URL.fullmatch(url):
            return ImagePart(url=url, extra=extra)
    return None


def _read_document(fields: dict[str, Any]) -> FilePart | None:
    title = fields.get("title")
    if not isinstance(title, str | None):
        return None
    given: dict[str, Any]
    match _source(fields):
        case ("base64", {"media_type": str(media_type), "data": str(data)}, 2):
            given = {"media_type": media_type, "data": data}
        case ("text", {"media_type": "text/plain", "data": str(text)}, 2) if not _SURROGATE.search(text):
            given = {"media_type": "text/plain", "data": b64encode(text.encode()).decode()}
        case ("url", {"url": str(url)}, 1) if not DATA_URL.fullmatch(url):
            given = {"url": url}
        case ("file", {"file_id": str(file_id)}, 1):
            given = {"file_id": file_id}
        case _:
            return None
    return FilePart(**given, filename=title, extra=READER.extra(without(fields, "type", "source", "title")))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _source(fields: dict[str, Any]) -> tuple[Any, dict[str, Any], int]:
    source = fields.get("source")
    if not isinstance(source, dict):
        return None, {}, 0
    rest = without(source, "type")
    return source.get("type"), rest, len(rest)


def _read_thinking(fields: dict[str, Any]) -> ThinkingPart | None:
    text, signature = fields.get("thinking"), fields.get("signature")
    if fields["type"] == "redacted_thinking":
        return ThinkingPart(provider=PROTOCOL, opaque=fields)
    if not isinstance(text, str) or not isinstance(signature, str | None):
        return None
    rest = without(fields, "type", "thinking", "signature")
    return ThinkingPart(text=text, signature=signature, provider=PROTOCOL, opaque=rest)


def _read_call(fields: dict[str, Any]) -> ToolCall | None:
    call_id, name, arguments = fields.get("id"), fields.get("name"), as_arguments(fields.get("input"))
    if not (isinstance(call_id, str) and isinstance(name, str) and arguments is not None):
        return None
    rest = without(fields, "type", "id", "name", "input")
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=READER.extra(rest))


def _read_result(fields: dict[str, Any], where: str) -> ToolMessage | None:
    call_id, is_error = fields.get("tool_use_id"), fields.get("is_error")
    if not isinstance(call_id, str) or not isinstance(is_error, bool | None):
        return None
    return ToolMessage(
        call_id=call_id,
        content=read_content(fields.get("content"), f"{where}.content"),
        is_error=bool(is_error),
        extra=READER.extra(without(fields, "type", "tool_use_id", "content", "is_error")),
    )
