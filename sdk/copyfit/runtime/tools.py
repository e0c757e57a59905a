"""ToolRegistry: what the model may call, and the boundary that every result passes."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copyfit.errors import ToolError
from copyfit.outputs.guard import OutputGuard
from copyfit.runtime.scheduler import DEFAULT_PARALLEL_CALLS, Scheduler
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.tools import ToolSpec

ERROR_MESSAGE_CAP_CHARS = 1_000
"""Code points of an exception's text that the model sees (behaviour.md section 16.1)."""

ToolFunction = Callable[..., str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what the model is told about it, and the function that gets the arguments as keywords.

    An `exclusive` tool never runs beside another call. A `self_bounded` one limits its output itself, so the
    guard lets more of it through.
    """

    spec: ToolSpec
    function: ToolFunction
    exclusive: bool = False
    self_bounded: bool = False


class ToolFailure(Exception):
    """Raised by a tool to fail its call with a `code` of its own; `retryable` tells the model what to expect."""

    def __init__(self, message: str, *, code: str = "TOOL_EXECUTION_FAILED", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class ToolRegistry:
    """The tools of one run; a failing call becomes a failed result that the model can read.

    Args:
        tools: the tools, each with a name of its own.
        guard: bounds what a result may show and stores the rest; None shows every result whole.
        on_result: told of each finished call with its result, in declared order.
        parallel: how many calls may run at once.

    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        guard: OutputGuard | None = None,
        on_result: Callable[[ToolCall, ToolMessage], None] | None = None,
        parallel: int = DEFAULT_PARALLEL_CALLS,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.spec.name in self._tools:
                raise ToolError(tool.spec.name, f"Two tools are named {tool.spec.name!r}; rename one of them.")
            self._tools[tool.spec.name] = tool
        self._guard = guard
        self._on_result = on_result
        self._scheduler = Scheduler(self._run, self._is_exclusive, parallel)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told, in registration order."""
        return tuple(tool.spec for tool in self._tools.values())

    async def execute(self, calls: Sequence[ToolCall]) -> tuple[ToolMessage, ...]:
        """Run `calls` and return their results in declared order.

        Raises:
            ToolError: two calls share an id.

        """
        ids = [call.id for call in calls]
        for call_id in ids:
            if ids.count(call_id) > 1:
                raise ToolError(call_id, f"Two calls of one step share the id {call_id!r}; give each its own.")
        messages = tuple(await self._scheduler.run_all(calls))
        if self._on_result:
            for call, message in zip(calls, messages, strict=True):
                self._on_result(call, message)
        return messages

    def _is_exclusive(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return tool is None or tool.exclusive

    async def _run(self, call: ToolCall) -> ToolMessage:
        try:
            text = await self._call(call)
        except ToolFailure as failure:
            return _failed(call, failure.code, str(failure), retryable=failure.retryable)
        except Exception as error:  # noqa: BLE001 - a tool is foreign code; whatever it raises is its result
            return _failed(call, "TOOL_EXECUTION_FAILED", f"{type(error).__name__}: {error}")
        if self._guard is None:
            return ToolMessage(call_id=call.id, name=call.name, content=text)
        shown = self._guard.bound(text, tool_name=call.name, self_bounded=self._tools[call.name].self_bounded)
        return ToolMessage(call_id=call.id, name=call.name, content=shown.text, output_ref=shown.output_ref)

    async def _call(self, call: ToolCall) -> str:
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise ToolFailure(
                f"There is no tool named {call.name!r}; the tools are: {known}.", code="UNKNOWN_TOOL"
            )
        result = tool.function(**_arguments(call))
        return await result if inspect.isawaitable(result) else result


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError as error:
        raise ToolFailure(f"The arguments are not JSON: {error}.", code="INVALID_TOOL_ARGUMENTS") from error
    if not isinstance(arguments, dict):
        raise ToolFailure("The arguments are not a JSON object.", code="INVALID_TOOL_ARGUMENTS")
    return arguments


def _failed(call: ToolCall, code: str, message: str, *, retryable: bool = False) -> ToolMessage:
    error = {"code": code, "message": message[:ERROR_MESSAGE_CAP_CHARS], "retryable": retryable}
    content = canonical_json({"ok": False, "error": error}).decode()
    return ToolMessage(call_id=call.id, name=call.name, content=content, is_error=True)
