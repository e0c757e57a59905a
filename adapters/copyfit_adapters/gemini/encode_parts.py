"""Write the parts of a message: the inverse of `parts`.

An empty text is no part, for the API refuses one; nor is reasoning of another protocol. The first call of a
message is signed, as Gemini 3 demands: by what it came with, or by the word for calls that came with nothing.
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
from copyfit_adapters.codec.json_text import as_object
from copyfit_adapters.codec.reading import DATA_URL, without
from copyfit_adapters.codec.turns import AROUND
from copyfit_adapters.codec.writing import Writer
from copyfit_adapters.gemini.dialect import (
    CARRIED,
    ERROR,
    OUTPUT,
    PROTOCOL,
    SIGNATURE,
    UNDER,
    UNSIGNED,
    Dialect,
)
from copyfit_adapters.gemini.parts import read_part

WRITER = Writer(PROTOCOL)


def encode_parts(message: Message, dialect: Dialect, where: str) -> list[dict[str, Any]]:
    """Return the wire parts of `message`; a tool message, whose call must have a name, is one part.

    Raises:
        UnencodableInput: the protocol has no form for a part.

    """
    if isinstance(message, ToolMessage):
        return [_result(message, dialect, where)]
    first_call = next((index for index, part in enumerate(message.parts) if isinstance(part, ToolCall)), None)
    found = (
        _part(part, dialect, f"{where}.content[{index}]", signed=index == first_call)
        for index, part in enumerate(message.parts)
    )
    return [part for part in found if part is not None]


def _part(part: Part, dialect: Dialect, where: str, *, signed: bool = False) -> dict[str, Any] | None:
    match part:
        case TextPart():
            return _text(part, where)
        case ThinkingPart():
            return _thought(part, where) if part.provider == PROTOCOL else None
        case ImagePart() | FilePart():
            return _media(part, where)
        case ToolCall():
            named = {"id": part.id} if part.id and dialect.call_ids else {}
            fields = {"functionCall": named | {"name": part.name, "args": as_object(part.arguments)}}
            own = ({SIGNATURE: UNSIGNED} if signed else {}) | dict(WRITER.own(part.extra))
            return _with_own(fields, own, where, nested="functionCall")


def _with_own(fields: dict[str, Any], own: Mapping[str, Any], where: str, *, nested: str) -> dict[str, Any]:
    return WRITER.with_extra(fields, own, lambda merged: read_part(merged, where), where, nested=nested)


def _text(part: TextPart, where: str) -> dict[str, Any] | None:
    own = WRITER.own(part.extra)
    if CARRIED in own:
        return _carried(part, where)
    if not part.text and not own:
        return None
    return WRITER.with_extra({"text": part.text}, own, lambda merged: read_part(merged, where), where)


def _carried(part: TextPart, where: str) -> dict[str, Any]:
    """Return the wire part that a text part carries, if nothing else can be read in it."""
    own = WRITER.own(part.extra)
    fields = own[CARRIED]
    if not isinstance(fields, Mapping) or read_part(dict(fields), where) != TextPart(
        text=part.text, extra={PROTOCOL: own}
    ):
        raise WRITER.refused(where, f"its extra {CARRIED!r} has a form of its own in the input")
    return dict(fields)


def _thought(part: ThinkingPart, where: str) -> dict[str, Any]:
    fields = dict(part.opaque)
    if "thought" not in fields:
        sealed = {} if part.signature is None else {SIGNATURE: part.signature}
        fields = {"text": part.text, "thought": True} | sealed | fields
    if read_part(fields, where) != part:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return fields


def _media(part: ImagePart | FilePart, where: str) -> dict[str, Any]:
    """Return the part for an image or a file; its level of detail and its name have no form."""
    file_id = part.file_id if isinstance(part, FilePart) else None
    if [file_id, part.url, part.data].count(None) != 2:
        ways = "a file has either a file_id, a url or data"
        raise WRITER.refused(where, ways if isinstance(part, FilePart) else "an image has either a url or data")
    uri = file_id if part.url is None else part.url
    inline = None if uri is None else DATA_URL.fullmatch(uri)
    own = WRITER.own(part.extra)
    if uri is not None and inline is None:
        typed = {} if part.media_type is None else {"mimeType": part.media_type}
        return _with_own({"fileData": typed | {"fileUri": uri}}, own, where, nested="fileData")
    media_type, data = (inline[1], inline[2]) if inline else (part.media_type, part.data)
    if media_type is None:
        raise WRITER.refused(where, "what is given as data needs its media type")
    return _with_own({"inlineData": {"mimeType": media_type, "data": data}}, own, where, nested="inlineData")


def _result(message: ToolMessage, dialect: Dialect, where: str) -> dict[str, Any]:
    if message.name is None:
        raise WRITER.refused(where, "it has no name, and no call before it has its call_id")
    own = WRITER.own(message.extra)
    inner: dict[str, Any] = {"id": message.call_id} if message.call_id and dialect.call_ids else {}
    inner |= {"name": message.name, "response": _response(message, own, where)}
    media = [
        found
        for index, part in enumerate(message.parts)
        if not _is_said(part) and (found := _part(part, dialect, f"{where}.content[{index}]")) is not None
    ]
    if media:
        inner["parts"] = media
    kept = without(own, AROUND, UNDER)
    return WRITER.with_extra(
        {"functionResponse": inner},
        kept,
        lambda merged: _read_result(merged, where),
        where,
        nested="functionResponse",
    )


def _response(message: ToolMessage, own: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the object that a tool's text travels in, which reads back as the same text and the same success."""
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart) and _is_said(part))
    if UNDER not in own:
        return {ERROR if message.is_error else OUTPUT: text}
    under, response = own[UNDER], None
    if isinstance(under, str):
        response = {under: text}
    elif under is None:
        response = as_object(text)
    read = None if response is None else read_part({"functionResponse": {"name": "", "response": response}}, where)
    same = ToolMessage(
        call_id="", name="", content=text, is_error=message.is_error, extra={PROTOCOL: {UNDER: under}}
    )
    if response is None or read != same:
        raise WRITER.refused(where, f"its extra {UNDER!r} does not go with its text")
    return response


def _is_said(part: Part) -> bool:
    """Whether a part of a tool result is text that travels in its response."""
    return isinstance(part, TextPart) and CARRIED not in WRITER.own(part.extra)


def _read_result(merged: Mapping[str, Any], where: str) -> Any:
    """Return what a result reads back as, without the name of the field of its response."""
    read = read_part(merged, where)
    if not isinstance(read, ToolMessage):
        return read
    own = without(WRITER.own(read.extra), UNDER)
    return read.model_copy(update={"extra": {PROTOCOL: own} if own else {}})
