"""Give calls the ids that an API takes, where those of another server's calls would be refused."""

import re
from collections.abc import Callable
from hashlib import sha256

from copyfit_adapters.codec.json_text import join_surrogates
from copyfit_adapters.codec.losses import Effect, InputData, Loss, Object, in_messages, in_parts


def sendable_id(call_id: str, allowed: re.Pattern[str]) -> str:
    """Return `call_id` if its form is `allowed`, or else one of its digest.

    The same id is rewritten the same way wherever it stands, so that a call and its result still meet. Some models
    write ids such as ``functions.read:0`` (Kimi), which Claude refuses.
    """
    if allowed.fullmatch(call_id):
        return call_id
    return "call_" + sha256(join_surrogates(call_id).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def call_ids_rewritten(sendable: Callable[[str], str], *, reason: str) -> Loss:
    """Return the loss of ids that the API refuses, for which it gets what `sendable` makes of them."""

    def in_result(message: Object) -> Object:
        return {**message, "call_id": sendable(message["call_id"])} if message["role"] == "tool" else message

    def in_call(part: Object) -> Object:
        return {**part, "id": sendable(part["id"])} if part["type"] == "tool_call" else part

    def rewritten(data: InputData) -> InputData:
        return in_messages(in_result)(in_parts(in_call)(data))

    return Loss(
        name="call-ids",
        where="messages[role=assistant].content[type=tool_call].id, messages[role=tool].call_id",
        effect=Effect.REWRITTEN,
        reason=reason,
        rewrite=rewritten,
    )
