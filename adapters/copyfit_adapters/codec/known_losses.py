"""The losses that more than one wire format has."""

from collections.abc import Mapping
from typing import Any

from copyfit_adapters.codec.json_text import as_arguments, as_object, as_object_text, join_surrogates
from copyfit_adapters.codec.losses import (
    Effect,
    InputData,
    Loss,
    Object,
    in_contents,
    in_messages,
    in_parts,
    in_settings,
)
from copyfit_adapters.codec.reading import DATA_URL, without

_MEDIA = ("image", "file")
_OPEN = frozenset({"parameters", "opaque", "json_schema"})
"""Fields of the shapes that hold data of others, where an "extra" is just a key."""


def foreign_extras_dropped(protocol: str) -> Loss:
    """Return the loss of every `extra` that is empty or belongs to another protocol than `protocol`."""

    def own(value: Any) -> Any:
        if isinstance(value, list):
            return [own(entry) for entry in value]
        if not isinstance(value, Mapping):
            return value
        kept = {key: entry if key in _OPEN else own(entry) for key, entry in value.items() if key != "extra"}
        mine = value.get("extra", {}).get(protocol)
        return {**kept, "extra": {protocol: mine}} if mine else kept

    return Loss(
        name="foreign-extra",
        where=f"every extra[!={protocol}]",
        effect=Effect.DROPPED,
        reason="fields of another protocol mean nothing to this one",
        rewrite=own,
    )


def foreign_thinking_dropped(protocol: str) -> Loss:
    """Return the loss of reasoning that another protocol than `protocol` made."""

    def own(part: Object) -> Object | None:
        return None if part["type"] == "thinking" and part["provider"] != protocol else part

    return Loss(
        name="foreign-thinking",
        where=f"messages[role=assistant].content[type=thinking, provider!={protocol}]",
        effect=Effect.DROPPED,
        reason="reasoning goes back only to the protocol that made it",
        rewrite=in_parts(own),
    )


def surrogates_joined() -> Loss:
    """Return the loss of the difference between the two halves of a surrogate pair and their character."""

    def joined(value: Any) -> Any:
        if isinstance(value, str):
            return join_surrogates(value)
        if isinstance(value, list):
            return [joined(entry) for entry in value]
        if isinstance(value, Mapping):
            return {joined(key): joined(entry) for key, entry in value.items()}
        return value

    return Loss(
        name="surrogate-pairs",
        where="every text",
        effect=Effect.MERGED,
        reason="JSON escapes have one form for a high and a low surrogate in a row: the character that they make",
        rewrite=joined,
    )


def arguments_parsed() -> Loss:
    """Return the loss of how a call's arguments were spelled, where they travel as an object."""

    def parsed(part: Object) -> Object:
        if part["type"] != "tool_call":
            return part
        return {**part, "arguments": as_arguments(as_object(part["arguments"]))}

    return Loss(
        name="arguments-text",
        where="messages[role=assistant].content[type=tool_call].arguments",
        effect=Effect.REWRITTEN,
        reason="arguments travel as an object: spacing goes, and a text that is none travels as a field of one",
        rewrite=in_parts(parsed),
    )


def arguments_mended() -> Loss:
    """Return the loss of a call's arguments that are no JSON object, where they travel as a text."""

    def mended(part: Object) -> Object:
        return {**part, "arguments": as_object_text(part["arguments"])} if part["type"] == "tool_call" else part

    return Loss(
        name="arguments-text",
        where="messages[role=assistant].content[type=tool_call].arguments",
        effect=Effect.REWRITTEN,
        reason="servers refuse a history with arguments that are no JSON object; such a text is a field of one",
        rewrite=in_parts(mended),
    )


def thinking_seal_dropped(*, reason: str) -> Loss:
    """Return the loss of all that reasoning has beside its text."""

    def bare(part: Object) -> Object:
        return {**without(part, "signature"), "opaque": {}} if part["type"] == "thinking" else part

    return Loss(
        name="thinking-seal",
        where="messages[role=assistant].content[type=thinking].signature, .opaque",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_parts(bare),
    )


