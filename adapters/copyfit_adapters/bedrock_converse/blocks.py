"""Read content blocks, from requests and answers alike, into copyfit's parts.

A block is an object with one member, whose name says what it is. One rule decides where everything goes: a field
that the shapes can model is modelled, and everything else rides in `extra["bedrock-converse"]` (in `opaque` for
reasoning) under its own name. A block that has no shape (a video, a guarded text, JSON in a result, a call that
runs at the provider) becomes a `TextPart` whose extra holds the block.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, TextPart, ThinkingPart, ToolCall, ToolMessage
from copyfit_adapters.bedrock_converse.dialect import MARK, PROTOCOL
from copyfit_adapters.bedrock_converse.media import DOCUMENT_TYPES, IMAGE_TYPES, STORED
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import Reader, without
from copyfit_adapters.errors import UnreadableRequest

ContentPart = TextPart | ImagePart | FilePart
Block = ContentPart | ThinkingPart | ToolCall | ToolMessage

READER = Reader(PROTOCOL)


def read_block(block: Any, where: str) -> Block:
    """Return the shape of one content block; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is not an object, or one without anything.

    """
    fields = READER.object(block, where)
    if not fields:
        raise UnreadableRequest(PROTOCOL, where, "is a block without anything")
    read: Block | None = None
    kind, inner = next(iter(fields.items()))
    if isinstance(fields.get("text"), str):
        read = TextPart(text=fields["text"], extra=READER.extra(without(fields, "text")))
    elif len(fields) == 1 and isinstance(inner, dict):
        read = _read_member(kind, inner, where)
    return carried(fields) if read is None else read


def _read_member(kind: str, inner: dict[str, Any], where: str) -> Block | None:
    match kind:
        case "image":
            return _read_image(inner)
        case "document":
            return _read_document(inner)
        case "reasoningContent":
            return _read_thinking(inner)
        case "citationsContent":
            return _read_cited(inner)
        case "toolUse":
            return _read_call(inner)
        case "toolResult":
            return _read_result(inner, where)
    return None


def read_content(content: Any, where: str) -> tuple[ContentPart, ...]:
    """Return the content of a tool's result; blocks that have no place there are carried whole.

    Raises:
        UnreadableRequest: it is no list of blocks.

    """
    parts: list[ContentPart] = []
    for index, block in unmarked(content, where):
        read = read_block(block, f"{where}[{index}]")
        parts.append(read if isinstance(read, ContentPart) else carried(block))
    return tuple(parts)


def unmarked(content: Any, where: str) -> list[tuple[int, Any]]:
    """Return the blocks of a `content` by number, without the marks for the cache.

    Raises:
        UnreadableRequest: it is no list.

    """
    blocks = READER.list([] if content is None else content, where)
    return [(index, block) for index, block in enumerate(blocks) if not is_mark(block)]


def is_mark(block: Any) -> bool:
    """Whether a block only says where a prefix ends that shall be cached."""
    return isinstance(block, dict) and block.keys() == {MARK}


def carried(fields: Mapping[str, Any]) -> TextPart:
    """Return the text part whose extra holds a block that has no shape."""
    return TextPart(text="", extra=READER.extra(fields))


def _read_image(inner: dict[str, Any]) -> ImagePart | None:
    given = _source(inner, IMAGE_TYPES)
    return None if given is None else ImagePart(**given, extra=READER.extra(without(inner, "format", "source")))


def _read_document(inner: dict[str, Any]) -> FilePart | None:
    given, name = _source(inner, DOCUMENT_TYPES), inner.get("name")
    if given is None or not isinstance(name, str):
        return None
    return FilePart(**given, filename=name, extra=READER.extra(without(inner, "format", "source", "name")))


def _source(inner: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str] | None:
    """Return what an image or a document is made of, or None where it has no shape."""
    word, source = inner.get("format"), inner.get("source")
    media_type = types.get(word) if isinstance(word, str) else None
    if media_type is None or not isinstance(source, dict) or len(source) != 1:
        return None
    data, stored = source.get("bytes"), source.get("s3Location")
    url = stored.get("uri") if isinstance(stored, dict) and len(stored) == 1 else None
    if isinstance(data, str):
        return {"data": data, "media_type": media_type}
    return {"url": url, "media_type": media_type} if isinstance(url, str) and url.startswith(STORED) else None


def _read_thinking(inner: dict[str, Any]) -> ThinkingPart | None:
    said = inner.get("reasoningText")
    if said is None:
        return ThinkingPart(provider=PROTOCOL, opaque=inner) if "redactedContent" in inner else None
    if not isinstance(said, dict):
        return None
    # A thought that is not shown has a signature alone, and the API refuses it back without a text.
    text, signature = "" if said.get("text") is None else said["text"], said.get("signature")
    if not isinstance(text, str) or not isinstance(signature, str | None):
        return None
    rest = without(said, "text", "signature")
    opaque = without(inner, "reasoningText") | ({"reasoningText": rest} if rest else {})
    return ThinkingPart(text=text, signature=signature, provider=PROTOCOL, opaque=opaque)


def _read_cited(inner: dict[str, Any]) -> TextPart | None:
    """Return the text of a cited answer; what it is cited from rides along.

    A text in several pieces keeps them beside it.
    """
    pieces = inner.get("content")
    if not isinstance(pieces, list) or not pieces:
        return None
    if not all(isinstance(piece, dict) and isinstance(piece.get("text"), str) for piece in pieces):
        return None
    single = len(pieces) == 1 and pieces[0].keys() == {"text"}
    own = without(inner, "content") if single else inner
    return TextPart(text="".join(piece["text"] for piece in pieces), extra=READER.extra({"citationsContent": own}))


def _read_call(inner: dict[str, Any]) -> ToolCall | None:
    """Return a call for the caller to run; one with a type runs at the provider."""
    call_id, name, given = inner.get("toolUseId"), inner.get("name"), inner.get("input")
    arguments = as_arguments({} if given is None else given)
    if (
        not (isinstance(call_id, str) and isinstance(name, str))
        or arguments is None
        or inner.get("type") is not None
    ):
        return None
    rest = without(inner, "toolUseId", "name", "input", "type")
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=READER.extra(rest))


def _read_result(inner: dict[str, Any], where: str) -> ToolMessage | None:
    call_id, status = inner.get("toolUseId"), inner.get("status")
    if not isinstance(call_id, str) or status not in (None, "success", "error") or inner.get("type") is not None:
        return None
    return ToolMessage(
        call_id=call_id,
        content=read_content(inner.get("content"), f"{where}.toolResult.content"),
        is_error=status == "error",
        extra=READER.extra(without(inner, "toolUseId", "content", "status", "type")),
    )
