"""Write the parts of a message as content blocks: the inverse of `blocks`.

What the models refuse is no block: a text without anything but spaces, and reasoning with which an answer was cut
off, as the last of a message. Nor is reasoning of another protocol.
"""

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
from copyfit_adapters.bedrock_converse.blocks import read_block
from copyfit_adapters.bedrock_converse.dialect import KINDS, PROTOCOL, sendable_id
from copyfit_adapters.bedrock_converse.media import DOCUMENT_TYPES, IMAGE_TYPES, STORED, format_of
from copyfit_adapters.bedrock_converse.names import allowed_name
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
    found = [(part, _part(part, f"{where}.content[{at}]")) for at, part in enumerate(message.parts)]
    said = [(part, block) for part, block in found if block is not None]
    while said and isinstance(said[-1][0], ThinkingPart):
        said.pop()
    blocks = [block for _, block in said]
    if not isinstance(message, ToolMessage):
        return blocks
    fields: dict[str, Any] = {"toolUseId": sendable_id(message.call_id), "content": blocks}
    if message.is_error:
        fields["status"] = "error"
    return [_block("toolResult", fields, without(WRITER.own(message.extra), AROUND), where)]


def _part(part: Part, where: str) -> dict[str, Any] | None:
    """Return the block of `part`, or None where it does not travel."""
    own = {} if isinstance(part, ThinkingPart) else WRITER.own(part.extra)
    match part:
        case TextPart():
            return _text(part, own, where)
        case ThinkingPart():
            return _thinking(part, where) if part.provider == PROTOCOL else None
        case ImagePart():
            return _block("image", _media("image", part, where), own, where)
        case FilePart():
            if part.file_id is not None:
                raise WRITER.refused(where, "the API keeps no files under ids; give data or an s3:// address")
            facts = {"name": allowed_name(part.filename)}
            return _block("document", _media("file", part, where) | facts, own, where)
        case ToolCall():
            fields = {"toolUseId": sendable_id(part.id), "name": part.name, "input": as_object(part.arguments)}
            return _block("toolUse", fields, own, where)


def _block(kind: str, fields: dict[str, Any], own: Mapping[str, Any], where: str) -> dict[str, Any]:
    return {kind: WRITER.with_extra(fields, own, lambda merged: read_block({kind: merged}, where), where)}


def _text(part: TextPart, own: Mapping[str, Any], where: str) -> dict[str, Any] | None:
    if not own:
        return {"text": part.text} if part.text.strip() else None
    cited = own.get("citationsContent")
    if len(own) == 1 and isinstance(cited, Mapping) and (part.text or "content" not in cited):
        block: dict[str, Any] = {"citationsContent": {"content": [{"text": part.text}]} | dict(cited)}
    elif part.text and own.keys() & KINDS:
        raise WRITER.refused(where, "its extra makes it another part than a text")
    else:
        block = ({"text": part.text} if part.text else {}) | dict(own)
    if read_block(block, where) != TextPart(text=part.text, extra={PROTOCOL: own}):
        raise WRITER.refused(where, "its extra makes it another part than a text")
    return block


def _thinking(part: ThinkingPart, where: str) -> dict[str, Any]:
    inner = dict(part.opaque)
    if part.text or part.signature is not None or "redactedContent" not in inner:
        sealed = {} if part.signature is None else {"signature": part.signature}
        rest = inner.get("reasoningText", {})
        inner["reasoningText"] = {"text": part.text} | sealed | (rest if isinstance(rest, dict) else {})
    block = {"reasoningContent": inner}
    if read_block(block, where) != part:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return block


def _media(kind: str, part: ImagePart | FilePart, where: str) -> dict[str, Any]:
    """Return the format and the source of an image or a file.

    Raises:
        UnencodableInput: it is in no place or form that the API takes.

    """
    if (part.url is None) == (part.data is None):
        raise WRITER.refused(where, f"a {kind} has either a url or data")
    media_type, data = part.media_type, part.data
    inline = DATA_URL.fullmatch(part.url or "")
    if inline is not None:
        media_type, data = inline[1], inline[2]
    if data is not None:
        source: dict[str, Any] = {"bytes": data}
    elif part.url is not None and part.url.startswith(STORED):
        source = {"s3Location": {"uri": part.url}}
    else:
        raise WRITER.refused(where, "the API fetches only s3:// addresses; give the data instead")
    found = format_of(kind, media_type, None if data is not None else part.url)
    if found is None:
        known = ", ".join((IMAGE_TYPES if kind == "image" else DOCUMENT_TYPES).values())
        raise WRITER.refused(where, f"its media type is {media_type!r}; the API takes {known}")
    return {"format": found, "source": source}
