"""A client that tells of every model input on its way to the real one."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from copyfit.ports.provider import ProviderModelClient
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import ModelOutput, StreamEvent


@dataclass(frozen=True, slots=True)
class Witness:
    """Wraps `client` and hands each input to `note` before it is sent; satisfies `ProviderModelClient`."""

    client: ProviderModelClient
    note: Callable[[ModelInput], None]

    @property
    def provider(self) -> str:
        """Who answers."""
        return self.client.provider

    @property
    def model(self) -> str:
        """Which model answers."""
        return self.client.model

    @property
    def limits(self) -> ModelLimits | None:
        """The model's window, where it is known."""
        return self.client.limits

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Send `model_input` through the wrapped client."""
        self.note(model_input)
        return await self.client.complete(model_input)

    def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Stream `model_input` through the wrapped client."""
        self.note(model_input)
        return self.client.stream(model_input)
