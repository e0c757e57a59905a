"""What a chat completions request cannot carry, declared as data."""

from copyfit_adapters.codec.known_losses import (
    data_as_url,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    media_typed_by_data_alone,
    names_dropped,
    surrogates_joined,
    tool_error_dropped,
)
from copyfit_adapters.codec.losses import Effect, Loss, Object, in_contents, in_parts
from copyfit_adapters.codec.reading import without
from copyfit_adapters.openai_chat.dialect import PROTOCOL, THINKING_FIELDS


def _bare_thinking(part: Object) -> Object:
    if part["type"] != "thinking":
        return part
    field = part.get("opaque", {}).get("field")
    opaque = {"field": field} if field in THINKING_FIELDS[1:] else {}
    return {**without(part, "signature"), "opaque": opaque}


def _one_thinking(parts: list[Object]) -> list[Object]:
    thinking = [part for part in parts if part["type"] == "thinking"]
    if len(thinking) < 2:
        return parts
    merged = {**thinking[0], "text": "".join(part["text"] for part in thinking)}
    return [merged, *(part for part in parts if part["type"] != "thinking")]


def _wire_order(parts: list[Object]) -> list[Object]:
    return sorted(parts, key=lambda part: {"thinking": 0, "tool_call": 2}.get(part["type"], 1))


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    tool_error_dropped(reason="a tool message has no field that says the tool failed; its text has to say so"),
    names_dropped("tool", reason="the schema of a tool message has no name; the call that it answers has one"),
    foreign_thinking_dropped(PROTOCOL),
    Loss(
        name="thinking-seal",
        where="messages[role=assistant].content[type=thinking].signature, .opaque",
        effect=Effect.DROPPED,
        reason="reasoning is a plain text field; only the name of that field is kept",
        rewrite=in_parts(_bare_thinking),
    ),
    Loss(
        name="thinking-blocks",
        where="messages[role=assistant].content[type=thinking]",
        effect=Effect.MERGED,
        reason="a message has one reasoning text",
        rewrite=in_contents(_one_thinking, "assistant"),
    ),
    Loss(
        name="part-order",
        where="messages[role=assistant].content",
        effect=Effect.MOVED,
        reason="reasoning, text and calls are three fields, so their order among one another is not kept",
        rewrite=in_contents(_wire_order, "assistant"),
    ),
    media_typed_by_data_alone(),
    data_as_url(),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
