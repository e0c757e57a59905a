"""AgentRun: turn after turn, until the model asks for no more tools."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from copyfit.runtime.listeners import tell
from copyfit.runtime.phases import Phase
from copyfit.runtime.tools import ToolRegistry
from copyfit.runtime.turn import Turn, TurnResult
from copyfit.shapes.model_output import ModelOutput, StreamEvent
from copyfit.shapes.transcript import Transcript

DEFAULT_MAX_TURNS = 128
"""Model turns of one run (behaviour.md section 1.3)."""


class StopReason(StrEnum):
    """Why a run ended."""

    ANSWERED = "answered"
    """The model answered without asking for a tool."""
    MAX_TURNS = "max_turns"
    """The run reached its bound; the history ends with the results of the last calls."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The whole canonical history of a run, the model's last answer, and why the run ended."""

    history: Transcript
    output: ModelOutput
    turns: int
    stop: StopReason


@dataclass(slots=True, kw_only=True)
class AgentRun:
    """Runs an agent once: each turn's calls are executed and their results appended before the next turn.

    `on_turn` is told of each finished turn with its number, counted from 1; `on_event` gets the streamed answer;
    `on_phase` hears what the run is busy with. What they raise is logged and goes no further. `history` is the
    canonical history as of the last finished turn, to go on from when an error or a cancellation ended the run.

    Raises:
        ValueError: `max_turns` is not at least 1.

    """

    turn: Turn
    tools: ToolRegistry
    max_turns: int = DEFAULT_MAX_TURNS
    on_turn: Callable[[int, TurnResult], None] | None = None
    on_event: Callable[[StreamEvent], None] | None = None
    on_phase: Callable[[Phase], None] | None = None
    history: Transcript = field(default_factory=Transcript, init=False, repr=False)
    _begun: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ValueError(f"max_turns is {self.max_turns}; a run has at least one turn.")

    async def run(self, history: Transcript) -> RunResult:
        """Run from `history`, which should end with what the model shall answer to.

        Cancelling the task that awaits this ends the run at once: nothing more is sent or started, and the tools
        that run are cancelled and awaited before `asyncio.CancelledError` surfaces.

        Raises:
            AssemblyError: an input could not be assembled.
            ProviderError: the provider failed.
            ToolError: the model declared two calls with one id.
            RuntimeError: the run was begun before.

        """
        if self._begun:
            raise RuntimeError("This AgentRun was executed already; make another one for another run.")
        self._begun = True
        try:
            result = await self._turns(history)
        except asyncio.CancelledError:
            tell(self.on_phase, Phase.CANCELLED)
            raise
        except BaseException:
            tell(self.on_phase, Phase.FAILED)
            raise
        tell(self.on_phase, Phase.COMPLETED)
        return result

    async def _turns(self, history: Transcript) -> RunResult:
        self.history = history
        self.tools.begin(history)
        for number in range(1, self.max_turns + 1):
            # A cancellation must get in even where neither the client nor the tools ever wait for anything.
            await asyncio.sleep(0)
            result = await self.turn.run(
                self.history, turn=number, tools=self.tools.specs, on_event=self.on_event, on_phase=self.on_phase
            )
            message = result.output.message
            if message.tool_calls:
                tell(self.on_phase, Phase.EXECUTING_TOOLS)
            results = await self.tools.execute(message.tool_calls, turn=number)
            self.history = result.history.append(message, *results)
            tell(self.on_turn, number, result)
            if not message.tool_calls:
                return RunResult(self.history, result.output, number, StopReason.ANSWERED)
        return RunResult(self.history, result.output, self.max_turns, StopReason.MAX_TURNS)

    def run_sync(self, history: Transcript) -> RunResult:
        """Run from `history` in an event loop of its own; for callers that have none."""
        return asyncio.run(self.run(history))
