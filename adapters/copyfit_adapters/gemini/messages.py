"""Read contents, from requests and answers alike, into copyfit's messages.

A user's content holds the results of calls beside what the user says: each result becomes a `ToolMessage`, and
what stands between results becomes a `UserMessage`. A content without a role is the user's, as the API defines it,
and so is one with the role ``function``, which early clients gave to results. One of any other role than user
and model becomes a `UserMessage` whose extra `role` names it; it can be compared, and is refused by `encode`: a
role is never taken from `extra`.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import AssistantMessage, AssistantPart, ToolMessage, UserMessage
from copyfit_adapters.codec.reading import without
from copyfit_adapters.codec.turns import read_turn
from copyfit_adapters.gemini.parts import READER, ContentPart, carried, read_part

_USER = ("user", "function", "")
_Message = UserMessage | AssistantMessage | ToolMessage


def read_content(content: Any, where: str) -> list[_Message]:
    """Return the shapes of one wire `content`; `where` is its JSON path, for errors.

    Fields of the content that have no shape go to the first of them.

    Raises:
        UnreadableRequest: it is no content: not an object, a role that is no text, parts that are no list.

    """
    fields = READER.object(content, where)
    given = fields.get("role")
    role = "" if given is None else READER.text(given, f"{where}.role")
    if role == "model":
        return [read_assistant(fields, where)]
    marker = {} if role in _USER else {"role": role}
    listed = enumerate(as_parts(fields.get("parts"), where))
    parts = (_user_part(part, f"{where}.parts[{index}]") for index, part in listed)
    return read_turn(parts, marker | without(fields, "role", "parts"), READER)


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of a model's content, of a request or of an answer; parts keep the wire's order.

    Raises:
        UnreadableRequest: its parts are no list of objects.

    """
    parts: list[AssistantPart] = []
    for index, part in enumerate(as_parts(fields.get("parts"), where)):
        read = read_part(part, f"{where}.parts[{index}]")
        parts.append(carried(part) if isinstance(read, ToolMessage) else read)
    return AssistantMessage(content=tuple(parts), extra=READER.extra(without(fields, "role", "parts")))


def as_parts(value: Any, where: str) -> list[Any]:
    """Return the list of parts of the content at `where`; a null is an empty one.

    Raises:
        UnreadableRequest: it is something else.

    """
    return [] if value is None else READER.list(value, f"{where}.parts")


def _user_part(part: Any, where: str) -> ContentPart | ToolMessage:
    read = read_part(part, where)
    return read if isinstance(read, ContentPart | ToolMessage) else carried(part)
