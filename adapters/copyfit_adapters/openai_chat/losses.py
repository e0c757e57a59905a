"""What a chat completions request cannot carry, declared as data."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit_adapters.codec import Effect, InputData, Loss, foreign_extras_dropped, in_messages, surrogates_joined
from copyfit_adapters.openai_chat.dialect import PROTOCOL, THINKING_FIELDS

_Object = Mapping[str, Any]


def _in_parts(rewrite: Callable[[_Object], _Object]) -> Callable[[InputData], InputData]:
    def one(message: _Object) -> _Object:
        content = message["content"]
        if isinstance(content, str):
            return message
        return {**message, "content": [rewrite(part) for part in content]}

    return in_messages(one)


def _in_assistants(rewrite: Callable[[list[_Object]], list[_Object]]) -> Callable[[InputData], InputData]:
    def one(message: _Object) -> _Object:
        content = message["content"]
        if message["role"] != "assistant" or isinstance(content, str):
            return message
        return {**message, "content": rewrite(content)}

    return in_messages(one)


def _without_in_tools(name: str) -> Callable[[InputData], InputData]:
    def one(message: _Object) -> _Object:
        if message["role"] != "tool":
            return message
        return {key: value for key, value in message.items() if key != name}

    return in_messages(one)


def _own_thinking(parts: list[_Object]) -> list[_Object]:
    return [part for part in parts if part["type"] != "thinking" or part["provider"] == PROTOCOL]


def _bare_thinking(part: _Object) -> _Object:
    if part["type"] != "thinking":
        return part
    field = part.get("opaque", {}).get("field")
    opaque = {"field": field} if field in THINKING_FIELDS[1:] else {}
    return {**{key: value for key, value in part.items() if key != "signature"}, "opaque": opaque}


def _one_thinking(parts: list[_Object]) -> list[_Object]:
    thinking = [part for part in parts if part["type"] == "thinking"]
    if len(thinking) < 2:
        return parts
    merged = {**thinking[0], "text": "".join(part["text"] for part in thinking)}
    return [merged, *(part for part in parts if part["type"] != "thinking")]


def _wire_order(parts: list[_Object]) -> list[_Object]:
    return sorted(parts, key=lambda part: {"thinking": 0, "tool_call": 2}.get(part["type"], 1))


def _typed_by_data_alone(part: _Object) -> _Object:
    if part["type"] not in ("image", "file") or "data" in part:
        return part
    return {key: value for key, value in part.items() if key != "media_type"}


def _data_url(part: _Object) -> _Object:
    if part["type"] not in ("image", "file") or not {"data", "media_type"} <= part.keys():
        return part
    rest = {key: value for key, value in part.items() if key not in ("data", "media_type")}
    return {**rest, "url": f"data:{part['media_type']};base64,{part['data']}"}


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="tool-error-flag",
        where="messages[role=tool].is_error",
        effect=Effect.DROPPED,
        reason="a tool message has no field that says the tool failed; its text has to say so",
        rewrite=_without_in_tools("is_error"),
    ),
    Loss(
        name="tool-name",
        where="messages[role=tool].name",
        effect=Effect.DROPPED,
        reason="the schema of a tool message has no name; the call that it answers has one",
        rewrite=_without_in_tools("name"),
    ),
    Loss(
        name="foreign-thinking",
        where=f"messages[role=assistant].content[type=thinking, provider!={PROTOCOL}]",
        effect=Effect.DROPPED,
        reason="reasoning goes back only to the protocol that made it",
        rewrite=_in_assistants(_own_thinking),
    ),
    Loss(
        name="thinking-seal",
        where="messages[role=assistant].content[type=thinking].signature, .opaque",
        effect=Effect.DROPPED,
        reason="reasoning is a plain text field; only the name of that field is kept",
        rewrite=_in_parts(_bare_thinking),
    ),
    Loss(
        name="thinking-blocks",
        where="messages[role=assistant].content[type=thinking]",
        effect=Effect.MERGED,
        reason="a message has one reasoning text",
        rewrite=_in_assistants(_one_thinking),
    ),
    Loss(
        name="part-order",
        where="messages[role=assistant].content",
        effect=Effect.MOVED,
        reason="reasoning, text and calls are three fields, so their order among one another is not kept",
        rewrite=_in_assistants(_wire_order),
    ),
    Loss(
        name="media-type",
        where="messages[].content[type=image or file].media_type",
        effect=Effect.DROPPED,
        reason="only data travels with a media type; a url or file_id speaks for itself",
        rewrite=_in_parts(_typed_by_data_alone),
    ),
    Loss(
        name="data-url",
        where="messages[].content[type=image or file].data",
        effect=Effect.REWRITTEN,
        reason="data and media type travel as one data URL",
        rewrite=_in_parts(_data_url),
    ),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
