"""What a messages request cannot carry, declared as data."""

from copyfit_adapters.anthropic_messages.dialect import DEFAULT_MAX_TOKENS, PROTOCOL, sendable_id
from copyfit_adapters.codec.call_ids import call_ids_rewritten
from copyfit_adapters.codec.known_losses import (
    arguments_parsed,
    blank_system_dropped,
    closing_thinking_dropped,
    empty_messages_dropped,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    image_detail_dropped,
    media_typed_by_data_alone,
    names_dropped,
    neighbours_merged,
    schema_facts_dropped,
    setting_dropped,
    surrogates_joined,
    text_as_part,
    url_as_data,
)
from copyfit_adapters.codec.losses import (
    Effect,
    InputData,
    Loss,
    Object,
    in_messages,
    in_parts,
    in_settings,
    own_extra,
    with_own_extra,
)
from copyfit_adapters.codec.reading import without


def _unmarked(holder: Object) -> Object:
    own = own_extra(holder, PROTOCOL)
    return with_own_extra(holder, PROTOCOL, without(own, "cache_control")) if "cache_control" in own else holder


def _without_marks(data: InputData) -> InputData:
    data = in_messages(_unmarked)(in_parts(_unmarked)(data))
    return {**data, "tools": [_unmarked(tool) for tool in data["tools"]], "settings": _unmarked(data["settings"])}


def _choice_of_tools(settings: Object, data: InputData) -> Object:
    if data["tools"] or "tools" in own_extra(settings, PROTOCOL):
        return settings
    return without(settings, "tool_choice", "parallel_tool_calls")


def _explicit_choice(settings: Object, data: InputData) -> Object:
    if settings.get("tool_choice") == "none":
        return without(settings, "parallel_tool_calls")
    if "tool_choice" not in settings and "parallel_tool_calls" in settings:
        return {**settings, "tool_choice": "auto"}
    return settings


def _capped(settings: Object, data: InputData) -> Object:
    own = own_extra(settings, PROTOCOL)
    return settings if "max_tokens" in own else {"max_output_tokens": DEFAULT_MAX_TOKENS, **settings}


def _without_blank(part: Object) -> Object | None:
    blank = part["type"] == "text" and not part["text"].strip()
    return None if blank and "type" not in own_extra(part, PROTOCOL) else part


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="cache-marks",
        where=f"every extra[{PROTOCOL}].cache_control",
        effect=Effect.DROPPED,
        reason="where a prefix is cached is no part of what the model sees; sending may set and move the marks",
        rewrite=_without_marks,
    ),
    names_dropped(
        "user",
        "assistant",
        "tool",
        reason="messages and tool results have no name; the call that a result answers has one",
    ),
    blank_system_dropped(),
    setting_dropped("seed", reason="the protocol has no seed"),
    schema_facts_dropped("name", "description", "strict"),
    Loss(
        name="choice-without-tools",
        where="settings.tool_choice, .parallel_tool_calls",
        effect=Effect.DROPPED,
        reason="the API refuses a choice among tools where none is offered",
        rewrite=in_settings(_choice_of_tools),
    ),
    Loss(
        name="parallel-in-choice",
        where="settings.parallel_tool_calls",
        effect=Effect.REWRITTEN,
        reason="it is a field of the tool choice: without one that is auto, and the choice none does not have it",
        rewrite=in_settings(_explicit_choice),
    ),
    Loss(
        name="default-cap",
        where="settings.max_output_tokens",
        effect=Effect.REWRITTEN,
        reason=f"the protocol demands a cap; where the settings name none it is {DEFAULT_MAX_TOKENS} tokens",
        rewrite=in_settings(_capped),
    ),
    foreign_thinking_dropped(PROTOCOL),
    call_ids_rewritten(
        sendable_id, reason="the API refuses an id that is not of letters, digits, underscores and hyphens"
    ),
    arguments_parsed(),
    image_detail_dropped(),
    media_typed_by_data_alone(),
    url_as_data(),
    text_as_part("user", "assistant"),
    Loss(
        name="blank-texts",
        where="messages[].content[type=text]",
        effect=Effect.DROPPED,
        reason="the API refuses a text block without anything but spaces",
        rewrite=in_parts(_without_blank),
    ),
    closing_thinking_dropped(),
    empty_messages_dropped(),
    neighbours_merged(),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
