"""ToolRegistry: what the model may call, and the boundary that every result passes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from copyfit.errors import ToolError
from copyfit.outputs.guard import OutputGuard
from copyfit.runtime.arguments import ArgumentSchema, read_arguments
from copyfit.runtime.deferred import TOOL_SEARCH, DeferredTools, PreferWhen, tool_search_spec
from copyfit.runtime.listeners import tell
from copyfit.runtime.loop_guard import LoopGuard, Repetition
from copyfit.runtime.remote_content import neutralize
from copyfit.runtime.scheduler import DEFAULT_PARALLEL_CALLS, Scheduler
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.state.channels import DurableState, ToolObservation
from copyfit.state.hydrate import hydrate

ERROR_MESSAGE_CAP_CHARS = 1_000
"""Code points of an exception's text that the model sees (behaviour.md section 16.1)."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool says; `is_error` marks a failure that the tool words itself."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class RunningCall:
    """The call that a tool runs for: its id, its turn, and its number in the run, which follows declared order."""

    id: str
    turn: int
    sequence: int


ToolFunction = Callable[..., str | ToolAnswer | Awaitable[str | ToolAnswer]]
BatchPolicy = Callable[[Sequence[ToolCall]], Mapping[str, str]]
"""Gets the calls of one step; returns the results of those that are not to run, by call id."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what the model is told about it, and the function that gets the arguments as keywords.

    Args:
        spec: what the model is told.
        function: gets the arguments, which keep the schema of the spec, as keywords; may be asynchronous.
        exclusive: whether a call never runs beside another; a function is asked with the arguments of each
            call, and one that throws says yes.
        self_bounded: the tool limits its output itself, so the guard lets more of it through.
        deferred: the model learns the schema only by `tool_search`.
        prefer: when to load a deferred tool from the start, and to hint at it in the prompt.
        remote_content: the results come from outside, so that what could pass for an instruction is made inert.
        wants_call: the function gets the `RunningCall` as its first argument.
        blocking: the function waits (for a network, a disk, a lock), so it runs in a worker thread and holds
            nobody up; a thread cannot be cancelled, so what it still does after a cancellation is done unheard.
        policy: answers some calls of a step without running them.

    """

    spec: ToolSpec
    function: ToolFunction
    exclusive: bool | Callable[[Mapping[str, Any]], bool] = True
    self_bounded: bool = False
    deferred: bool = False
    prefer: PreferWhen | None = None
    remote_content: bool = False
    wants_call: bool = False
    blocking: bool = False
    policy: BatchPolicy | None = None


