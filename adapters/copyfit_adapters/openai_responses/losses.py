"""What a Responses request cannot carry, declared as data."""

from copyfit_adapters.codec.known_losses import (
    arguments_mended,
    closing_thinking_dropped,
    data_as_url,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    media_typed_by_data_alone,
    names_dropped,
    setting_dropped,
    surrogates_joined,
    tool_error_dropped,
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
from copyfit_adapters.openai_responses.dialect import CACHE_MARK, PROTOCOL, STATELESS


def _unmarked(part: Object) -> Object:
    own = own_extra(part, PROTOCOL)
    return with_own_extra(part, PROTOCOL, without(own, CACHE_MARK)) if CACHE_MARK in own else part


def _stateless(settings: Object, _: InputData) -> Object:
    return with_own_extra(settings, PROTOCOL, {**STATELESS, **own_extra(settings, PROTOCOL)})


def _detailed(part: Object) -> Object:
    return {"detail": "auto", **part} if part["type"] == "image" else part


def _rows_joined(data: InputData) -> InputData:
    found: list[Object] = []
    for message in data["messages"]:
        if message["role"] == "assistant" and not message["content"] and not isinstance(message["content"], str):
            continue
        if found and message["role"] == found[-1]["role"] == "assistant":
            found[-1] = {**found[-1], "content": [*_parts(found[-1]), *_parts(message)]}
        else:
            found.append(message)
    return {**data, "messages": found}


def _parts(message: Object) -> list[Object]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _plain(message: Object) -> Object:
    match message["content"]:
        case []:
            return {**message, "content": ""}
        case [{"type": "text", "text": text, **more}] if not more:
            return {**message, "content": text}
    return message


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="cache-marks",
        where=f"messages[].content[].extra[{PROTOCOL}].{CACHE_MARK}",
        effect=Effect.DROPPED,
        reason="where a prefix is cached is no part of what the model sees; sending may set and move the marks",
        rewrite=in_parts(_unmarked),
    ),
    names_dropped(
        "user",
        "assistant",
        "tool",
        reason="a message has no name; the call that a result answers has one, and not every server knows another",
    ),
    tool_error_dropped(reason="the output of a call has no field that says it failed; its text has to say so"),
    setting_dropped("seed", reason="the protocol has no seed"),
    Loss(
        name="stop",
        where="settings.stop",
        effect=Effect.DROPPED,
        reason="the protocol has no stop sequences",
        rewrite=in_settings(lambda settings, _: {**settings, "stop": []}),
    ),
    Loss(
        name="stateless",
        where=f"settings.extra[{PROTOCOL}].store, .include",
        effect=Effect.REWRITTEN,
        reason="where the settings say nothing else, the provider keeps nothing and encrypts its reasoning",
        rewrite=in_settings(_stateless),
    ),
    foreign_thinking_dropped(PROTOCOL),
    closing_thinking_dropped(
        reason="the API refuses reasoning that led to nothing, as in an answer that was cut off"
    ),
    arguments_mended(),
    Loss(
        name="image-detail",
        where="messages[].content[type=image].detail",
        effect=Effect.REWRITTEN,
        reason="the protocol demands a level of detail; none is auto",
        rewrite=in_parts(_detailed),
    ),
    media_typed_by_data_alone(),
    data_as_url(),
    Loss(
        name="neighbours",
        where="messages[role=assistant]",
        effect=Effect.MERGED,
        reason="what an assistant said is a row of items: neighbours are one row, and one without parts is none",
        rewrite=_rows_joined,
    ),
    Loss(
        name="text-form",
        where="messages[].content",
        effect=Effect.REWRITTEN,
        reason="one text without fields of its own travels as a plain text, and no content as an empty one",
        rewrite=in_messages(_plain),
    ),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
