"""Read the messages of the protocol, from requests and answers alike, into copyfit's messages.

A user's message holds the results of calls beside what the user says: each result becomes a `ToolMessage`, and
what stands between results becomes a `UserMessage`. A message of any other role than user and assistant becomes a
`UserMessage` whose extra `role` names it; it can be compared, and is refused by `encode`: a role is never taken
from `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import AssistantMessage, AssistantPart, ToolMessage, UserMessage
from copyfit_adapters.anthropic_messages.blocks import (
    READER,
    ContentPart,
    as_list,
    carried,
    read_block,
    read_content,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.turns import read_turn


def read_message(message: Any, where: str) -> list[UserMessage | AssistantMessage | ToolMessage]:
    """Return the shapes of one wire `message`; `where` is its JSON path, for errors.

    Fields of the message that have no shape go to the first of them.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is neither text nor blocks.

    """
    fields = READER.object(message, where)
    role, content = READER.text(fields.get("role"), f"{where}.role"), fields.get("content")
    rest = without(fields, "role", "content")
    if role == "assistant":
        return [read_assistant(fields, where)]
    if role != "user" or isinstance(content, str):
        marker = {} if role == "user" else {"role": role}
        read = read_content(content, f"{where}.content")
        return [UserMessage(content=read, extra=READER.extra(marker | rest))]
    blocks = enumerate(as_list(content, f"{where}.content"))
    parts = (_user_part(block, f"{where}.content[{index}]") for index, block in blocks)
    return read_turn(parts, rest, READER)


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer; parts keep the wire's order.

    Raises:
        UnreadableRequest: the content is neither text nor blocks.

    """
    content, extra = fields.get("content"), READER.extra(without(fields, "role", "content"))
    if isinstance(content, str):
        return AssistantMessage(content=content, extra=extra)
    parts: list[AssistantPart] = []
    for index, block in enumerate(as_list(content, f"{where}.content")):
        read = read_block(block, f"{where}.content[{index}]")
        parts.append(carried(block) if isinstance(read, ToolMessage) else read)
    return AssistantMessage(content=tuple(parts), extra=extra)


def _user_part(block: Any, where: str) -> ContentPart | ToolMessage:
    read = read_block(block, where)
    return read if isinstance(read, ContentPart | ToolMessage) else carried(block)
