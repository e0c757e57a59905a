"""AgentRun: turn after turn, until the model asks for no more tools."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """Runs an agent: each turn's calls are executed and their results appended before the next turn.

    `on_turn` is told of each finished turn with its number, counted from 1; `on_event` gets the streamed answer.

    Raises:
        ValueError: `max_turns` is not at least 1.

    """

    turn: Turn
    tools: ToolRegistry
    max_turns: int = DEFAULT_MAX_TURNS
    on_turn: Callable[[int, TurnResult], None] | None = None
    on_event: Callable[[StreamEvent], None] | None = None

    def __post_init__(self) -> None:
        if self.max_turns < 1:
            raise ValueError(f"max_turns is {self.max_turns}; a run has at least one turn.")

    async def run(self, history: Transcript) -> RunResult:
        """Run from `history`, which should end with what the model shall answer to.

        Raises:
            AssemblyError: an input could not be assembled.
            ProviderError: the provider failed.
            ToolError: the model declared two calls with one id.

        """
        for number in range(1, self.max_turns + 1):
            result = await self.turn.run(history, turn=number, tools=self.tools.specs, on_event=self.on_event)
            message = result.output.message
            results = await self.tools.execute(message.tool_calls)
            history = result.history.append(message, *results)
            if self.on_turn:
                self.on_turn(number, result)
            if not message.tool_calls:
                return RunResult(history, result.output, number, StopReason.ANSWERED)
        return RunResult(history, result.output, self.max_turns, StopReason.MAX_TURNS)

    def run_sync(self, history: Transcript) -> RunResult:
        """Run from `history` in an event loop of its own; for callers that have none."""
        return asyncio.run(self.run(history))
