"""Who writes the checkpoint of a compacted history."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """A finished request for a checkpoint: a system prompt and one user prompt."""

    system: str
    prompt: str


class HistorySummarizer(Protocol):
    """Turns a summary request into the checkpoint's text."""

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the checkpoint; an exception means that there will be none this time.

        Raises:
            ProviderError: the model behind it did not answer.

        """
        ...
