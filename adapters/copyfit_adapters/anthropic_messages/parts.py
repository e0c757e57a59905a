"""Write the parts of a message as content blocks: the inverse of `blocks`.

What the API refuses is no block: a text without anything but spaces, and reasoning with which an answer was cut
off, as the last of a message. Nor is reasoning of another protocol.
"""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
)
from copyfit_adapters.anthropic_messages.blocks import read_block
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL, sendable_id
from copyfit_adapters.codec.json_text import as_object
from copyfit_adapters.codec.reading import DATA_URL, without
from copyfit_adapters.codec.turns import AROUND
from copyfit_adapters.codec.writing import Writer

WRITER = Writer(PROTOCOL)


def encode_blocks(message: Message, where: str) -> list[dict[str, Any]]:
    """Return the content blocks of `message`; a tool message is one block.

    Raises:
        UnencodableInput: the protocol has no form for a part.

    """
    if not isinstance(message, ToolMessage):
        return _blocks(message.parts, where)
    content = message.content if isinstance(message.content, str) else _blocks(message.content, where)
    fields: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": sendable_id(message.call_id),
        "content": content,
    }
    if message.is_error:
        fields["is_error"] = True
    return [_block(fields, without(WRITER.own(message.extra), AROUND), where)]


def _blocks(parts: tuple[Part, ...], where: str) -> list[dict[str, Any]]:
    found = [(part, _part(part, f"{where}.content[{index}]")) for index, part in enumerate(parts)]
    said = [(part, block) for part, block in found if block is not None]
    while said and isinstance(said[-1][0], ThinkingPart):
        said.pop()
    return [block for _, block in said]


def _part(part: Part, where: str) -> dict[str, Any] | None:
    match part:
        case TextPart():
            return _text(part, where)
        case ThinkingPart():
            return _thinking(part, where) if part.provider == PROTOCOL else None
        case ImagePart():
            fields = {"type": "image", "source": _image_source(part, where)}
        case FilePart():
            fields = {"type": "document", "source": _file_source(part, where)}
            if part.filename is not None:
                fields["title"] = part.filename
        case ToolCall():
            given = as_object(part.arguments)
            fields = {"type": "tool_use", "id": sendable_id(part.id), "name": part.name, "input": given}
    return _block(fields, WRITER.own(part.extra), where)


def _block(fields: dict[str, Any], own: Mapping[str, Any], where: str) -> dict[str, Any]:
    return WRITER.with_extra(fields, own, lambda merged: read_block(merged, where), where)


def _text(part: TextPart, where: str) -> dict[str, Any] | None:
    own = WRITER.own(part.extra)
    if "type" not in own:
        if not part.text.strip():
            return None
        return _block({"type": "text", "text": part.text}, own, where)
    fields = dict(own) | ({"text": part.text} if part.text else {})
    carries = isinstance(own["type"], str) and not ("text" in own and part.text)
    if not carries or read_block(fields, where) != TextPart(text=part.text, extra={PROTOCOL: own}):
        raise WRITER.refused(where, "its extra 'type' makes it another part than a text")
    return fields


def _thinking(part: ThinkingPart, where: str) -> dict[str, Any]:
    fields = dict(part.opaque)
    if fields.get("type") != "redacted_thinking":
        sealed = {} if part.signature is None else {"signature": part.signature}
        fields = fields | {"type": "thinking", "thinking": part.text} | sealed
    if read_block(fields, where) != part:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return fields


def _image_source(part: ImagePart, where: str) -> dict[str, str]:
    if (part.url is None) == (part.data is None):
        raise WRITER.refused(where, "an image has either a url or data")
    return _url_source(part.url) if part.url is not None else _data_source(part.data, part.media_type, where)


def _file_source(part: FilePart, where: str) -> dict[str, str]:
    if [part.file_id, part.url, part.data].count(None) != 2:
        raise WRITER.refused(where, "a file has either a file_id, a url or data")
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    source = _url_source(part.url) if part.url is not None else _data_source(part.data, part.media_type, where)
    text = _plain_text(source)
    return source if text is None else {"type": "text", "media_type": "text/plain", "data": text}


def _url_source(url: str) -> dict[str, str]:
    inline = DATA_URL.fullmatch(url)
    if inline:
        return {"type": "base64", "media_type": inline[1], "data": inline[2]}
    return {"type": "url", "url": url}


def _data_source(data: str | None, media_type: str | None, where: str) -> dict[str, str]:
    if data is None or media_type is None:
        raise WRITER.refused(where, "what is given as data needs its media type")
    return {"type": "base64", "media_type": media_type, "data": data}


def _plain_text(source: Mapping[str, str]) -> str | None:
    """Return the text in a base64 source of plain text, which the protocol takes as a text only.

    None where reading it back would give other data than was put in.
    """
    if source["type"] != "base64" or source["media_type"] != "text/plain":
        return None
    try:
        raw = b64decode(source["data"], validate=True)
        text = raw.decode()
    except (binascii.Error, ValueError):
        return None
    return text if b64encode(raw).decode() == source["data"] else None
