"""One turn: assemble, send, and on overflow assemble smaller and send exactly once more."""

from collections.abc import Callable
from dataclasses import dataclass, field

from copyfit.errors import ContextOverflow, MalformedReply
from copyfit.modes import AssemblyMode, Selected
from copyfit.ports.provider import ProviderModelClient
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, ModelOutput, StreamEvent
from copyfit.shapes.scope import Scope
from copyfit.shapes.stages import Recovery, TurnRequest
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Attempt:
    """One input that was sent in a turn, and the overflow that refused it, if one did."""

    selected: Selected
    overflow: ContextOverflow | None = None


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The answer of a turn, the canonical history it left behind, and every attempt, in order.

    `history` does not hold the answer yet: the caller appends it with what follows from it.
    """

    output: ModelOutput
    history: Transcript
    attempts: tuple[Attempt, ...]

    @property
    def recovered(self) -> bool:
        """Whether the first input was too long and the second one was not."""
        return len(self.attempts) > 1


@dataclass(kw_only=True)
class Turn:
    """Runs the turns of one run against one model, and remembers the window that the provider named.

    Args:
        mode: chooses each input.
        client: the model.
        budgets: what to assemble for; shrinks when the provider names a smaller window.
        context_id: names the run in traces.
        scope: the kind of agent.
        settings: how the model shall answer.

    """

    mode: AssemblyMode
    client: ProviderModelClient
    budgets: ContextBudgets
    context_id: str
    scope: Scope = Scope.MAIN
    settings: ModelSettings = field(default_factory=ModelSettings)

    async def run(
        self,
        history: Transcript,
        *,
        turn: int,
        tools: tuple[ToolSpec, ...] = (),
        on_event: Callable[[StreamEvent], None] | None = None,
    ) -> TurnResult:
        """Return the model's answer to `history`; with `on_event` the answer is streamed.

        Raises:
            AssemblyError: the input could not be assembled.
            ContextOverflow: the smaller input was refused as well, or nothing was left to cut; its `attempts`
                are the `Attempt`s of this turn.
            ProviderError: the provider failed in another way.

        """
        first = await self.mode.select(self._request(history, turn, tools))
        try:
            output = await self._send(first.model_input, on_event)
        except ContextOverflow as overflow:
            return await self._recover(first, overflow, turn, tools, on_event)
        return TurnResult(output, first.history, (Attempt(first),))

    async def _recover(
        self,
        refused: Selected,
        overflow: ContextOverflow,
        turn: int,
        tools: tuple[ToolSpec, ...],
        on_event: Callable[[StreamEvent], None] | None,
    ) -> TurnResult:
        if overflow.limit_tokens is not None:
            self.budgets = self.budgets.within(overflow.limit_tokens)
        first = Attempt(refused, overflow)
        second = await self.mode.select(self._request(refused.history, turn, tools, Recovery()))
        if second.model_input == refused.model_input:
            overflow.attempts = (first,)
            raise overflow
        try:
            output = await self._send(second.model_input, on_event)
        except ContextOverflow as again:
            again.attempts = (first, Attempt(second, again))
            raise
        return TurnResult(output, second.history, (first, Attempt(second)))

    async def _send(self, model_input: ModelInput, on_event: Callable[[StreamEvent], None] | None) -> ModelOutput:
        if on_event is None:
            return await self.client.complete(model_input)
        async for event in self.client.stream(model_input):
            on_event(event)
            if isinstance(event, Finished):
                return event.output
        raise MalformedReply(
            "The stream ended without a finished answer; report it to the adapter's author.",
            provider=self.client.provider,
            model=self.client.model,
        )

    def _request(
        self,
        history: Transcript,
        turn: int,
        tools: tuple[ToolSpec, ...],
        recovery: Recovery | None = None,
    ) -> TurnRequest:
        return TurnRequest(
            context_id=self.context_id,
            scope=self.scope,
            turn=turn,
            history=history,
            budgets=self.budgets,
            tools=tools,
            settings=self.settings,
            recovery=recovery,
        )
