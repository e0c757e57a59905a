"""What a messages request cannot carry, declared as data."""

from collections.abc import Callable, Mapping
from typing import Any

from copyfit_adapters.anthropic_messages.arguments import as_arguments, as_input
from copyfit_adapters.anthropic_messages.blocks import DATA_URL
from copyfit_adapters.anthropic_messages.dialect import DEFAULT_MAX_TOKENS, PROTOCOL, without
from copyfit_adapters.codec import Effect, InputData, Loss, foreign_extras_dropped, in_messages, surrogates_joined

_Object = Mapping[str, Any]


def _in_parts(rewrite: Callable[[_Object], _Object | None]) -> Callable[[InputData], InputData]:
    """Return the rewriting of a whole input that does `rewrite` to each part; None takes the part away."""

    def one(message: _Object) -> _Object:
        content = message["content"]
        if isinstance(content, str):
            return message
        parts = [rewrite(part) for part in content]
        return {**message, "content": [part for part in parts if part is not None]}

    return in_messages(one)


def _in_settings(rewrite: Callable[[_Object, InputData], _Object]) -> Callable[[InputData], InputData]:
    return lambda data: {**data, "settings": rewrite(data["settings"], data)}


def _unmarked(value: _Object) -> _Object:
    own = value.get("extra", {}).get(PROTOCOL)
    if not own or "cache_control" not in own:
        return value
    rest = without(own, "cache_control")
    return {**value, "extra": {**value["extra"], PROTOCOL: rest}} if rest else without(value, "extra")


def _without_marks(data: InputData) -> InputData:
    data = in_messages(_unmarked)(_in_parts(_unmarked)(data))
    return {**data, "tools": [_unmarked(tool) for tool in data["tools"]], "settings": _unmarked(data["settings"])}


def _choice_of_tools(settings: _Object, data: InputData) -> _Object:
    if data["tools"] or "tools" in settings.get("extra", {}).get(PROTOCOL, {}):
        return settings
    return without(settings, "tool_choice", "parallel_tool_calls")


def _explicit_choice(settings: _Object, data: InputData) -> _Object:
    if settings.get("tool_choice") == "none":
        return without(settings, "parallel_tool_calls")
    if "tool_choice" not in settings and "parallel_tool_calls" in settings:
        return {**settings, "tool_choice": "auto"}
    return settings


def _capped(settings: _Object, data: InputData) -> _Object:
    own = settings.get("extra", {}).get(PROTOCOL, {})
    return settings if "max_tokens" in own else {"max_output_tokens": DEFAULT_MAX_TOKENS, **settings}


def _own_thinking(part: _Object) -> _Object | None:
    return None if part["type"] == "thinking" and part["provider"] != PROTOCOL else part


def _parsed_arguments(part: _Object) -> _Object:
    if part["type"] != "tool_call":
        return part
    return {**part, "arguments": as_arguments(as_input(part["arguments"]))}


def _without_detail(part: _Object) -> _Object:
    return without(part, "detail") if part["type"] == "image" else part


def _typed_by_data_alone(part: _Object) -> _Object:
    return part if part["type"] not in ("image", "file") or "data" in part else without(part, "media_type")


def _inline_data(part: _Object) -> _Object:
    inline = DATA_URL.fullmatch(part.get("url", "")) if part["type"] in ("image", "file") else None
    return {**without(part, "url"), "media_type": inline[1], "data": inline[2]} if inline else part


def _text_as_part(message: _Object) -> _Object:
    content = message["content"]
    if message["role"] == "tool" or not isinstance(content, str):
        return message
    return {**message, "content": [{"type": "text", "text": content}]}


def _said(part: _Object) -> _Object | None:
    return None if part["type"] == "text" and not part["text"] and "extra" not in part else part


def _without_empty(data: InputData) -> InputData:
    kept = [message for message in data["messages"] if message["role"] == "tool" or message["content"]]
    return {**data, "messages": kept}


