"""Read content parts and calls, from requests and answers alike, into copyfit's parts.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["cohere-v2"]` (in `opaque` for thinking) under its own name. A part of a type that has no shape becomes a
`TextPart` whose extra holds the part. So does a document, whose data is the text, as JSON: it stays visible to
whoever counts or forwards the history.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import ImagePart, TextPart, ThinkingPart, ToolCall
from copyfit_adapters.codec.functions import read_function_call
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import DATA_URL, Reader, without
from copyfit_adapters.cohere_v2.dialect import DOCUMENT, PROTOCOL, TOOL_PLAN

SaidPart = TextPart | ImagePart

READER = Reader(PROTOCOL)


def read_part(part: Any, where: str) -> SaidPart | ThinkingPart:
    """Return the shape of one content part of a message; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    fields = READER.object(part, where)
    read: SaidPart | ThinkingPart | None = None
    match READER.text(fields.get("type"), f"{where}.type"):
        case "text" if isinstance(fields.get("text"), str):
            read = TextPart(text=fields["text"], extra=READER.extra(without(fields, "type", "text")))
        case "thinking" if isinstance(fields.get("thinking"), str):
            opaque = without(fields, "type", "thinking")
            read = ThinkingPart(text=fields["thinking"], provider=PROTOCOL, opaque=opaque)
        case "image_url":
            read = _read_image(fields)
        case "document":
            read = _read_document(fields)
    return carried(fields) if read is None else read


def carried(fields: Mapping[str, Any]) -> TextPart:
    """Return the text part whose extra holds a part that has no shape."""
    text = fields.get("text")
    if isinstance(text, str) and text and fields["type"] not in ("text", DOCUMENT, TOOL_PLAN):
        return TextPart(text=text, extra=READER.extra(without(fields, "text")))
    return TextPart(text="", extra=READER.extra(fields))


def read_call(call: Any) -> ToolCall | None:
    """Return the shape of one entry of `tool_calls`, or None when it is not a complete call of a function."""
    return read_function_call(call, READER)


def _read_image(fields: dict[str, Any]) -> ImagePart | None:
    image = fields["image_url"] if isinstance(fields.get("image_url"), dict) else {}
    url, detail = image.get("url"), image.get("detail")
    if not isinstance(url, str) or not isinstance(detail, str | None):
        return None
    extra = READER.extra(without(fields, "type", "image_url"), image_url=without(image, "url", "detail"))
    inline = DATA_URL.fullmatch(url)
    if inline:
        return ImagePart(media_type=inline[1], data=inline[2], detail=detail, extra=extra)
    return ImagePart(url=url, detail=detail, extra=extra)


def _read_document(fields: dict[str, Any]) -> TextPart | None:
    document = fields["document"] if isinstance(fields.get("document"), dict) else {}
    text = as_arguments(document.get("data"))
    if text is None:
        return None
    extra = READER.extra(without(fields, "document"), document=without(document, "data"))
    return TextPart(text=text, extra=extra)
