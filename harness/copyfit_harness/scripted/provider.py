"""ScriptedProvider: a model that answers from a script and keeps every input exactly as it came."""

from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Self

from copyfit.errors import CopyfitError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import AssistantMessage, TextPart, ThinkingPart
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import (
    Finished,
    FinishReason,
    ModelOutput,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from copyfit_harness.scripted.script import Script

Answer = str | AssistantMessage | ModelOutput | CopyfitError
"""What a script may hold: a text, a message, a whole output, or an error that is raised instead."""


class ScriptedProvider:
    """Answers each model input with the next of `answers`; satisfies `ProviderModelClient`.

    `inputs` holds every input in the order of sending, refused ones included. Leaving its ``with`` block, or
    `finish`, checks that the script was played to its end and no further.
    """

    def __init__(
        self,
        answers: Iterable[Answer],
        *,
        provider: str = "scripted",
        model: str = "scripted-model",
        limits: ModelLimits | None = None,
    ) -> None:
        self.provider = provider
        self.model = model
        self.limits = limits
        self.inputs: list[ModelInput] = []
        self._script = Script(answers)

    async def complete(self, model_input: ModelInput) -> ModelOutput:
        """Keep `model_input` and return the next answer.

        Raises:
            ScriptEnded: there is none left.
            CopyfitError: the script says so.

        """
        self.inputs.append(model_input)
        answer = self._script.take(f"an input of {len(model_input.messages)} message(s)")
        if isinstance(answer, CopyfitError):
            raise answer
        return answer if isinstance(answer, ModelOutput) else _output(answer)

    async def stream(self, model_input: ModelInput) -> AsyncIterator[StreamEvent]:
        """Keep `model_input` and yield the next answer part by part.

        Raises:
            ScriptEnded: there is none left.
            CopyfitError: the script says so.

        """
        output = await self.complete(model_input)
        for event in _deltas(output.message):
            yield event
        yield Finished(output)

    def finish(self) -> None:
        """Check that the script was played to its end and no further.

        Raises:
            ScriptEnded: more was asked for.
            ScriptUnplayed: answers are left.

        """
        self._script.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._script.__exit__(kind, error, trace)


def _output(answer: str | AssistantMessage) -> ModelOutput:
    message = AssistantMessage(content=answer) if isinstance(answer, str) else answer
    reason = FinishReason.TOOL_CALLS if message.tool_calls else FinishReason.STOP
    return ModelOutput(message=message, finish_reason=reason)


def _deltas(message: AssistantMessage) -> Iterator[StreamEvent]:
    for part in message.parts:
        if isinstance(part, TextPart):
            yield TextDelta(part.text)
        elif isinstance(part, ThinkingPart):
            yield ThinkingDelta(part.text)
    for index, call in enumerate(message.tool_calls):
        yield ToolCallDelta(index, call.arguments, call.id, call.name)