def image_detail_dropped() -> Loss:
    """Return the loss of an image's level of detail."""
    return Loss(
        name="image-detail",
        where="messages[].content[type=image].detail",
        effect=Effect.DROPPED,
        reason="the protocol has no level of detail",
        rewrite=in_parts(lambda part: without(part, "detail") if part["type"] == "image" else part),
    )


def media_typed_by_data_alone() -> Loss:
    """Return the loss of the media type of an image or a file that is not given as data."""

    def typed(part: Object) -> Object:
        return part if part["type"] not in _MEDIA or "data" in part else without(part, "media_type")

    return Loss(
        name="media-type",
        where="messages[].content[type=image or file].media_type",
        effect=Effect.DROPPED,
        reason="only data travels with a media type; a url or file_id speaks for itself",
        rewrite=in_parts(typed),
    )


def data_as_url() -> Loss:
    """Return the loss of the difference between data with its media type and a data URL, which travels."""

    def joined(part: Object) -> Object:
        if part["type"] not in _MEDIA or not {"data", "media_type"} <= part.keys():
            return part
        url = f"data:{part['media_type']};base64,{part['data']}"
        return {**without(part, "data", "media_type"), "url": url}

    return Loss(
        name="data-url",
        where="messages[].content[type=image or file].data",
        effect=Effect.REWRITTEN,
        reason="data and media type travel as one data URL",
        rewrite=in_parts(joined),
    )


def url_as_data() -> Loss:
    """Return the loss of the difference between a data URL and its data with its media type, which travel."""

    def inline(part: Object) -> Object:
        found = DATA_URL.fullmatch(part.get("url", "")) if part["type"] in _MEDIA else None
        return {**without(part, "url"), "media_type": found[1], "data": found[2]} if found else part

    return Loss(
        name="data-url",
        where="messages[].content[type=image or file].url",
        effect=Effect.REWRITTEN,
        reason="a URL that holds base64 data travels as that data with its media type",
        rewrite=in_parts(inline),
    )


def names_dropped(*roles: str, reason: str) -> Loss:
    """Return the loss of the `name` of messages under `roles`."""

    def nameless(message: Object) -> Object:
        return without(message, "name") if message["role"] in roles else message

    return Loss(
        name="names",
        where=f"messages[role={' or '.join(roles)}].name",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_messages(nameless),
    )


def tool_error_dropped(
    *,
    reason: str = "a tool message has no field that says the tool failed; its text has to say so",
) -> Loss:
    """Return the loss of the mark of a failed tool."""

    def unmarked(message: Object) -> Object:
        return without(message, "is_error") if message["role"] == "tool" else message

    return Loss(
        name="tool-error-flag",
        where="messages[role=tool].is_error",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_messages(unmarked),
    )


def results_named(*, reason: str) -> Loss:
    """Return the loss of the difference between a result without a name and one with that of its call."""

    def named(data: InputData) -> InputData:
        names: dict[str, str] = {}
        found: list[Object] = []
        for message in data["messages"]:
            if message["role"] == "assistant" and not isinstance(message["content"], str):
                calls = (part for part in message["content"] if part["type"] == "tool_call")
                names |= {join_surrogates(call["id"]): call["name"] for call in calls}
            elif message["role"] == "tool" and "name" not in message:
                name = names.get(join_surrogates(message["call_id"]))
                message = message if name is None else {**message, "name": name}
            found.append(message)
        return {**data, "messages": found}

    return Loss(
        name="result-names",
        where="messages[role=tool].name",
        effect=Effect.REWRITTEN,
        reason=reason,
        rewrite=named,
    )


def tools_strict_dropped(*, reason: str) -> Loss:
    """Return the loss of the mark of a tool whose arguments are bound to its schema."""

    def unbound(data: InputData) -> InputData:
        return {**data, "tools": [without(tool, "strict") for tool in data["tools"]]}

    return Loss(
        name="strict-tools",
        where="tools[].strict",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=unbound,
    )


