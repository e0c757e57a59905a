"""Write the parts of a message as content chunks: the inverse of `chunks`."""

from collections.abc import Iterable
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, Part, TextPart, ThinkingPart
from copyfit_adapters.codec.writing import Writer, given
from copyfit_adapters.mistral_chat.chunks import read_chunk, read_said
from copyfit_adapters.mistral_chat.dialect import PROTOCOL

WRITER = Writer(PROTOCOL)


def encode_chunks(parts: Iterable[Part], where: str, *, thinks: bool = False) -> list[dict[str, Any]]:
    """Return the content chunks of `parts`; reasoning of another protocol is none.

    `thinks` says whether reasoning has a place there, `where` what the place is called in errors.

    Raises:
        UnencodableInput: the protocol has no form for a part.

    """
    return [
        _chunk(part, f"{where}.content[{index}]", thinks=thinks)
        for index, part in enumerate(parts)
        if not isinstance(part, ThinkingPart) or part.provider == PROTOCOL
    ]


def _chunk(part: Part, where: str, *, thinks: bool) -> dict[str, Any]:
    read = read_chunk if thinks else read_said
    nested = None
    match part:
        case TextPart() if "type" in WRITER.own(part.extra):
            return _carried(part, where, thinks=thinks)
        case TextPart():
            fields: dict[str, Any] = {"type": "text", "text": part.text}
        case ImagePart():
            nested = "image_url"
            image = given(url=_image_url(part, where), detail=part.detail)
            fields = {"type": "image_url", "image_url": image}
        case FilePart():
            fields = _file(part, where)
        case ThinkingPart() if thinks:
            return _thinking(part, where)
        case _:
            raise WRITER.refused(where, f"a {part.type} part has no place in this content")
    own = WRITER.own(part.extra)
    return WRITER.with_extra(fields, own, lambda merged: read(merged, where), where, nested=nested)


def _carried(part: TextPart, where: str, *, thinks: bool) -> dict[str, Any]:
    own = WRITER.own(part.extra)
    fields = dict(own) | ({"text": part.text} if part.text else {})
    read = read_chunk if thinks else read_said
    carries = isinstance(own["type"], str) and not ("text" in own and part.text)
    if not carries or read(fields, where) != TextPart(text=part.text, extra={PROTOCOL: own}):
        raise WRITER.refused(where, "its extra 'type' makes it another part than a text")
    return fields


def _thinking(part: ThinkingPart, where: str) -> dict[str, Any]:
    fields = {"type": "thinking", "thinking": [{"type": "text", "text": part.text}], **part.opaque}
    if part.signature is not None:
        fields["signature"] = part.signature
    if fields["type"] != "thinking" or read_chunk(fields, where) != part:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return fields


def _image_url(part: ImagePart, where: str) -> str:
    if (part.url is None) == (part.data is None):
        raise WRITER.refused(where, "an image has either a url or data")
    return part.url if part.url is not None else _data_url(part, where)


def _file(part: FilePart, where: str) -> dict[str, Any]:
    if [part.file_id, part.url, part.data].count(None) != 2:
        raise WRITER.refused(where, "a file has either a file_id, a url or data")
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    url = part.url if part.url is not None else _data_url(part, where)
    return {"type": "document_url", **given(document_url=url, document_name=part.filename)}


def _data_url(part: ImagePart | FilePart, where: str) -> str:
    if part.media_type is None:
        raise WRITER.refused(where, "what is given as data needs its media type")
    return f"data:{part.media_type};base64,{part.data}"
