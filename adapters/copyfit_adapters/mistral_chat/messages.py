"""Read the messages of the protocol, from requests and answers alike, into copyfit's messages.

A message of a role other than user, assistant and tool (a system message in mid-conversation) becomes a
`UserMessage` whose extra `role` names it. It can be compared, and is refused by `encode`: a role is never taken
from `extra`. Calls that cannot be modelled stay in the message's extra as a whole.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import (
    AssistantMessage,
    AssistantPart,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit_adapters.codec.functions import pop_all, read_function_call
from copyfit_adapters.codec.reading import pop_text, without
from copyfit_adapters.mistral_chat.chunks import READER, as_list, read_chunk, read_content


def read_message(message: Any, where: str) -> UserMessage | AssistantMessage | ToolMessage:
    """Return the shape of one wire `message`; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is neither text nor chunks.

    """
    fields = READER.object(message, where)
    role = READER.text(fields.get("role"), f"{where}.role")
    if role == "assistant":
        return read_assistant(fields, where)
    content = read_content(fields.get("content"), f"{where}.content")
    rest = without(fields, "role", "content")
    name = pop_text(rest, "name")
    if role == "tool":
        call_id = READER.text(rest.pop("tool_call_id", None), f"{where}.tool_call_id")
        return ToolMessage(call_id=call_id, content=content, name=name, extra=READER.extra(rest))
    marker = {} if role == "user" else {"role": role}
    return UserMessage(content=content, name=name, extra=READER.extra(marker | rest))


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer.

    The parts come in the order of the wire: the chunks of the content in theirs, then the calls.

    Raises:
        UnreadableRequest: the content is neither text nor chunks.

    """
    content = fields.get("content")
    rest = without(fields, "role", "content")
    name = pop_text(rest, "name")
    calls = pop_all(rest, "tool_calls", read_call)
    extra = READER.extra(rest)
    if isinstance(content, str):
        said: tuple[AssistantPart, ...] = (TextPart(text=content),)
        return AssistantMessage(content=(*said, *calls) if calls else content, name=name, extra=extra)
    chunks = enumerate(as_list(content, f"{where}.content"))
    said = tuple(read_chunk(chunk, f"{where}.content[{index}]") for index, chunk in chunks)
    return AssistantMessage(content=(*said, *calls), name=name, extra=extra)


def read_call(call: Any) -> ToolCall | None:
    """Return the shape of one entry of `tool_calls`, or None when it is not a complete call of a function.

    Arguments are a text, which is kept as it is, or an object.
    """
    return read_function_call(call, READER, objects=True)
