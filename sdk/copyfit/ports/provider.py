"""One model at one provider."""

from collections.abc import AsyncIterator
from typing import Protocol

from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput, StreamEvent


class ProviderModelClient(Protocol):
    """Sends a model input to one model and brings back its answer."""

    @property
    def provider(self) -> str:
        """Who answers, for errors and traces."""
        ...

    @property
    def model(self) -> str:
        """Which model answers."""
        ...

    @property
    def limits(self) -> ModelLimits | None:
        """The model's window, or None when it is not known."""
        ...

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Send `model_input` and return the whole answer.

        Raises:
            ContextOverflow: the input is too long.
            ProviderError: any other failure.

        """
        ...

    def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Send `model_input` and yield the answer as it comes, `Finished` last.

        Raises:
            ContextOverflow: the input is too long; also in mid-stream.
            ProviderError: any other failure.

        """
        ...