def _neighbours(data: InputData) -> InputData:
    merged: list[_Object] = []
    for message in data["messages"]:
        last = merged[-1] if merged else message
        apart = (
            message["role"] == "tool" or last["role"] != message["role"] or "extra" in last or "extra" in message
        )
        if not merged or apart:
            merged.append(message)
        else:
            merged[-1] = {**last, "content": [*last["content"], *message["content"]]}
    return {**data, "messages": merged}


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="cache-marks",
        where=f"every extra[{PROTOCOL}].cache_control",
        effect=Effect.DROPPED,
        reason="where a prefix is cached is no part of what the model sees; sending may set and move the marks",
        rewrite=_without_marks,
    ),
    Loss(
        name="names",
        where="messages[].name",
        effect=Effect.DROPPED,
        reason="messages and tool results have no name; the call that a result answers has one",
        rewrite=in_messages(lambda message: without(message, "name")),
    ),
    Loss(
        name="seed",
        where="settings.seed",
        effect=Effect.DROPPED,
        reason="the protocol has no seed",
        rewrite=_in_settings(lambda settings, _: without(settings, "seed")),
    ),
    Loss(
        name="choice-without-tools",
        where="settings.tool_choice, .parallel_tool_calls",
        effect=Effect.DROPPED,
        reason="the API refuses a choice among tools where none is offered",
        rewrite=_in_settings(_choice_of_tools),
    ),
    Loss(
        name="parallel-in-choice",
        where="settings.parallel_tool_calls",
        effect=Effect.REWRITTEN,
        reason="it is a field of the tool choice: without one that is auto, and the choice none does not have it",
        rewrite=_in_settings(_explicit_choice),
    ),
    Loss(
        name="default-cap",
        where="settings.max_output_tokens",
        effect=Effect.REWRITTEN,
        reason=f"the protocol demands a cap; where the settings name none it is {DEFAULT_MAX_TOKENS} tokens",
        rewrite=_in_settings(_capped),
    ),
    Loss(
        name="foreign-thinking",
        where=f"messages[role=assistant].content[type=thinking, provider!={PROTOCOL}]",
        effect=Effect.DROPPED,
        reason="reasoning goes back only to the protocol that made it",
        rewrite=_in_parts(_own_thinking),
    ),
    Loss(
        name="arguments-text",
        where="messages[role=assistant].content[type=tool_call].arguments",
        effect=Effect.REWRITTEN,
        reason="arguments travel as an object: spacing goes, and a text that is none travels as a field of one",
        rewrite=_in_parts(_parsed_arguments),
    ),
    Loss(
        name="image-detail",
        where="messages[].content[type=image].detail",
        effect=Effect.DROPPED,
        reason="the protocol has no level of detail",
        rewrite=_in_parts(_without_detail),
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
        where="messages[].content[type=image or file].url",
        effect=Effect.REWRITTEN,
        reason="a URL that holds base64 data travels as that data with its media type",
        rewrite=_in_parts(_inline_data),
    ),
    Loss(
        name="text-form",
        where="messages[role=user or assistant].content",
        effect=Effect.REWRITTEN,
        reason="a plain text travels as one text block",
        rewrite=in_messages(_text_as_part),
    ),
    Loss(
        name="empty-texts",
        where="messages[].content[type=text]",
        effect=Effect.DROPPED,
        reason="the API refuses a text block without text",
        rewrite=_in_parts(_said),
    ),
    Loss(
        name="empty-messages",
        where="messages[role=user or assistant]",
        effect=Effect.DROPPED,
        reason="the API refuses a message without content",
        rewrite=_without_empty,
    ),
    Loss(
        name="neighbours",
        where="messages[role=user or assistant]",
        effect=Effect.MERGED,
        reason="roles take turns: what stands side by side under one role is one message",
        rewrite=_neighbours,
    ),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
