"""What a chat completions request cannot carry, declared as data."""

from copyfit_adapters.codec.known_losses import (
    arguments_mended,
    data_as_url,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    media_typed_by_data_alone,
    names_dropped,
    surrogates_joined,
    thinking_seal_dropped,
    tool_error_dropped,
)
from copyfit_adapters.codec.losses import (
    Effect,
    Loss,
    Object,
    in_contents,
    in_messages,
    in_parts,
    own_extra,
    with_own_extra,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.openai_chat.dialect import PROTOCOL, THINKING_FIELDS
from copyfit_adapters.openai_chat.tool_media import move_shown


def _one_thinking(parts: list[Object]) -> list[Object]:
    thinking = [part for part in parts if part["type"] == "thinking"]
    if len(thinking) < 2:
        return parts
    merged = {**thinking[0], "text": "".join(part["text"] for part in thinking)}
    return [merged, *(part for part in parts if part["type"] != "thinking")]


def _thought(part: Object) -> Object | None:
    return None if part["type"] == "thinking" and not part["text"].strip() else part


def _said_once(message: Object) -> Object:
    own = own_extra(message, PROTOCOL)
    if message["role"] != "assistant" or not own.keys() & set(THINKING_FIELDS):
        return message
    return with_own_extra(message, PROTOCOL, without(own, *THINKING_FIELDS))


def _emptied(message: Object) -> Object:
    content = message["content"]
    if isinstance(content, list):
        said = [part for part in content if part["type"] != "thinking"]
        if said == [{"type": "text", "text": ""}] and len(said) < len(content):
            content = [part for part in content if part["type"] == "thinking"]
    return {**message, "content": content or ""}


def _wire_order(parts: list[Object]) -> list[Object]:
    return sorted(parts, key=lambda part: {"thinking": 0, "tool_call": 2}.get(part["type"], 1))


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    tool_error_dropped(),
    names_dropped("tool", reason="the schema of a tool message has no name; the call that it answers has one"),
    foreign_thinking_dropped(PROTOCOL),
    thinking_seal_dropped(
        reason="reasoning is a plain text field, under the name that it came in or the one that the server knows"
    ),
    Loss(
        name="thinking-blocks",
        where="messages[role=assistant].content[type=thinking]",
        effect=Effect.MERGED,
        reason="a message has one reasoning text",
        rewrite=in_contents(_one_thinking, "assistant"),
    ),
    Loss(
        name="blank-thinking",
        where="messages[role=assistant].content[type=thinking].text",
        effect=Effect.DROPPED,
        reason="reasoning that is blank says nothing",
        rewrite=in_parts(_thought),
    ),
    Loss(
        name="reasoning-copies",
        where=f"messages[role=assistant].extra[{PROTOCOL}].reasoning_content, .reasoning",
        effect=Effect.DROPPED,
        reason="a server that knows one name for reasoning gets it there once, and a blank if it demands some",
        rewrite=in_messages(_said_once),
    ),
    Loss(
        name="tool-media",
        where="messages[role=tool].content[type=image or file]",
        effect=Effect.MOVED,
        reason="OpenAI's tool results are text: what they show follows their row as a message of the user",
        rewrite=move_shown,
    ),
    Loss(
        name="empty-content",
        where="messages[].content",
        effect=Effect.REWRITTEN,
        reason="a content without parts travels as an empty text, which beside reasoning alone says nothing",
        rewrite=in_messages(_emptied),
    ),
    arguments_mended(),
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
