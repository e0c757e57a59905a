"""Read the content parts of messages and tool results, from requests and answers alike, into copyfit's parts.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["openai-responses"]` under its own name. A part of a type that has no shape (audio, a refusal, an image
by file id) becomes a `TextPart` whose extra holds the part. A content that is one text without any fields of its
own is plain text, in whichever of the two forms it came, and one without parts is an empty text.
"""

from collections.abc import Mapping
from typing import Any, Literal

from copyfit.shapes.messages import AssistantPart, FilePart, ImagePart, TextPart
from copyfit_adapters.codec.reading import DATA_URL, Reader, without
from copyfit_adapters.openai_responses.dialect import PROTOCOL

ContentPart = TextPart | ImagePart | FilePart
TextType = Literal["input_text", "output_text"]
"""What a text is called: as input from a user or a tool, as output from the assistant."""

READER = Reader(PROTOCOL)


def read_part(part: Any, where: str, text_type: TextType = "input_text") -> ContentPart:
    """Return the shape of one content part; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is not an object with a type.

    """
    fields = READER.object(part, where)
    kind = READER.text(fields.get("type"), f"{where}.type")
    text = fields.get("text")
    if kind == text_type and isinstance(text, str):
        return TextPart(text=text, extra=READER.extra(without(fields, "type", "text")))
    read = _read_image(fields) if kind == "input_image" else _read_file(fields) if kind == "input_file" else None
    return carried(fields) if read is None else read


def read_content(content: Any, where: str) -> str | tuple[ContentPart, ...]:
    """Return the content of a user or of a tool result.

    Raises:
        UnreadableRequest: it is neither text nor a list of parts.

    """
    if isinstance(content, str):
        return content
    parts = READER.list([] if content is None else content, where)
    read = tuple(read_part(part, f"{where}[{index}]") for index, part in enumerate(parts))
    text = lone_text(read)
    return (read or "") if text is None else text


def lone_text(parts: tuple[AssistantPart, ...]) -> str | None:
    """Return the text of `parts` that are one text without fields of its own, or None."""
    match parts:
        case (TextPart(text=text) as only,) if not only.extra.get(PROTOCOL):
            return text
    return None


def carried(fields: Mapping[str, Any]) -> TextPart:
    """Return the text part whose extra holds a part, or a whole item, that has no shape."""
    text = fields.get("text")
    if isinstance(text, str) and text and fields["type"] not in ("input_text", "output_text"):
        return TextPart(text=text, extra=READER.extra(without(fields, "text")))
    return TextPart(text="", extra=READER.extra(fields))


def _read_image(fields: dict[str, Any]) -> ImagePart | None:
    url, detail = fields.get("image_url"), fields.get("detail")
    if not isinstance(url, str) or not isinstance(detail, str | None) or fields.get("file_id") is not None:
        return None
    extra = READER.extra(without(fields, "type", "image_url", "detail", "file_id"))
    inline = DATA_URL.fullmatch(url)
    if inline:
        return ImagePart(media_type=inline[1], data=inline[2], detail=detail, extra=extra)
    return ImagePart(url=url, detail=detail, extra=extra)


def _read_file(fields: dict[str, Any]) -> FilePart | None:
    filename = fields.get("filename")
    if not isinstance(filename, str | None):
        return None
    extra = READER.extra(without(fields, "type", "filename", *_SOURCES))
    sources = [(name, fields[name]) for name in _SOURCES if fields.get(name) is not None]
    match sources:
        case [("file_id", str(file_id))]:
            return FilePart(file_id=file_id, filename=filename, extra=extra)
        case [("file_url", str(url))] if not is_data_url(url):
            return FilePart(url=url, filename=filename, extra=extra)
        case [("file_data", str(data))] if not is_data_url(data):
            return FilePart(data=data, filename=filename, extra=extra)
        case [("file_data", str(url))]:
            inline = DATA_URL.fullmatch(url)
            if inline:
                return FilePart(media_type=inline[1], data=inline[2], filename=filename, extra=extra)
            return FilePart(url=url, filename=filename, extra=extra)
    return None


def is_data_url(url: str) -> bool:
    """Whether `url` holds its data itself."""
    return url.startswith("data:")


_SOURCES = ("file_id", "file_url", "file_data")
