"""One turn: assemble, send, and on overflow make it smaller and send exactly once more."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from copyfit.errors import ContextOverflow, MalformedReply
from copyfit.modes import AssemblyMode, Selected
from copyfit.ports.provider import ProviderModelClient
from copyfit.ports.trace import TraceSink
from copyfit.runtime.assembled_log import log_assembled
from copyfit.runtime.listeners import tell
from copyfit.runtime.phases import Phase
from copyfit.runtime.shorter_answer import shorter_answer
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, FinishReason, ModelOutput, StreamEvent
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one turn was asked for, besides the history."""

    turn: int
    tools: tuple[ToolSpec, ...]
    on_event: Callable[[StreamEvent], None] | None
    on_phase: Callable[[Phase], None] | None


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
        trace: where the record goes of a retry that only asks for a shorter answer; the mode traces all others.

    """

    mode: AssemblyMode
    client: ProviderModelClient
    budgets: ContextBudgets
    context_id: str
    scope: Scope = Scope.MAIN
    settings: ModelSettings = field(default_factory=ModelSettings)
    trace: TraceSink | None = None

    async def run(
        self,
        history: Transcript,
        *,
        turn: int,
        tools: tuple[ToolSpec, ...] = (),
        on_event: Callable[[StreamEvent], None] | None = None,
        on_phase: Callable[[Phase], None] | None = None,
    ) -> TurnResult:
        """Return the model's answer to `history`; with `on_event` the answer is streamed.

        An input that is too long is assembled once more by a forced pass; so is one whose answer ran into the end
        of the window, and that answer stands if nothing is left to cut. Where the provider refuses an input
        together with the longest answer asked for, and a shorter answer would do, the input stays and only that is
        lowered.

        Raises:
            AssemblyError: the input could not be assembled.
            ContextOverflow: the smaller input was refused as well, or nothing was left to cut; its `attempts`
                are the `Attempt`s of this turn.
            ProviderError: the provider failed in another way.

        """
        asked = _Asked(turn, tools, on_event, on_phase)
        first = await self._select(self._request(history, asked), asked)
        try:
            output = await self._send(first.model_input, asked)
        except ContextOverflow as overflow:
            return await self._recover(first, overflow, asked)
        if output.finish_reason is FinishReason.CONTEXT_WINDOW:
            return await self._recover(first, self._window_full(), asked, cut_off=output)
        return TurnResult(output, first.history, (Attempt(first),))

    async def _recover(
        self, refused: Selected, overflow: ContextOverflow, asked: _Asked, *, cut_off: ModelOutput | None = None
    ) -> TurnResult:
        # Whoever has cancelled the run meanwhile gets no second attempt.
        await asyncio.sleep(0)
        first = Attempt(refused, overflow)
        second = self._with_shorter_answer(refused, overflow)
        if overflow.limit_tokens is not None:
            self.budgets = self.budgets.within(overflow.limit_tokens)
        if second is None:
            request = self._request(refused.history, asked)
            second = await self._select(
                replace(request, recovery=Recovery(), refused_tokens=refused.estimated_tokens), asked
            )
        if second.model_input == refused.model_input:
            if cut_off is not None:
                return TurnResult(cut_off, second.history, (first,))
            overflow.attempts = (first,)
            raise overflow
        try:
            output = await self._send(second.model_input, asked)
        except ContextOverflow as again:
            again.attempts = (first, Attempt(second, again))
            raise
        return TurnResult(output, second.history, (first, Attempt(second)))

    def _window_full(self) -> ContextOverflow:
        return ContextOverflow(
            f"{self.client.provider} had no room left for the rest of its answer: shorten the history, or use a "
            "model with a larger window.",
            provider=self.client.provider,
            model=self.client.model,
            rule="finish-reason",
        )

    def _with_shorter_answer(self, refused: Selected, overflow: ContextOverflow) -> Selected | None:
        """Return the refused input with a lower bound on its answer, or None if that is no remedy."""
        tokens = shorter_answer(
            overflow,
            window_tokens=self.budgets.model_max_tokens,
            estimated_input_tokens=refused.estimated_tokens,
            asked_tokens=self.settings.max_output_tokens,
        )
        if tokens is None:
            return None
        settings = self.settings.model_copy(update={"max_output_tokens": tokens})
        model_input = replace(refused.model_input, settings=settings)
        recovery = Recovery(reason="combined-overflow")
        request = replace(refused.record.request, history=refused.history, settings=settings, recovery=recovery)
        record = replace(refused.record, request=request, sent=model_input)
        if self.trace is not None:
            self.trace.write(record)
        selected = replace(refused, model_input=model_input, record=record)
        log_assembled(selected)
        return selected

    async def _select(self, request: TurnRequest, asked: _Asked) -> Selected:
        tell(asked.on_phase, Phase.ASSEMBLING_CONTEXT)
        selected = await self.mode.select(request)
        log_assembled(selected)
        return selected

    async def _send(self, model_input: ModelInput, asked: _Asked) -> ModelOutput:
        tell(asked.on_phase, Phase.CALLING_MODEL)
        if asked.on_event is None:
            return await self.client.complete(model_input)
        output: ModelOutput | None = None
        # Read to its end, so that the client closes its connection itself.
        async for event in self.client.stream(model_input):
            tell(asked.on_event, event)
            if isinstance(event, Finished):
                output = event.output
        if output is not None:
            return output
        raise MalformedReply(
            "The stream ended without a finished answer; report it to the adapter's author.",
            provider=self.client.provider,
            model=self.client.model,
        )

    def _request(self, history: Transcript, asked: _Asked) -> TurnRequest:
        return TurnRequest(
            context_id=self.context_id,
            scope=self.scope,
            turn=asked.turn,
            history=history,
            budgets=self.budgets,
            tools=asked.tools,
            settings=self.settings,
        )
