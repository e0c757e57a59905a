"""Which path an assembly takes, and for which kind of agent."""

from enum import StrEnum


class Mode(StrEnum):
    """How a turn's model input is chosen."""

    DYNAMIC = "dynamic"
    """Send the dynamically assembled input: the production path."""
    SHADOW = "shadow"
    """Assemble and trace the dynamic candidate, send the legacy input."""
    LEGACY = "legacy"
    """Bypass dynamic assembly."""


class Scope(StrEnum):
    """The kind of agent that a run serves; contributors name the scopes they serve."""

    MAIN = "main"
    SUBAGENT = "subagent"
    REVIEWER = "reviewer"
