"""Read chat messages, from requests and answers alike, into copyfit's shapes.

One rule decides where everything goes: a field that the shapes can model is modelled, and everything else rides
in `extra["ollama-chat"]` under its own name, so that nothing is dropped in silence. A null stands for an absent
field.

- A role other than user, assistant and tool (a system message in mid-conversation) becomes a `UserMessage` whose
  extra `role` names it. Such a message can be compared, and is refused by `encode`: a role is never taken from
  `extra`.
- Images stand beside the text in a list of their own, as base64 without a media type; they come after the text.
- Tool calls that cannot be modelled stay in the message's extra as a whole.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import (
    AssistantMessage,
    AssistantPart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit_adapters.codec.functions import pop_all
from copyfit_adapters.codec.json_text import as_arguments
from copyfit_adapters.codec.reading import Reader, texts, without
from copyfit_adapters.ollama_chat.dialect import PROTOCOL

_READER = Reader(PROTOCOL)


def read_message(message: Any, where: str) -> UserMessage | AssistantMessage | ToolMessage:
    """Return the shape of one wire `message`, whose calls have ids; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is no text.

    """
    fields = _READER.object(message, where)
    role = _READER.text(fields.get("role"), f"{where}.role")
    if role == "assistant":
        return read_assistant(fields, where)
    rest = without(fields, "role", "content")
    said = _said(fields.get("content"), rest, where)
    content = _plain(said)
    if role == "tool":
        call_id = _READER.text(rest.pop("tool_call_id", None), f"{where}.tool_call_id")
        name = _pop_text(rest, "tool_name")
        return ToolMessage(call_id=call_id, content=content, name=name, extra=_READER.extra(rest))
    marker = {} if role == "user" else {"role": role}
    return UserMessage(content=content, extra=_READER.extra(marker | rest))


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer.

    The parts come in the order of the wire: reasoning, text, images, calls.

    Raises:
        UnreadableRequest: the content is no text.

    """
    rest = without(fields, "role", "content")
    thought = _pop_text(rest, "thinking")
    thinking = (ThinkingPart(text=thought, provider=PROTOCOL),) if thought else ()
    said = _said(fields.get("content"), rest, where)
    calls = pop_all(rest, "tool_calls", read_call)
    parts: tuple[AssistantPart, ...] = (*thinking, *said, *calls)
    return AssistantMessage(content=parts if thinking or calls else _plain(said), extra=_READER.extra(rest))


def read_call(call: Any) -> ToolCall | None:
    """Return the shape of one entry of `tool_calls`, or None when it is not a complete call of a function."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return None
    call_id, name, arguments = call.get("id"), function.get("name"), as_arguments(function.get("arguments", {}))
    if not (isinstance(call_id, str) and isinstance(name, str) and arguments is not None):
        return None
    rest, inner = without(call, "id", "function"), without(function, "name", "arguments")
    return ToolCall(id=call_id, name=name, arguments=arguments, extra=_READER.extra(rest, function=inner))


def _said(content: Any, rest: dict[str, Any], where: str) -> list[TextPart | ImagePart]:
    """Return the text, if there is any, and the images, which leave `rest`."""
    text = "" if content is None else _READER.text(content, f"{where}.content")
    said: list[TextPart | ImagePart] = [TextPart(text=text)] if text else []
    images = () if rest.get("images") is None else texts(rest["images"])
    if images is not None:
        rest.pop("images", None)
        said += [ImagePart(data=image) for image in images]
    return said


def _plain(said: list[TextPart | ImagePart]) -> str | tuple[TextPart | ImagePart, ...]:
    """Return one text, or none, as plain text."""
    match said:
        case []:
            return ""
        case [TextPart(text=text)]:
            return text
    return tuple(said)


def _pop_text(rest: dict[str, Any], field: str) -> str | None:
    value = rest.get(field)
    if value is None or isinstance(value, str):
        rest.pop(field, None)
        return value
    return None
