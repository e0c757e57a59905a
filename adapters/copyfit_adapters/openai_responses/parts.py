"""Write a message as the items that it travels as: the inverse of `items` and `content`.

A user's message and a tool's result are one item each. An assistant's message is one item for each of its parts,
but for parts that go on with the message item of the part before. Reasoning of another protocol is none, and so is
reasoning that led to nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
)
from copyfit_adapters.codec.json_text import as_object_text
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.writing import Writer, given
from copyfit_adapters.errors import UnreadableRequest
from copyfit_adapters.openai_responses.content import (
    ContentPart,
    TextType,
    is_data_url,
    lone_text,
    read_part,
)
from copyfit_adapters.openai_responses.dialect import CACHE_MARK, CONTINUES, ITEM, PROTOCOL
from copyfit_adapters.openai_responses.items import read_call, read_item, read_reasoning

WRITER = Writer(PROTOCOL)

Item = dict[str, Any]

_AROUND = frozenset({ITEM, CONTINUES})
_EASY = frozenset({"type", "role", "content", "phase"})
"""What a message may have whose content is one text, by the official SDK's types."""


def encode_items(message: Message, where: str, *, mark: Mapping[str, Any] | None = None) -> list[Item]:
    """Return the items of `message`; `mark` goes to its last content part, which an assistant's does not have.

    Raises:
        UnencodableInput: the protocol has no form for a part.

    """
    if isinstance(message, AssistantMessage):
        return _assistant(message, where)
    content = _content(message.content, where, mark)
    if isinstance(message, ToolMessage):
        fields = {"type": "function_call_output", "call_id": message.call_id, "output": content}
    else:
        fields = {"type": "message", "role": "user", "content": content}
    own = WRITER.own(message.extra)
    return [WRITER.with_extra(fields, own, lambda merged: read_item(merged, where), where)]


def _content(
    content: str | tuple[ContentPart, ...], where: str, mark: Mapping[str, Any] | None
) -> str | list[dict[str, Any]]:
    said = (TextPart(text=content),) if isinstance(content, str) else content
    text = lone_text(said)
    if text is not None and mark is None:
        return text
    parts = [_part(part, f"{where}.content[{index}]", "input_text") for index, part in enumerate(said)]
    if mark is not None and parts:
        parts[-1].setdefault(CACHE_MARK, mark)
    return parts or ""


def _assistant(message: AssistantMessage, where: str) -> list[Item]:
    if WRITER.own(message.extra):
        raise WRITER.refused(where, "what an assistant said is items, whose fields ride in the extra of its parts")
    items: list[Item] = []
    said: Item | None = None
    for index, part in enumerate(message.parts):
        place = f"{where}.content[{index}]"
        if isinstance(part, ThinkingPart):
            if part.provider != PROTOCOL:
                continue
            item, said = _reasoning(part, place), None
        elif isinstance(part, ToolCall):
            item, said = _call(part, place), None
        elif _is_item(part):
            item, said = _carried_item(part, place), None
        elif CONTINUES in WRITER.own(part.extra):
            _go_on(said, part, place)
            continue
        else:
            item = said = _said(part, place)
        items.append(item)
    # An answer that was cut off while the model reasoned. OpenAI refuses it in a history: "of type 'reasoning' was
    # provided without its required following item".
    while items and items[-1]["type"] == "reasoning":
        items.pop()
    return [_eased(item) for item in items]


def _reasoning(part: ThinkingPart, where: str) -> Item:
    fields: Item = {"type": "reasoning", **part.opaque}
    if not part.opaque.keys() & {"summary", "content"}:
        fields["summary"] = [{"type": "summary_text", "text": part.text}] if part.text else []
    fields |= given(encrypted_content=part.signature)
    if fields["type"] != "reasoning" or read_reasoning(fields) != part:
        raise WRITER.refused(where, "what is opaque in this reasoning is not what the protocol sent")
    return fields


def _call(call: ToolCall, where: str) -> Item:
    arguments = as_object_text(call.arguments)
    fields = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
    return WRITER.with_extra(fields, WRITER.own(call.extra), read_call, where)


