"""How many tokens a thing will cost."""

from collections.abc import Sequence
from typing import Protocol

from copyfit.shapes.messages import Message
from copyfit.shapes.tools import ToolSpec


class TokenEstimator(Protocol):
    """Counts tokens the way one provider does, or safely above it; every answer is in tokens."""

    @property
    def method(self) -> str:
        """How the counts are made, in a word or two for the trace."""
        ...

    def count_message(self, message: Message) -> int:
        """Return what `message` adds to an input, framing included."""
        ...

    def count_system(self, text: str) -> int:
        """Return what the system prompt `text` adds to an input."""
        ...

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        """Return what the tools add to an input, any hidden preamble included; 0 for none."""
        ...
