"""Count tokens safely above the truth, for any model, without a vocabulary and without the network."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
)
from copyfit.shapes.tools import ToolSpec
from copyfit.tokens.families import UNKNOWN, TokenFamily
from copyfit.tokens.text_bound import bound_text

_SEALED_CHARS_A_TOKEN = 4
"""Code points; sealed reasoning is base64 of at least its own text, which has three bytes a token or more."""


class ConservativeTokenEstimator:
    """Bounds tokens from above: the text by script, and what the model's family adds around it.

    Every answer is in tokens. Images and files cost a constant of the family; the length of base64 data is never
    counted as text.
    """

    def __init__(self, family: TokenFamily = UNKNOWN) -> None:
        self._family = family
        self._surcharges = family.surcharges

    @property
    def family(self) -> TokenFamily:
        """The family of models that is counted for."""
        return self._family

    @property
    def method(self) -> str:
        """The name of the method, with the family."""
        return f"conservative:{self._family.name}"

    def count_message(self, message: Message) -> int:
        """Return at most what `message` adds to an input, framing included."""
        cost = self._surcharges.message + self._extra(message.extra)
        if message.name is not None:
            cost += self._text(message.name)
        if isinstance(message.content, str):
            return cost + self._text(message.content)
        return cost + sum(self._part(part) for part in message.content)

    def count_system(self, text: str) -> int:
        """Return at most what the system prompt `text` adds, the constant part of every input included."""
        framing = self._surcharges.message if text else 0
        return self._surcharges.text_base + framing + self._text(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        """Return at most what the tools add, any hidden preamble included; 0 for none."""
        if not tools:
            return 0
        preamble = max(0, self._surcharges.tools_base - self._surcharges.text_base)
        return preamble + sum(
            self._surcharges.tool + self._json(tool.model_dump(mode="json", exclude_none=True)) for tool in tools
        )

    def count_schema(self, schema: Mapping[str, Any]) -> int:
        """Return at most what a response schema adds."""
        return self._surcharges.schema + self._json(schema)

    def _part(self, part: Part) -> int:
        cost = 0 if isinstance(part, ThinkingPart) else self._extra(part.extra)
        match part:
            case TextPart():
                return cost + self._text(part.text)
            case ToolCall():
                return cost + self._surcharges.call + self._text(part.name) + self._text(part.arguments)
            case ThinkingPart():
                return max(self._text(part.text), _sealed_tokens(part))
            case ImagePart():
                return cost + self._surcharges.image
            case FilePart():
                return cost + self._file(part)

    def _file(self, part: FilePart) -> int:
        text = _readable(part)
        return self._surcharges.file if text is None else self._text(text)

    def _extra(self, extra: Mapping[str, Mapping[str, Any]]) -> int:
        return max((self._json(fields) for fields in extra.values()), default=0)

    def _json(self, value: Any) -> int:
        return self._text(canonical_json(value).decode())

    def _text(self, text: str) -> int:
        return bound_text(text, self._family.weights)


def _sealed_tokens(part: ThinkingPart) -> int:
    """Return at most what reasoning costs that only its provider can read."""
    sealed = len(part.signature or "") + sum(len(v) for v in part.opaque.values() if isinstance(v, str))
    return -(-sealed // _SEALED_CHARS_A_TOKEN)


def _readable(part: FilePart) -> str | None:
    """Return the text of an inline text file, or None for any other file."""
    media_type = part.media_type or ""
    if part.data is None or not (media_type.startswith("text/") or media_type == "application/json"):
        return None
    try:
        return base64.b64decode(part.data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
