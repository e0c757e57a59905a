"""Run the calls of one step: parallel-safe ones together, exclusive ones alone, results in declared order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from copyfit.shapes.budgets import POSITIVE

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

DEFAULT_PARALLEL_CALLS = 10
"""Calls in flight at once (SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS, behaviour.md section 1.4)."""


@dataclass(frozen=True, slots=True)
class Scheduler(Generic[Job, Outcome]):
    """Runs jobs in a rolling pool of at most `limit`; a job that `is_exclusive` drains the pool and runs alone.

    A cancelled run starts nothing more, cancels what had started, and waits until it has ended.

    Raises:
        SettingsError: `limit` is not a positive integer.

    """

    run: Callable[[Job], Awaitable[Outcome]]
    is_exclusive: Callable[[Job], bool]
    limit: int = DEFAULT_PARALLEL_CALLS

    def __post_init__(self) -> None:
        POSITIVE.require("SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS", self.limit)

    async def run_all(
        self, jobs: Sequence[Job], commit: Callable[[Outcome], None] = lambda outcome: None
    ) -> list[Outcome]:
        """Return the outcomes in the order of `jobs`, whatever order they ended in.

        `commit` gets each outcome in that order too, as soon as all before it are there. The first job that
        raises ends the rest; its error surfaces once all that ran has ended.
        """
        outcomes: list[Outcome] = []
        for batch in self._batches(jobs):
            slots = asyncio.Semaphore(self.limit)
            tasks = [asyncio.create_task(self._in_slot(slots, job)) for job in batch]
            try:
                for task in tasks:
                    # Not `await task`: a cancellation would reach that task alone, and its slot the next job.
                    await asyncio.wait((task,))
                    outcome = task.result()
                    commit(outcome)
                    outcomes.append(outcome)
            except BaseException:
                await _end(tasks)
                raise
        return outcomes

    async def _in_slot(self, slots: asyncio.Semaphore, job: Job) -> Outcome:
        async with slots:
            return await self.run(job)

    def _batches(self, jobs: Sequence[Job]) -> list[list[Job]]:
        batches: list[list[Job]] = []
        joinable = False
        for job in jobs:
            exclusive = self.is_exclusive(job)
            if exclusive or not joinable:
                batches.append([])
            batches[-1].append(job)
            joinable = not exclusive
        return batches


async def _end(tasks: Sequence[asyncio.Task[Outcome]]) -> None:
    """Cancel `tasks` and wait for every one, also when cancelled again meanwhile."""
    for task in tasks:
        task.cancel()
    pending = {task for task in tasks if not task.done()}
    again: asyncio.CancelledError | None = None
    while pending:
        try:
            _, pending = await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            again = error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # looked at, or asyncio would log it as forgotten
    if again is not None:
        raise again
