"""The names and numbers of the messages protocol that both directions share."""

PROTOCOL = "anthropic-messages"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

DEFAULT_MAX_TOKENS = 4096
"""Tokens; the cap on an answer when the settings name none, for the protocol demands one.

It is the largest that every Claude model takes (Claude 3 Haiku writes no longer answer).
"""
