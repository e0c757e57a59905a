"""The names and numbers of the messages protocol that both directions share."""

from collections.abc import Mapping
from typing import Any

PROTOCOL = "anthropic-messages"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

DEFAULT_MAX_TOKENS = 4096
"""Tokens; the cap on an answer when the settings name none, for the protocol demands one.

It is the largest that every Claude model takes (Claude 3 Haiku writes no longer answer).
"""

MALFORMED = "malformed_arguments"
"""The one field of the input under which arguments travel that are no JSON object."""


def as_extra(rest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return `rest` as the `extra` of a shape."""
    return {PROTOCOL: dict(rest)} if rest else {}


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return `fields` without those named."""
    return {name: value for name, value in fields.items() if name not in names}
