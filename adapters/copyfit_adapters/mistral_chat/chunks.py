"""Read content chunks, from requests and answers alike, into copyfit's parts.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["mistral-chat"]` (in `opaque` for thinking) under its own name. A chunk of a type that has no shape
(audio, a reference, a resource) becomes a `TextPart` whose extra holds the chunk.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, TextPart, ThinkingPart
from copyfit_adapters.codec.reading import DATA_URL, Reader, without
from copyfit_adapters.mistral_chat.dialect import PROTOCOL

ContentPart = TextPart | ImagePart | FilePart

READER = Reader(PROTOCOL)


def read_chunk(chunk: Any, where: str) -> ContentPart | ThinkingPart:
    """Return the shape of one content chunk; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    fields = READER.object(chunk, where)
    read: ContentPart | ThinkingPart | None = None
    match READER.text(fields.get("type"), f"{where}.type"), fields:
        case "text", {"text": str(text)}:
            read = TextPart(text=text, extra=READER.extra(without(fields, "type", "text")))
        case "image_url", _:
            read = _read_image(fields)
        case "document_url", {"document_url": str()}:
            read = _read_document(fields)
        case "file", {"file_id": str(file_id)}:
            read = FilePart(file_id=file_id, extra=READER.extra(without(fields, "type", "file_id")))
        case "thinking", {"thinking": thinking}:
            read = _read_thinking(fields, thinking)
    return _carried(fields) if read is None else read


def read_said(chunk: Any, where: str) -> ContentPart:
    """Return the shape of a chunk of a user or of a tool's result; reasoning there is carried whole.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    read = read_chunk(chunk, where)
    return _carried(chunk) if isinstance(read, ThinkingPart) else read


def read_content(content: Any, where: str) -> str | tuple[ContentPart, ...]:
    """Return the content of a user or of a tool's result; a null is no content.

    Raises:
        UnreadableRequest: it is neither text nor a list of chunks.

    """
    if isinstance(content, str):
        return content
    return tuple(read_said(chunk, f"{where}[{index}]") for index, chunk in enumerate(as_list(content, where)))


def as_list(value: Any, where: str) -> list[Any]:
    """Return `value` if it is a list; a null is an empty one.

    Raises:
        UnreadableRequest: it is something else.

    """
    return [] if value is None else READER.list(value, where)


def _carried(fields: Mapping[str, Any]) -> TextPart:
    text = fields.get("text")
    if fields["type"] != "text" and isinstance(text, str) and text:
        return TextPart(text=text, extra=READER.extra(without(fields, "text")))
    return TextPart(text="", extra=READER.extra(fields))


def _read_image(fields: Mapping[str, Any]) -> ImagePart | None:
    """Read an image, whose URL stands alone or in an object with its level of detail."""
    held = fields.get("image_url")
    image: dict[str, Any] = held if isinstance(held, dict) else {"url": held}
    url, detail = image.get("url"), image.get("detail")
    if not isinstance(url, str) or not isinstance(detail, str | None):
        return None
    extra = READER.extra(without(fields, "type", "image_url"), image_url=without(image, "url", "detail"))
    inline = DATA_URL.fullmatch(url)
    if inline:
        return ImagePart(media_type=inline[1], data=inline[2], detail=detail, extra=extra)
    return ImagePart(url=url, detail=detail, extra=extra)


def _read_document(fields: Mapping[str, Any]) -> FilePart | None:
    url, name = fields["document_url"], fields.get("document_name")
    if not isinstance(name, str | None):
        return None
    extra = READER.extra(without(fields, "type", "document_url", "document_name"))
    inline = DATA_URL.fullmatch(url)
    if inline:
        return FilePart(media_type=inline[1], data=inline[2], filename=name, extra=extra)
    return FilePart(url=url, filename=name, extra=extra)


def _read_thinking(fields: Mapping[str, Any], thinking: Any) -> ThinkingPart | None:
    """Read reasoning: its texts joined, and whole in `opaque` where it is more than one text."""
    pieces = [{"type": "text", "text": thinking}] if isinstance(thinking, str) else thinking
    if not isinstance(pieces, list):
        return None
    text = "".join(
        piece["text"] for piece in pieces if isinstance(piece, dict) and isinstance(piece.get("text"), str)
    )
    signature = fields.get("signature")
    modelled = {"type"}
    if isinstance(signature, str):
        modelled.add("signature")
    if thinking == [{"type": "text", "text": text}]:
        modelled.add("thinking")
    return ThinkingPart(
        text=text,
        signature=signature if isinstance(signature, str) else None,
        provider=PROTOCOL,
        opaque=without(fields, *modelled),
    )
