"""Read parts, from requests and answers alike, into copyfit's parts.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["gemini"]` (in `opaque` for thoughts) under its own name, a `thoughtSignature` among it. A part of a kind
that has no shape (code that ran at the provider, a signature alone, two kinds in one) becomes a `TextPart` whose
extra holds the whole part under ``part``.

The wire has one form for everything that comes with a media type: it is an image when the type says so, and a file
otherwise. A `fileUri` without a scheme is the id of a file.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import FilePart, ImagePart, TextPart, ThinkingPart, ToolCall, ToolMessage
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import DATA_URL, Reader, without
from copyfit_adapters.codec.turns import AROUND
from copyfit_adapters.gemini.dialect import CARRIED, ERROR, OUTPUT, PROTOCOL, SIGNATURE, UNDER
from copyfit_adapters.gemini.spelling import spelled

ContentPart = TextPart | ImagePart | FilePart
Piece = ContentPart | ThinkingPart | ToolCall | ToolMessage

READER = Reader(PROTOCOL)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
"""How a URI begins (RFC 3986, section 3.1)."""

_KINDS = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
_RESPONSE = ("id", "name", "response", "parts")


def read_part(part: Any, where: str) -> Piece:
    """Return the shape of one wire part; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is no object.

    """
    whole = READER.object(part, where)
    fields = spelled(whole, *_KINDS, "thought", only_named=(SIGNATURE,))
    if fields.get("thought") is True:
        return _read_thought(fields)
    kinds = [name for name in _KINDS if name in fields]
    read: Piece | None = None
    match kinds:
        case ["text"] if isinstance(fields["text"], str) and CARRIED not in fields:
            read = TextPart(text=fields["text"], extra=READER.extra(without(fields, "text")))
        case ["inlineData"]:
            read = _read_data(fields)
        case ["fileData"]:
            read = _read_reference(fields)
        case ["functionCall"]:
            read = _read_call(fields)
        case ["functionResponse"]:
            read = _read_result(fields, where)
    return carried(whole) if read is None else read


def carried(fields: Mapping[str, Any]) -> TextPart:
    """Return the text part whose extra holds a wire part that has no shape."""
    return TextPart(text="", extra=READER.extra({CARRIED: dict(fields)}))


def is_image(media_type: Any) -> bool:
    """Whether `media_type` is that of an image."""
    return isinstance(media_type, str) and media_type.startswith("image/")


def _read_thought(fields: dict[str, Any]) -> ThinkingPart:
    text, signature = fields.get("text"), fields.get(SIGNATURE)
    if not isinstance(text, str) or not isinstance(signature, str | None):
        return ThinkingPart(provider=PROTOCOL, opaque=fields)
    rest = without(fields, "text", "thought", SIGNATURE)
    return ThinkingPart(text=text, signature=signature, provider=PROTOCOL, opaque=rest)


def _read_data(fields: dict[str, Any]) -> ImagePart | FilePart | None:
    blob = _inner(fields, "inlineData", "mimeType", "data")
    media_type, data = blob.get("mimeType"), blob.get("data")
    if not isinstance(media_type, str) or not isinstance(data, str):
        return None
    extra = READER.extra(without(fields, "inlineData"), inlineData=without(blob, "mimeType", "data"))
    if is_image(media_type):
        return ImagePart(media_type=media_type, data=data, extra=extra)
    return FilePart(media_type=media_type, data=data, extra=extra)


def _read_reference(fields: dict[str, Any]) -> ImagePart | FilePart | None:
    file = _inner(fields, "fileData", "mimeType", "fileUri")
    media_type, uri = file.get("mimeType"), file.get("fileUri")
    if not isinstance(media_type, str | None) or not isinstance(uri, str) or DATA_URL.fullmatch(uri):
        return None
    extra = READER.extra(without(fields, "fileData"), fileData=without(file, "mimeType", "fileUri"))
    if is_image(media_type):
        return ImagePart(url=uri, media_type=media_type, extra=extra)
    if SCHEME.match(uri):
        return FilePart(url=uri, media_type=media_type, extra=extra)
    return FilePart(file_id=uri, media_type=media_type, extra=extra)


def _read_call(fields: dict[str, Any]) -> ToolCall | None:
    call = _inner(fields, "functionCall", "id", "name", "args", "partialArgs", "willContinue")
    call_id, name, arguments = call.get("id", ""), call.get("name"), as_arguments(call.get("args", {}))
    if not (isinstance(call_id, str) and isinstance(name, str) and arguments is not None):
        return None
    if "partialArgs" in call or call.get("willContinue"):
        return None
    extra = READER.extra(without(fields, "functionCall"), functionCall=without(call, "id", "name", "args"))
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=extra)


def _read_result(fields: dict[str, Any], where: str) -> ToolMessage | None:
    result = _inner(fields, "functionResponse", *_RESPONSE)
    call_id, name, response = result.get("id", ""), result.get("name"), result.get("response")
    if not (isinstance(call_id, str) and isinstance(name, str) and isinstance(response, dict)):
        return None
    if AROUND in fields or UNDER in fields:
        return None
    text, under = _read_response(response)
    media = _read_media(result.get("parts"), f"{where}.functionResponse.parts")
    inner = without(result, "id", "name", "response", *(("parts",) if media else ()))
    marker = {} if under in (OUTPUT, ERROR) else {UNDER: under}
    return ToolMessage(
        call_id=call_id,
        name=name,
        content=((TextPart(text=text),) if text else ()) + media if media else text,
        is_error=response.get(ERROR) is not None,
        extra=READER.extra(without(fields, "functionResponse") | marker, functionResponse=inner),
    )


def _read_response(response: dict[str, Any]) -> tuple[str, str | None]:
    """Return the text of a tool's response and the field that held it, None when it is the JSON of the whole."""
    if len(response) == 1:
        ((name, value),) = response.items()
        if isinstance(value, str):
            return value, name
    return json.dumps(response, ensure_ascii=False, separators=(",", ":")), None


def _read_media(parts: Any, where: str) -> tuple[ContentPart, ...]:
    """Return the media of a response; what is none is carried whole."""
    if not isinstance(parts, list):
        return ()
    read = [read_part(part, f"{where}[{index}]") for index, part in enumerate(parts)]
    return tuple(
        found if isinstance(found, ImagePart | FilePart) else carried(part)
        for part, found in zip(parts, read, strict=True)
    )


def _inner(fields: Mapping[str, Any], name: str, *known: str) -> dict[str, Any]:
    """Return the object under `name` in a part's fields, or an empty one, which is no complete one of any kind."""
    value = fields[name]
    return spelled(value, *known) if isinstance(value, dict) else {}