def setting_dropped(name: str, *, reason: str) -> Loss:
    """Return the loss of the setting `name`."""
    return Loss(
        name=name.replace("_", "-"),
        where=f"settings.{name}",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_settings(lambda settings, _: without(settings, name)),
    )


def schema_facts_dropped(*names: str, reason: str = "only the schema itself travels, and it binds") -> Loss:
    """Return the loss of the fields `names` of the response schema; one without them still is the same schema."""

    def bare(settings: Object, _: InputData) -> Object:
        schema = settings.get("response_schema")
        return settings if schema is None else {**settings, "response_schema": without(schema, *names)}

    return Loss(
        name="schema-facts",
        where=f"settings.response_schema.{', .'.join(names)}",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_settings(bare),
    )


def blank_system_dropped() -> Loss:
    """Return the loss of a system text of nothing but spaces, where the API refuses it."""
    return Loss(
        name="blank-system",
        where="system",
        effect=Effect.DROPPED,
        reason="the API refuses a text block without anything but spaces",
        rewrite=lambda data: data if data["system"].strip() else {**data, "system": ""},
    )


def text_as_part(*roles: str) -> Loss:
    """Return the loss of the difference between a plain text and one text part, which travels."""

    def parted(message: Object) -> Object:
        content = message["content"]
        if message["role"] not in roles or not isinstance(content, str):
            return message
        return {**message, "content": [{"type": "text", "text": content}]}

    return Loss(
        name="text-form",
        where=f"messages[role={' or '.join(roles)}].content",
        effect=Effect.REWRITTEN,
        reason="a plain text travels as one text block",
        rewrite=in_messages(parted),
    )


def empty_texts_dropped() -> Loss:
    """Return the loss of text parts without text, where the API refuses them."""

    def said(part: Object) -> Object | None:
        return None if part["type"] == "text" and not part["text"] and "extra" not in part else part

    return Loss(
        name="empty-texts",
        where="messages[].content[type=text]",
        effect=Effect.DROPPED,
        reason="the API refuses a text block without text",
        rewrite=in_parts(said),
    )


def closing_thinking_dropped(
    *,
    reason: str = "Claude refuses a message that ends with reasoning, as an answer does that was cut off in it",
) -> Loss:
    """Return the loss of the reasoning that a message of the assistant ends with."""

    def closed(parts: list[Object]) -> list[Object]:
        kept = list(parts)
        while kept and kept[-1]["type"] == "thinking":
            kept.pop()
        return kept

    return Loss(
        name="closing-thinking",
        where="messages[role=assistant].content[-1][type=thinking]",
        effect=Effect.DROPPED,
        reason=reason,
        rewrite=in_contents(closed, "assistant"),
    )


def empty_messages_dropped() -> Loss:
    """Return the loss of messages of user and assistant that have no part."""

    def kept(data: InputData) -> InputData:
        found = [message for message in data["messages"] if message["role"] == "tool" or message["content"]]
        return {**data, "messages": found}

    return Loss(
        name="empty-messages",
        where="messages[role=user or assistant]",
        effect=Effect.DROPPED,
        reason="the API refuses a message without content",
        rewrite=kept,
    )


def neighbours_merged() -> Loss:
    """Return the loss of the border between two messages of one role that have no fields of their own."""

    def merged(data: InputData) -> InputData:
        found: list[Object] = []
        for message in data["messages"]:
            last = found[-1] if found else message
            own = "extra" in last or "extra" in message
            if not found or own or message["role"] == "tool" or last["role"] != message["role"]:
                found.append(message)
            else:
                found[-1] = {**last, "content": [*last["content"], *message["content"]]}
        return {**data, "messages": found}

    return Loss(
        name="neighbours",
        where="messages[role=user or assistant]",
        effect=Effect.MERGED,
        reason="roles take turns: what stands side by side under one role is one message",
        rewrite=merged,
    )