class ToolFailure(Exception):
    """Raised by a tool to fail its call with a `code` of its own; `retryable` tells the model what to expect."""

    def __init__(self, message: str, *, code: str = "TOOL_EXECUTION_FAILED", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class _Job:
    """One call on its way; `answer` is what a batch policy says in its stead."""

    call: ToolCall
    running: RunningCall
    hidden: frozenset[str]
    answer: str | None


@dataclass(frozen=True, slots=True)
class _Done:
    job: _Job
    message: ToolMessage
    observed: bool = True


class _Repeated(Exception):
    """The call was made too often to run again, and not yet often enough to fail."""


class ToolRegistry:
    """The tools of one run; a failing call becomes a failed result that the model can read.

    Args:
        tools: the tools, each with a name of its own.
        guard: bounds what a result may show and stores the rest; None shows every result whole.
        state: the run's durable state, fed with every result in declared order.
        is_available: whether the tool of a name may be used now; None for always.
        loop_guard: counts equal calls.
        on_raw: gets each result before the guard and is awaited; what it raises ends the run.
        on_result: told of each finished call with its result, in declared order; what it raises is logged.
        parallel: how many calls may run at once.

    Raises:
        ToolError: two tools share a name, or the parameters of one are no JSON Schema.
        SettingsError: `parallel` is not a positive integer.

    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        guard: OutputGuard | None = None,
        state: DurableState | None = None,
        is_available: Callable[[str], bool] | None = None,
        loop_guard: LoopGuard | None = None,
        on_raw: Callable[[ToolCall, str], Awaitable[None] | None] | None = None,
        on_result: Callable[[ToolCall, ToolMessage], None] | None = None,
        parallel: int = DEFAULT_PARALLEL_CALLS,
    ) -> None:
        self._deferred = DeferredTools(
            {tool.spec.name: tool.spec for tool in tools if tool.deferred},
            {tool.spec.name: tool.prefer for tool in tools if tool.prefer},
            is_available or (lambda name: True),
        )
        self._tools: dict[str, Tool] = {}
        for tool in (*tools, *_search_tool(tools, self._deferred)):
            if tool.spec.name in self._tools:
                raise ToolError(tool.spec.name, f"Two tools are named {tool.spec.name!r}; rename one of them.")
            self._tools[tool.spec.name] = tool
        self._schemas = {name: ArgumentSchema(tool.spec) for name, tool in self._tools.items()}
        self._guard = guard
        self._state = state
        self._number = count(1).__next__ if state is None else state.next_sequence
        self._loop_guard = loop_guard or LoopGuard()
        self._on_raw = on_raw
        self._on_result = on_result
        self._scheduler = Scheduler(self._run, self._is_exclusive, parallel)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told now: the available tools in registration order, deferred ones once promoted."""
        hidden = self._deferred.hidden
        return tuple(
            tool.spec for name, tool in self._tools.items() if name not in hidden and self._deferred.offers(name)
        )

    @property
    def state(self) -> DurableState | None:
        """The durable state that the results go to, if there is one."""
        return self._state

    def prompt_sections(self) -> tuple[str, ...]:
        """Return what the system prompt says of the tools: the names of deferred ones, and which to prefer."""
        return self._deferred.prompt_sections()

    def begin(self, history: Transcript) -> None:
        """Take in the `history` that a run starts from: its results, and the tools that its request calls for."""
        if self._state is not None:
            hydrate(self._state, history)
        if history.anchor is not None:
            self._deferred.promote_preferred(history.anchor.text)

    async def execute(self, calls: Sequence[ToolCall], *, turn: int = 1) -> tuple[ToolMessage, ...]:
        """Run the `calls` that the model declared in `turn`, and return their results in declared order.

        Raises:
            ToolError: two calls share an id, or a batch policy answers a call that is not there or is answered.

        """
        answers = self._answers(calls)
        hidden = self._deferred.hidden
        jobs = [
            _Job(call, RunningCall(call.id, turn, self._number()), hidden, answers.get(call.id)) for call in calls
        ]
        return tuple(done.message for done in await self._scheduler.run_all(jobs, self._commit))

    def _answers(self, calls: Sequence[ToolCall]) -> dict[str, str]:
        """Return what the batch policies answer, once the ids of `calls` and of the answers are in order."""
        ids: set[str] = set()
        for call in calls:
            if call.id in ids:
                raise ToolError(call.id, f"Two calls of one step share the id {call.id!r}; give each its own.")
            ids.add(call.id)
        answers: dict[str, str] = {}
        for name, tool in self._tools.items():
            for call_id, text in tool.policy(calls).items() if tool.policy else ():
                if call_id not in ids or call_id in answers:
                    wrong = "another policy answers as well" if call_id in answers else "is not in the step"
                    raise ToolError(call_id, f"The policy of {name!r} answers a call that {wrong}; correct it.")
                answers[call_id] = text
        return answers

    def _is_exclusive(self, job: _Job) -> bool:
        if job.answer is not None:
            return False
        tool = self._tools.get(job.call.name)
        if tool is None:
            return True
        if not callable(tool.exclusive):
            return tool.exclusive
        try:
            return tool.exclusive(read_arguments(job.call.arguments))
        except Exception:  # noqa: BLE001 - foreign code; without an answer the safe one counts
            return True

    async def _run(self, job: _Job) -> _Done:
        call = job.call
        if job.answer is not None:
            return _Done(job, ToolMessage(call_id=call.id, name=call.name, content=job.answer), observed=False)
        try:
            answer = await self._execute(job)
        except _Repeated as repeated:
            warning = {"code": "REPEATED_TOOL_CALL", "message": str(repeated)}
            text = canonical_json({"ok": False, "warning": warning}).decode()
            return _Done(job, ToolMessage(call_id=call.id, name=call.name, content=text), observed=False)
        # A tool is foreign code, and whatever it raises is its result.
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            return _Done(job, await self._message(call, _failed(error), self_bounded=True))
        return _Done(job, await self._message(call, answer, self_bounded=self._tools[call.name].self_bounded))

    async def _execute(self, job: _Job) -> ToolAnswer:
        """Let the call through every gate, and return what its tool says."""
        call = job.call
        try:
            arguments = read_arguments(call.arguments)
        except ValueError as error:
            raise ToolFailure(str(error), code="INVALID_TOOL_ARGUMENTS") from error
        tool = self._admitted(job)
        made, repetition = self._loop_guard.count(call.name, arguments)
        again = f"{call.name!r} was called {made} times with these arguments and not run again: "
        if repetition is Repetition.MANY:
            raise _Repeated(f"{again}use the earlier results, or do something else.")
        if repetition is Repetition.ENDLESS:
            raise ToolFailure(f"{again}do something else, or answer.", code="TOOL_LOOP_DETECTED")
        fault = self._schemas[call.name].fault(arguments)
        if fault is not None:
            raise ToolFailure(fault, code="INVALID_TOOL_ARGUMENTS")
        first = (job.running,) if tool.wants_call else ()
        run = partial(tool.function, *first, **arguments)
        said = await asyncio.to_thread(_without_stop, run) if tool.blocking else run()
        answer = await said if inspect.isawaitable(said) else said
        if isinstance(answer, str):
            return ToolAnswer(answer)
        if not isinstance(answer, ToolAnswer):
            raise ToolFailure(f"The tool returned {type(answer).__name__} where text belongs.")
        return answer

    def _admitted(self, job: _Job) -> Tool:
        name = job.call.name
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(spec.name for spec in self.specs) or "none"
            raise ToolFailure(f"There is no tool named {name!r}; the tools are: {known}.", code="UNKNOWN_TOOL")
        if not self._deferred.offers(name):
            raise ToolFailure(f"The tool {name!r} cannot be used now.", code="TOOL_UNAVAILABLE")
        if name in job.hidden:
            raise ToolFailure(
                f"The tool {name!r} is deferred: load it with {TOOL_SEARCH} and 'select:{name}', then call it in "
                "the next step by the schema you get.",
                code="TOOL_NOT_LOADED",
            )
        return tool

    async def _message(self, call: ToolCall, answer: ToolAnswer, *, self_bounded: bool) -> ToolMessage:
        tool = self._tools.get(call.name)
        text = neutralize(answer.text) if tool is not None and tool.remote_content else answer.text
        if self._on_raw is not None:
            recorded = self._on_raw(call, text)
            if inspect.isawaitable(recorded):
                await recorded
        if self._guard is None:
            return ToolMessage(call_id=call.id, name=call.name, content=text, is_error=answer.is_error)
        shown = self._guard.bound(text, tool_name=call.name, self_bounded=self_bounded)
        return ToolMessage(
            call_id=call.id,
            name=call.name,
            content=shown.text,
            is_error=answer.is_error,
            output_ref=shown.output_ref,
        )

    def _commit(self, done: _Done) -> None:
        call = done.job.call
        if self._state is not None and done.observed:
            self._state.observe(
                ToolObservation(
                    tool_name=call.name,
                    call_id=call.id,
                    arguments=call.arguments,
                    content=done.message.text,
                    failed=done.message.is_error,
                    sequence=done.job.running.sequence,
                )
            )
        tell(self._on_result, call, done.message)


def _search_tool(tools: Sequence[Tool], deferred: DeferredTools) -> Sequence[Tool]:
    if not any(tool.deferred for tool in tools):
        return ()
    return (Tool(tool_search_spec(), deferred.search, self_bounded=True),)


def _without_stop(run: Callable[[], Any]) -> Any:
    """Run it; a `StopIteration`, which no future can hold, comes out as another error."""
    try:
        return run()
    except StopIteration as e:
        raise RuntimeError("the tool's function raised StopIteration") from e


def _is_cancelled() -> bool:
    """Return whether the running task was cancelled from outside, and not by a tool of its own accord."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(error: BaseException) -> ToolAnswer:
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - foreign code still
        said = "it has no readable text"
    if not isinstance(error, ToolFailure):
        error = ToolFailure(f"{type(error).__name__}: {said}")
        said = str(error)
    facts = {"code": error.code, "message": said[:ERROR_MESSAGE_CAP_CHARS], "retryable": error.retryable}
    return ToolAnswer(canonical_json({"ok": False, "error": facts}).decode(), is_error=True)
