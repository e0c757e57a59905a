"""Run the calls of one step: parallel-safe ones together, exclusive ones alone, results in declared order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

DEFAULT_PARALLEL_CALLS = 10
"""Calls in flight at once (SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS, behaviour.md section 1.4)."""


@dataclass(frozen=True, slots=True)
class Scheduler(Generic[Job, Outcome]):
    """Runs jobs in a rolling pool of at most `limit`; a job that `is_exclusive` drains the pool and runs alone.

    A cancelled run starts nothing more and waits until what had started has ended.
    """

    run: Callable[[Job], Awaitable[Outcome]]
    is_exclusive: Callable[[Job], bool]
    limit: int = DEFAULT_PARALLEL_CALLS

    async def run_all(self, jobs: Sequence[Job]) -> list[Outcome]:
        """Return the outcomes in the order of `jobs`, whatever order they ended in."""
        outcomes: list[Outcome] = []
        for batch in self._batches(jobs):
            slots = asyncio.Semaphore(self.limit)
            outcomes += await _gather([self._in_slot(slots, job) for job in batch])
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


async def _gather(work: Sequence[Awaitable[Outcome]]) -> list[Outcome]:
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
