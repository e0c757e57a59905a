"""Read the messages of the protocol, from requests and answers alike, into copyfit's messages.

A user's message holds the results of calls beside what the user says: each result becomes a `ToolMessage`, and
what stands between results becomes a `UserMessage`. A message of any other role than user and assistant becomes a
`UserMessage` whose extra `role` names it; it can be compared, and is refused by `encode`: a role is never taken
from `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import AssistantMessage, AssistantPart, ToolMessage, UserMessage
from copyfit_adapters.bedrock_converse.blocks import READER, ContentPart, carried, read_block, unmarked
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.turns import read_turn

Read = UserMessage | AssistantMessage | ToolMessage


def read_message(message: Any, where: str) -> list[Read]:
    """Return the shapes of one wire `message`; `where` is its JSON path, for errors.

    Fields of the message that have no shape go to the first of them.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is no list of blocks.

    """
    fields = READER.object(message, where)
    role = READER.text(fields.get("role"), f"{where}.role")
    if role == "assistant":
        return [read_assistant(fields, where)]
    rest = without(fields, "role", "content")
    blocks = unmarked(fields.get("content"), f"{where}.content")
    parts = (_user_part(block, f"{where}.content[{index}]") for index, block in blocks)
    return read_turn(parts, rest if role == "user" else {"role": role} | rest, READER)


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer; parts keep the wire's order.

    Raises:
        UnreadableRequest: the content is no list of blocks.

    """
    parts: list[AssistantPart] = []
    for index, block in unmarked(fields.get("content"), f"{where}.content"):
        read = read_block(block, f"{where}.content[{index}]")
        parts.append(carried(block) if isinstance(read, ToolMessage) else read)
    return AssistantMessage(content=tuple(parts), extra=READER.extra(without(fields, "role", "content")))


def _user_part(block: Any, where: str) -> ContentPart | ToolMessage:
    read = read_block(block, where)
    return read if isinstance(read, ContentPart | ToolMessage) else carried(block)
