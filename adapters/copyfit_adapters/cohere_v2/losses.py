"""What a request of Cohere's chat API v2 cannot carry, declared as data."""

from copyfit_adapters.codec.json_text import as_arguments, as_object
from copyfit_adapters.codec.known_losses import (
    data_as_url,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    media_typed_by_data_alone,
    names_dropped,
    schema_facts_dropped,
    setting_dropped,
    surrogates_joined,
    tool_error_dropped,
)
from copyfit_adapters.codec.losses import (
    Effect,
    InputData,
    Loss,
    Object,
    in_contents,
    in_parts,
    in_settings,
    own_extra,
)
from copyfit_adapters.codec.reading import without
from copyfit_adapters.cohere_v2.dialect import DOCUMENT, PLANNED, PROTOCOL
from copyfit_adapters.cohere_v2.fields import strict_for_all


def _free_choice(settings: Object, data: InputData) -> Object:
    return without(settings, "tool_choice") if settings.get("tool_choice") == "auto" else settings


def _one_strictness(data: InputData) -> InputData:
    strict = strict_for_all([tool.get("strict") for tool in data["tools"]])
    if strict is None:
        return data
    return {**data, "tools": [{**tool, "strict": strict} for tool in data["tools"]]}


def _is_plan(part: Object) -> bool:
    return bool(part["type"] == "text" and own_extra(part, PROTOCOL) == PLANNED)


def _one_plan(parts: list[Object]) -> list[Object]:
    plans = [part for part in parts if _is_plan(part)]
    if len(plans) < 2:
        return parts
    merged = {**plans[0], "text": "".join(part["text"] for part in plans)}
    return [*(part for part in parts if not _is_plan(part)), merged]


def _wire_order(parts: list[Object]) -> list[Object]:
    return sorted(parts, key=lambda part: 2 if part["type"] == "tool_call" else int(_is_plan(part)))


def _compact_document(part: Object) -> Object:
    if part["type"] != "text" or own_extra(part, PROTOCOL).get("type") != DOCUMENT or not part["text"]:
        return part
    return {**part, "text": as_arguments(as_object(part["text"]))}


def _says_something(message: Object) -> bool:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = any(part["type"] != "text" or part["text"] or own_extra(part, PROTOCOL) for part in parts)
    return said or message["role"] != "assistant" or bool(own_extra(message, PROTOCOL))


def _without_empty_messages(data: InputData) -> InputData:
    return {**data, "messages": [message for message in data["messages"] if _says_something(message)]}


LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    names_dropped(
        "user",
        "assistant",
        "tool",
        reason="messages have no name; the call that a result answers has one",
    ),
    tool_error_dropped(),
    setting_dropped("parallel_tool_calls", reason="the protocol cannot keep the model to one call at a time"),
    schema_facts_dropped("name", "description", "strict"),
    Loss(
        name="free-choice",
        where="settings.tool_choice",
        effect=Effect.DROPPED,
        reason="the model chooses freely where the request names no choice; there is no word for it",
        rewrite=in_settings(_free_choice),
    ),
    Loss(
        name="strict-tools",
        where="tools[].strict",
        effect=Effect.MERGED,
        reason="one field holds all tools to their schemas or none; what one tool demands, all get",
        rewrite=_one_strictness,
    ),
    foreign_thinking_dropped(PROTOCOL),
    Loss(
        name="empty-messages",
        where="messages[role=assistant]",
        effect=Effect.DROPPED,
        reason="the API refuses a message that says nothing",
        rewrite=_without_empty_messages,
    ),
    Loss(
        name="thinking-seal",
        where="messages[role=assistant].content[type=thinking].signature",
        effect=Effect.DROPPED,
        reason="reasoning is a plain text that nothing seals",
        rewrite=in_parts(lambda part: without(part, "signature") if part["type"] == "thinking" else part),
    ),
    Loss(
        name="tool-plans",
        where=f"messages[role=assistant].content[extra[{PROTOCOL}].type=tool_plan]",
        effect=Effect.MERGED,
        reason="a message has one tool plan",
        rewrite=in_contents(_one_plan, "assistant"),
    ),
    Loss(
        name="part-order",
        where="messages[role=assistant].content",
        effect=Effect.MOVED,
        reason="content, tool plan and calls are three fields, so their order among one another is not kept",
        rewrite=in_contents(_wire_order, "assistant"),
    ),
    Loss(
        name="document-text",
        where=f"messages[].content[extra[{PROTOCOL}].type=document].text",
        effect=Effect.REWRITTEN,
        reason="the data of a document travels as an object, so the spacing of its text goes",
        rewrite=in_parts(_compact_document),
    ),
    media_typed_by_data_alone(),
    data_as_url(),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
