"""Put what belongs to litellm, and to one of its providers, where the chat completions codec looks, and back.

litellm takes and gives chat completions messages, so the codec of that protocol writes and reads them. Its own
fields stand in an `extra` under ``litellm``; what an answer brought, under its maker: ``litellm:anthropic`` for a
model of Anthropic. Reasoning has a maker too, and goes back to no other.
"""

import logging
from collections.abc import Mapping
from typing import Any

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Message, Part, ThinkingPart
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.answers.reply import spoken
from copyfit_adapters.codec.reading import without
from copyfit_adapters.openai_chat.dialect import PROTOCOL as CHAT

PROTOCOL = "litellm"
"""The name under which `extra` holds fields of litellm's own, for whatever provider."""

_BLOCKS = "thinking_blocks"
"""litellm's field for reasoning with its seals, as Anthropic's API has it, beside the text of all of it."""
_SPECIFIC = "provider_specific_fields"
"""litellm's field for what only one provider says; it repeats the blocks."""

_LOG = logging.getLogger("copyfit.adapters")

Extra = Mapping[str, Mapping[str, Any]]


def maker_of(provider: str) -> str:
    """Return the name under which a message holds what `provider` said through litellm."""
    return f"{PROTOCOL}:{provider}"


def outgoing(model_input: ModelInput, maker: str, known: IdentityMemo[Message]) -> ModelInput:
    """Return `model_input` as the chat completions codec shall see it; `known` keeps the messages that change."""
    settings = model_input.settings
    return ModelInput(
        model_input.system,
        tuple(_sent_once(message, maker, known) for message in model_input.messages),
        tuple(tool.model_copy(update={"extra": _sent(tool.extra, maker)}) for tool in model_input.tools),
        settings.model_copy(update={"extra": _sent(settings.extra, maker)}),
    )


def incoming(said: AssistantMessage, maker: str) -> AssistantMessage:
    """Return an answer as `maker` said it; the codec read it from litellm's chat completion."""
    extra = dict(said.extra.get(CHAT, {}))
    blocks, specific = extra.get(_BLOCKS), extra.get(_SPECIFIC)
    if isinstance(specific, dict) and blocks is not None and specific.get(_BLOCKS) == blocks:
        extra[_SPECIFIC] = without(specific, _BLOCKS)
    thought = [part for part in said.parts if isinstance(part, ThinkingPart)]
    sealed = _sealed(blocks, "".join(part.text for part in thought), maker)
    if sealed:
        del extra[_BLOCKS]
    extra = spoken(extra)
    content: str | tuple[Any, ...] = said.content
    if sealed or not isinstance(content, str):
        rest = [part for part in said.parts if not isinstance(part, ThinkingPart)]
        thought = sealed or [part.model_copy(update={"provider": maker}) for part in thought]
        content = (*thought, *(_with_extra(part, {maker: part.extra.get(CHAT, {})}) for part in rest))
    return said.model_copy(update={"content": content, "extra": {maker: extra} if extra else {}})


def _sealed(blocks: Any, text: str, maker: str) -> list[ThinkingPart]:
    """Return one part for each of litellm's thinking `blocks`, if together they say the `text` and no more."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return []
    parts = []
    for block in blocks:
        said, seal = block.get("thinking"), block.get("signature")
        if not isinstance(said, str | None) or not isinstance(seal, str | None):
            return []
        # The index is the place of a piece in its stream.
        opaque = {"block": without(block, "thinking", "signature", "index")}
        parts.append(ThinkingPart(text=said or "", signature=seal, provider=maker, opaque=opaque))
    return parts if "".join(part.text for part in parts) == text else []


def _sent_once(message: Message, maker: str, known: IdentityMemo[Message]) -> Message:
    found = known.get(message)
    if found is None:
        found = _sent_message(message, maker)
        if found is not message:
            known.keep(message, found)
    return found


def _sent_message(message: Message, maker: str) -> Message:
    plain = isinstance(message.content, str)
    if not message.extra and (plain or not any(map(_is_special, message.parts))):
        return message
    extra = _sent(message.extra, maker)
    if plain:
        return message.model_copy(update={"extra": extra})
    rest = [
        _with_extra(part, _sent(part.extra, maker)) for part in message.parts if not isinstance(part, ThinkingPart)
    ]
    thought = [part for part in message.parts if isinstance(part, ThinkingPart)]
    own = [part for part in thought if part.provider == maker]
    foreign = {part.provider for part in thought} - {maker}
    if foreign:
        _LOG.warning("%s does not take the reasoning that %s made.", maker, " and ".join(sorted(foreign)))
    blocks = [_block(part) for part in own if "block" in part.opaque]
    if blocks:
        extra = {CHAT: {**extra.get(CHAT, {}), _BLOCKS: blocks}}
    text = "".join(part.text for part in own)
    if text:
        opaque = next((part.opaque for part in own if "block" not in part.opaque), {})
        rest.insert(0, ThinkingPart(text=text, provider=CHAT, opaque=opaque))
    return message.model_copy(update={"content": tuple(rest), "extra": extra})


def _block(part: ThinkingPart) -> dict[str, Any]:
    block = dict(part.opaque["block"])
    if part.text or block.get("type") == "thinking":
        block["thinking"] = part.text
    return block if part.signature is None else block | {"signature": part.signature}


def _is_special(part: Part) -> bool:
    return isinstance(part, ThinkingPart) or bool(part.extra)


def _with_extra(part: Any, extra: Extra) -> Any:
    """Return `part` with the names in `extra` that hold something."""
    return part.model_copy(update={"extra": {name: own for name, own in extra.items() if own}})


def _sent(extra: Extra, maker: str) -> Extra:
    own = {**extra.get(PROTOCOL, {}), **extra.get(maker, {})}
    return {CHAT: own} if own else {}
