"""The names and numbers of the messages protocol that both directions share."""

import re

from copyfit_adapters.codec import call_ids

PROTOCOL = "anthropic-messages"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

DEFAULT_MAX_TOKENS = 4096
"""Tokens; the cap on an answer when the settings name none, for the protocol demands one.

It is the largest that every Claude model takes (Claude 3 Haiku writes no longer answer).
"""

MAX_MARKS = 4
"""Marks for the cache in one request; the API refuses a fifth."""

UNMARKED = frozenset({"thinking", "redacted_thinking", "fallback", "mcp_tool_listing"})
"""The types of blocks that take no mark for the cache; from the types of anthropic 2.14."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def sendable_id(call_id: str) -> str:
    """Return `call_id` in the form that the API takes: letters, digits, underscores and hyphens."""
    return call_ids.sendable_id(call_id, _ID)
