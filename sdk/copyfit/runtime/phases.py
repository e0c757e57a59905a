"""What a run is busy with, for whoever shows its progress."""

from enum import StrEnum


class Phase(StrEnum):
    """A phase of a run; the last three end it."""

    ASSEMBLING_CONTEXT = "assembling_context"
    """An input is made; once more in the same turn after an overflow."""
    CALLING_MODEL = "calling_model"
    EXECUTING_TOOLS = "executing_tools"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
