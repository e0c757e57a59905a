"""What a Converse request cannot carry, declared as data."""

from copyfit_adapters.bedrock_converse.dialect import MARK, PROTOCOL, sendable_id
from copyfit_adapters.bedrock_converse.media import media_type_of
from copyfit_adapters.bedrock_converse.names import DocumentNames
from copyfit_adapters.codec.call_ids import call_ids_rewritten
from copyfit_adapters.codec.known_losses import (
    arguments_parsed,
    blank_system_dropped,
    closing_thinking_dropped,
    empty_messages_dropped,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    image_detail_dropped,
    names_dropped,
    neighbours_merged,
    schema_facts_dropped,
    setting_dropped,
    surrogates_joined,
    text_as_part,
    url_as_data,
)
from copyfit_adapters.codec.losses import Effect, InputData, Loss, Object, in_parts, in_settings, own_extra
from copyfit_adapters.codec.reading import without


def _without_mark(part: Object) -> Object | None:
    return (
        None
        if part["type"] == "text" and not part["text"] and own_extra(part, PROTOCOL).keys() == {MARK}
        else part
    )


def _without_blank(part: Object) -> Object | None:
    return part if part["type"] != "text" or part["text"].strip() or "extra" in part else None


def _choice_of_tools(settings: Object, data: InputData) -> Object:
    config = own_extra(settings, PROTOCOL).get("toolConfig")
    offered = data["tools"] or (isinstance(config, dict) and config.get("tools"))
    return settings if offered else without(settings, "tool_choice")


def _possible_choice(settings: Object, _: InputData) -> Object:
    return without(settings, "tool_choice") if settings.get("tool_choice") == "none" else settings


def _typed(part: Object) -> Object:
    if part["type"] not in ("image", "file"):
        return part
    return {**part, "media_type": media_type_of(part["type"], part)}


def _named(data: InputData) -> InputData:
    names = DocumentNames()

    def named(message: Object) -> Object:
        if isinstance(message["content"], str):
            return message
        parts = [
            {**part, "filename": names.take(part.get("filename"))} if part["type"] == "file" else part
            for part in message["content"]
        ]
        return {**message, "content": parts}

    return {**data, "messages": [named(message) for message in data["messages"]]}


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="cache-marks",
        where=f"messages[].content[type=text].extra[{PROTOCOL}].{MARK}",
        effect=Effect.DROPPED,
        reason="where a prefix is cached is no part of what the model sees; sending may set and move the marks",
        rewrite=in_parts(_without_mark),
    ),
    names_dropped(
        "user",
        "assistant",
        "tool",
        reason="messages and tool results have no name; the call that a result answers has one",
    ),
    setting_dropped("seed", reason="the protocol has no seed"),
    setting_dropped("parallel_tool_calls", reason="the protocol leaves it to the model to make several calls"),
    schema_facts_dropped("strict", reason="the schema that travels binds"),
    Loss(
        name="choice-without-tools",
        where="settings.tool_choice",
        effect=Effect.DROPPED,
        reason="the API refuses a choice among tools where none is offered",
        rewrite=in_settings(_choice_of_tools),
    ),
    Loss(
        name="choice-none",
        where="settings.tool_choice",
        effect=Effect.DROPPED,
        reason=(
            "the protocol has no choice that forbids calls, and takes no calls in the history without the tools: "
            "the model may call one"
        ),
        rewrite=in_settings(_possible_choice),
    ),
    blank_system_dropped(),
    foreign_thinking_dropped(PROTOCOL),
    call_ids_rewritten(
        sendable_id,
        reason="the API refuses an id that is not of 1 to 64 letters, digits and a few other characters",
    ),
    arguments_parsed(),
    image_detail_dropped(),
    url_as_data(),
    Loss(
        name="media-type",
        where="messages[].content[type=image or file].media_type",
        effect=Effect.REWRITTEN,
        reason="what travels is the name of a format, which stands for one media type",
        rewrite=in_parts(_typed),
    ),
    Loss(
        name="document-names",
        where="messages[].content[type=file].filename",
        effect=Effect.REWRITTEN,
        reason=(
            "the API demands a name for each document, of letters, digits, single spaces, hyphens and brackets, "
            "that no other document of the request has"
        ),
        rewrite=_named,
    ),
    text_as_part("user", "assistant", "tool"),
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
