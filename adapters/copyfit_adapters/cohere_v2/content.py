"""Write the parts of a message: the inverse of `parts`.

User and tool say text, images go with the user alone, and files have no form. Reasoning of another protocol is
left out.
"""

from collections.abc import Mapping
from typing import Any, TypeGuard

from copyfit.shapes.messages import ImagePart, Message, Part, TextPart, ThinkingPart, ToolCall
from copyfit_adapters.codec.json_text import as_arguments, loads
from copyfit_adapters.codec.writing import Writer, given
from copyfit_adapters.cohere_v2.dialect import DOCUMENT, PLANNED, PROTOCOL
from copyfit_adapters.cohere_v2.parts import read_call, read_part

WRITER = Writer(PROTOCOL)


def encode_parts(message: Message, parts: tuple[Part, ...], where: str) -> list[dict[str, Any]]:
    """Return the content parts of `message` that stand for `parts`; `where` is the message's place in the input.

    Raises:
        UnencodableInput: the protocol has no form for a part, or none in a message of that role.

    """
    written = (_part(part, message.role, f"{where}.content[{index}]") for index, part in enumerate(parts))
    return [fields for fields in written if fields is not None]


def encode_call(call: ToolCall, where: str) -> dict[str, Any]:
    """Return one entry of `tool_calls`.

    Raises:
        UnencodableInput: its extra would change the call.

    """
    function = {"name": call.name, "arguments": call.arguments}
    fields = {"id": call.id, "type": "function", "function": function}
    return WRITER.with_extra(fields, WRITER.own(call.extra), read_call, where, nested="function")


def is_plan(part: Part) -> TypeGuard[TextPart]:
    """Whether `part` is what the model said to its calls, which has a place beside the content."""
    return isinstance(part, TextPart) and WRITER.own(part.extra) == PLANNED


def _part(part: Part, role: str, where: str) -> dict[str, Any] | None:
    match part:
        case ThinkingPart():
            return _thinking(part, where) if part.provider == PROTOCOL else None
        case ImagePart() if role == "user":
            return _image(part, where)
        case TextPart() if is_plan(part):
            raise WRITER.refused(where, "a tool plan has its place in an assistant's message alone")
        case TextPart():
            return _text(part, where)
    raise WRITER.refused(where, f"content under the role {role!r} has no form for a part of type {part.type!r}")


def _text(part: TextPart, where: str) -> dict[str, Any]:
    own = WRITER.own(part.extra)
    if "type" not in own:
        fields = {"type": "text", "text": part.text}
        return WRITER.with_extra(fields, own, lambda merged: read_part(merged, where), where)
    if own["type"] == DOCUMENT and part.text:
        return _document(part.text, own, where)
    fields = dict(own) | ({"text": part.text} if part.text else {})
    return _checked(fields, TextPart(text=part.text, extra={PROTOCOL: own}), where)


def _document(text: str, own: Mapping[str, Any], where: str) -> dict[str, Any]:
    try:
        data = loads(text)
    except (ValueError, RecursionError):
        data = None
    compact = as_arguments(data)
    if compact is None:
        raise WRITER.refused(where, "the text of a document is the JSON object of its data")
    inner = own.get(DOCUMENT, {})
    fields = {**own, DOCUMENT: {"data": data, **(inner if isinstance(inner, Mapping) else {})}}
    return _checked(fields, TextPart(text=compact, extra={PROTOCOL: own}), where)


def _checked(fields: dict[str, Any], expected: TextPart, where: str) -> dict[str, Any]:
    if not isinstance(fields["type"], str) or read_part(fields, where) != expected:
        raise WRITER.refused(where, "its extra 'type' makes it another part than a text")
    return fields


def _thinking(part: ThinkingPart, where: str) -> dict[str, Any]:
    fields = {**part.opaque, "type": "thinking", "thinking": part.text}
    if part.opaque.keys() & {"type", "thinking"}:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return fields


def _image(part: ImagePart, where: str) -> dict[str, Any]:
    if (part.url is None) == (part.data is None):
        raise WRITER.refused(where, "an image has either a url or data")
    if part.data is not None and part.media_type is None:
        raise WRITER.refused(where, "an image given as data needs its media type")
    url = f"data:{part.media_type};base64,{part.data}" if part.url is None else part.url
    fields = {"type": "image_url", "image_url": given(url=url, detail=part.detail)}
    own = WRITER.own(part.extra)
    return WRITER.with_extra(fields, own, lambda merged: read_part(merged, where), where, nested="image_url")
