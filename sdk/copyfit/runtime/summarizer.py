"""A model as the writer of checkpoints."""

from dataclasses import dataclass, field

from copyfit.ports.provider import ProviderModelClient
from copyfit.ports.summarizer import SummaryRequest
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings


@dataclass(frozen=True, slots=True)
class ModelSummarizer:
    """Asks `client` for each checkpoint, without tools; satisfies `HistorySummarizer`."""

    client: ProviderModelClient
    settings: ModelSettings = field(default_factory=ModelSettings)

    async def summarize(self, request: SummaryRequest) -> str:
        """Return the text of the model's answer.

        Raises:
            ProviderError: the model did not answer.

        """
        output = await self.client.complete(
            ModelInput(
                system=request.system,
                messages=(UserMessage(content=request.prompt),),
                settings=self.settings,
            )
        )
        return output.message.text
