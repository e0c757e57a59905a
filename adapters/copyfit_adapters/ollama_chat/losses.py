"""What a chat request to Ollama cannot carry, declared as data."""

from copyfit_adapters.codec.known_losses import (
    arguments_parsed,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    image_detail_dropped,
    names_dropped,
    results_named,
    schema_facts_dropped,
    setting_dropped,
    surrogates_joined,
    thinking_seal_dropped,
    tool_error_dropped,
    tools_strict_dropped,
    url_as_data,
)
from copyfit_adapters.codec.losses import (
    Effect,
    InputData,
    Loss,
    Object,
    in_contents,
    in_messages,
    in_parts,
    in_settings,
    own_extra,
    with_own_extra,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.ollama_chat.dialect import PROTOCOL, SWITCHES

_ORDER = {"thinking": 0, "text": 1, "image": 2, "tool_call": 3}


def _unswitched(settings: Object, _: InputData) -> Object:
    own = own_extra(settings, PROTOCOL)
    rest = {name: value for name, value in own.items() if not (name in SWITCHES and value is False)}
    return settings if rest == own else with_own_extra(settings, PROTOCOL, rest)


def _bare_image(part: Object) -> Object:
    return without(part, "media_type") if part["type"] == "image" else part


def _joined(parts: list[Object], kind: str) -> list[Object]:
    """Return `parts` with the texts of one kind in the first of them, or without them if they say nothing."""
    same = [index for index, part in enumerate(parts) if part["type"] == kind]
    text = "".join(parts[index]["text"] for index in same)
    gone = same[1:] if text else same
    whole = {index: {**parts[index], "text": text} for index in same[:1]}
    return [whole.get(index, part) for index, part in enumerate(parts) if index not in gone]


def _plain(message: Object) -> Object:
    match message["content"]:
        case []:
            return {**message, "content": ""}
        case [{"type": "text", "text": text}]:
            return {**message, "content": text}
    return message


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    Loss(
        name="overflow-switches",
        where=f"settings.extra[{PROTOCOL}].truncate, .shift",
        effect=Effect.DROPPED,
        reason="that the server shall not cut the input is no part of what the model sees; sending sets both",
        rewrite=in_settings(_unswitched),
    ),
    setting_dropped("tool_choice", reason="the protocol has no tool choice: the model decides"),
    setting_dropped("parallel_tool_calls", reason="the protocol cannot forbid a second call"),
    schema_facts_dropped("name", "description", "strict"),
    tools_strict_dropped(reason="the protocol does not bind arguments to their schema"),
    names_dropped("user", "assistant", reason="only the result of a tool has a name, that of its tool"),
    results_named(reason="a result that names no tool travels under the name of the call that it answers"),
    tool_error_dropped(),
    foreign_thinking_dropped(PROTOCOL),
    arguments_parsed(),
    image_detail_dropped(),
    url_as_data(),
    Loss(
        name="media-type",
        where="messages[].content[type=image].media_type",
        effect=Effect.DROPPED,
        reason="only the data of an image travels; the server looks at its first bytes",
        rewrite=in_parts(_bare_image),
    ),
    thinking_seal_dropped(reason="reasoning is a plain text field"),
    Loss(
        name="thinking-blocks",
        where="messages[role=assistant].content[type=thinking]",
        effect=Effect.MERGED,
        reason="a message has one reasoning text, or none where it would be empty",
        rewrite=in_contents(lambda parts: _joined(parts, "thinking"), "assistant"),
    ),
    Loss(
        name="text-blocks",
        where="messages[].content[type=text]",
        effect=Effect.MERGED,
        reason="a message has one text, in which its text parts follow one another",
        rewrite=in_contents(lambda parts: _joined(parts, "text")),
    ),
    Loss(
        name="part-order",
        where="messages[].content",
        effect=Effect.MOVED,
        reason="reasoning, text, images and calls are four fields, so their order among one another is not kept",
        rewrite=in_contents(lambda parts: sorted(parts, key=lambda part: _ORDER.get(part["type"], len(_ORDER)))),
    ),
    Loss(
        name="text-form",
        where="messages[].content",
        effect=Effect.REWRITTEN,
        reason="content is always a plain text, so one text part, or no part, is no different from it",
        rewrite=in_messages(_plain),
    ),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