def _said(part: ContentPart, where: str) -> Item:
    """Return the message item that begins with `part`."""
    own = WRITER.own(part.extra)
    around = own.get(ITEM, {})
    if not isinstance(around, Mapping) or around.keys() & {"type", "role", "content"}:
        raise WRITER.refused(where, "its extra would change the role or the content of the message")
    if ITEM in own and not around and "type" not in own:
        raise WRITER.refused(where, "its extra names an item without fields")
    return {"type": "message", **around, "role": "assistant", "content": [_part(part, where, "output_text")]}


def _go_on(said: Item | None, part: ContentPart, where: str) -> None:
    own = WRITER.own(part.extra)
    if said is None or own[CONTINUES] is not True or ITEM in own:
        raise WRITER.refused(where, "it cannot go on with a message that is not right before it")
    said["content"].append(_part(part, where, "output_text"))


def _eased(item: Item) -> Item:
    """Return a message that is one plain text in the form for it, which has neither id nor annotations."""
    match item:
        case {"type": "message", "content": [{"type": "output_text", "text": text, **more}]} if not more:
            return item | {"content": text} if item.keys() <= _EASY else item
    return item


def _carried_item(part: TextPart, where: str) -> Item:
    def read(fields: Item) -> Any:
        found = read_item(fields, where)
        return found[0] if isinstance(found, tuple) and len(found) == 1 else found

    return _carried(part.text, WRITER.own(part.extra), read, where)


def _is_item(part: ContentPart) -> TypeGuard[TextPart]:
    """Whether `part` carries a whole item that has no shape, and not a part of a message item."""
    own = WRITER.own(part.extra)
    return isinstance(part, TextPart) and "type" in own and not own.keys() & _AROUND


def _part(part: ContentPart, where: str, text_type: TextType) -> dict[str, Any]:
    own = WRITER.own(part.extra)
    if text_type == "output_text":
        own = without(own, *_AROUND)
    fields: dict[str, Any]
    match part:
        case TextPart() if "type" in own:
            return _carried(part.text, own, lambda merged: read_part(merged, where, text_type), where)
        case TextPart():
            fields = {"type": text_type, "text": part.text}
        case ImagePart():
            detail = "auto" if part.detail is None else part.detail
            fields = {"type": "input_image", "image_url": _image_url(part, where), "detail": detail}
        case FilePart():
            fields = {"type": "input_file", **_file_source(part, where), **given(filename=part.filename)}
    return WRITER.with_extra(fields, own, lambda merged: read_part(merged, where, text_type), where)


def _carried(text: str, own: Mapping[str, Any], read: Callable[[Item], Any], where: str) -> Item:
    fields = dict(own) | ({"text": text} if text else {})
    expected = TextPart(text=text, extra={PROTOCOL: own})
    try:
        carries = not ("text" in own and text) and read(fields) == expected
    except UnreadableRequest:
        carries = False
    if not carries:
        raise WRITER.refused(where, "its extra 'type' makes it another thing than what has no shape")
    return fields


def _image_url(part: ImagePart, where: str) -> str:
    if (part.url is None) == (part.data is None):
        raise WRITER.refused(where, "an image has either a url or data")
    return part.url if part.url is not None else _data_url(part, where)


def _file_source(part: FilePart, where: str) -> dict[str, str]:
    if [part.file_id, part.url, part.data].count(None) != 2:
        raise WRITER.refused(where, "a file has either a file_id, a url or data")
    if part.file_id is not None:
        return {"file_id": part.file_id}
    if part.url is not None:
        return {"file_data" if is_data_url(part.url) else "file_url": part.url}
    if part.media_type is None and part.data is not None and not is_data_url(part.data):
        return {"file_data": part.data}
    return {"file_data": _data_url(part, where)}


def _data_url(part: ImagePart | FilePart, where: str) -> str:
    if part.media_type is None:
        raise WRITER.refused(where, "what is given as data needs its media type")
    return f"data:{part.media_type};base64,{part.data}"
