"""What a request to Mistral cannot carry, declared as data."""

from copyfit_adapters.codec.call_ids import call_ids_rewritten
from copyfit_adapters.codec.known_losses import (
    arguments_mended,
    data_as_url,
    foreign_extras_dropped,
    foreign_thinking_dropped,
    media_typed_by_data_alone,
    names_dropped,
    surrogates_joined,
    tool_error_dropped,
)
from copyfit_adapters.codec.losses import Effect, InputData, Loss, Object, in_contents, in_parts
from copyfit_adapters.codec.reading import without
from copyfit_adapters.mistral_chat.dialect import BRIDGE, PROTOCOL, sendable_id


def _calls_last(parts: list[Object]) -> list[Object]:
    return sorted(parts, key=lambda part: part["type"] == "tool_call")


def _nameless_by_id(part: Object) -> Object:
    return without(part, "filename") if part["type"] == "file" and "file_id" in part else part


def _spoken(data: InputData) -> InputData:
    silent = ({"role": "assistant", "content": ""}, {"role": "assistant", "content": []})
    return {**data, "messages": [message for message in data["messages"] if message not in silent]}


def _unbridged(data: InputData) -> InputData:
    messages: list[Object] = data["messages"]
    around = zip([None, *messages], messages, [*messages[1:], None], strict=False)
    kept = [each for before, each, behind in around if each != _BRIDGING or not _meet(before, behind)]
    return {**data, "messages": kept}


def _meet(before: Object | None, behind: Object | None) -> bool:
    return bool(before and behind and before["role"] == "tool" and behind["role"] == "user")


_BRIDGING = {"role": "assistant", "content": BRIDGE}

LOSSES: tuple[Loss, ...] = (
    foreign_extras_dropped(PROTOCOL),
    tool_error_dropped(),
    names_dropped(
        "user", "assistant", reason="only a tool message has a name; the API refuses others (extra_forbidden)"
    ),
    foreign_thinking_dropped(PROTOCOL),
    Loss(
        name="silence",
        where="messages[role=assistant]",
        effect=Effect.DROPPED,
        reason="the API refuses an assistant's message without content and calls",
        rewrite=_spoken,
    ),
    Loss(
        name="bridges",
        where=f"messages[role=assistant, between tool and user].content[={BRIDGE}]",
        effect=Effect.REWRITTEN,
        reason="a server that refuses a user's message after a result gets this word of the assistant between",
        rewrite=_unbridged,
    ),
    call_ids_rewritten(
        sendable_id,
        reason="the API refuses an id that is not nine letters or digits; the same id is rewritten the same way",
    ),
    arguments_mended(),
    Loss(
        name="part-order",
        where="messages[role=assistant].content",
        effect=Effect.MOVED,
        reason="calls are a field beside the content, so their place among its chunks is not kept",
        rewrite=in_contents(_calls_last, "assistant"),
    ),
    Loss(
        name="file-name",
        where="messages[].content[type=file, file_id].filename",
        effect=Effect.DROPPED,
        reason="a file that the provider knows by its id travels as that id alone",
        rewrite=in_parts(_nameless_by_id),
    ),
    media_typed_by_data_alone(),
    data_as_url(),
    surrogates_joined(),
)
"""Everything that is in a model input and not in its request; applied in this order."""
