"""Read the messages of the protocol, from requests and answers alike, into copyfit's messages.

An assistant's message says things in three places: its content, the plan that the model tells to its calls, and
the calls. The plan becomes a `TextPart` whose extra says so: it is text like any other to whoever reads the
history, and goes back as the plan. The parts come in the order content, plan, calls.

A message of a role other than user, assistant and tool (a system message in mid-conversation) becomes a
`UserMessage` whose extra `role` names it. Such a message can be compared, and is refused by `encode`: a role is
never taken from `extra`. Calls that cannot be modelled stay in the message's extra as a whole, as do citations.
"""

from collections.abc import Mapping
from typing import Any

from copyfit.shapes.messages import AssistantMessage, AssistantPart, TextPart, ToolMessage, UserMessage
from copyfit_adapters.codec.functions import pop_all
from copyfit_adapters.codec.reading import without
from copyfit_adapters.cohere_v2.dialect import PLANNED, PROTOCOL, TOOL_PLAN
from copyfit_adapters.cohere_v2.parts import READER, SaidPart, carried, read_call, read_part


def read_message(message: Any, where: str) -> UserMessage | AssistantMessage | ToolMessage:
    """Return the shape of one wire `message`; `where` is its JSON path, for errors.

    Raises:
        UnreadableRequest: it is no message: not an object, no role, or content that is neither text nor parts.

    """
    fields = READER.object(message, where)
    role = READER.text(fields.get("role"), f"{where}.role")
    if role == "assistant":
        return read_assistant(fields, where)
    content = _read_content(fields.get("content"), f"{where}.content")
    rest = without(fields, "role", "content")
    if role == "tool":
        call_id = READER.text(rest.pop("tool_call_id", None), f"{where}.tool_call_id")
        return ToolMessage(call_id=call_id, content=content, extra=READER.extra(rest))
    marker = {} if role == "user" else {"role": role}
    return UserMessage(content=content, extra=READER.extra(marker | rest))


def read_assistant(fields: Mapping[str, Any], where: str) -> AssistantMessage:
    """Return the shape of an assistant's message, of a request or of an answer.

    Raises:
        UnreadableRequest: the content is neither text nor parts.

    """
    content = fields.get("content")
    rest = without(fields, "role", "content")
    beside: tuple[AssistantPart, ...] = (*_pop_plan(rest), *pop_all(rest, "tool_calls", read_call))
    extra = READER.extra(rest)
    if isinstance(content, str):
        said: str | tuple[AssistantPart, ...] = (TextPart(text=content), *beside) if beside else content
        return AssistantMessage(content=said, extra=extra)
    parts = [] if content is None else READER.list(content, f"{where}.content")
    read = (read_part(part, f"{where}.content[{index}]") for index, part in enumerate(parts))
    return AssistantMessage(content=(*read, *beside), extra=extra)


def _read_content(content: Any, where: str) -> str | tuple[SaidPart, ...]:
    """Return the content of a message under another role; reasoning has no place there and is carried whole."""
    if isinstance(content, str):
        return content
    parts = [] if content is None else READER.list(content, where)
    read = ((part, read_part(part, f"{where}[{index}]")) for index, part in enumerate(parts))
    return tuple(shape if isinstance(shape, SaidPart) else carried(part) for part, shape in read)


def _pop_plan(rest: dict[str, Any]) -> tuple[TextPart, ...]:
    plan = rest.get(TOOL_PLAN)
    if plan is not None and not isinstance(plan, str):
        return ()
    rest.pop(TOOL_PLAN, None)
    return () if plan is None else (TextPart(text=plan, extra={PROTOCOL: dict(PLANNED)}),)
