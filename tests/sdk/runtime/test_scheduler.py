"""The rolling pool of tool calls."""

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import SettingsError
from copyfit.runtime.scheduler import DEFAULT_PARALLEL_CALLS, Scheduler

pytestmark = pytest.mark.anyio


class Clockwork:
    """Jobs are names; each runs until the event of its name is set, and the log keeps what happened."""

    def __init__(self, exclusive: str = "") -> None:
        self.log: list[str] = []
        self.running = 0
        self.most = 0
        self.exclusive = exclusive
        self.started = defaultdict[str, asyncio.Event](asyncio.Event)

    async def run(self, name: str) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        self.log.append(f"+{name}")
        self.started[name].set()
        try:
            for _ in range(ord(name[0]) % 7 + 1):
                await asyncio.sleep(0)
        finally:
            self.running -= 1
            self.log.append(f"-{name}")
        return name.upper()

    def scheduler(self, limit: int = 10) -> Scheduler[str, str]:
        return Scheduler(self.run, lambda name: name in self.exclusive, limit)


async def test_outcomes_come_in_declared_order_whatever_order_the_jobs_end_in() -> None:
    clockwork = Clockwork()
    assert await clockwork.scheduler().run_all(["f", "a", "c"]) == ["F", "A", "C"]
    assert [entry for entry in clockwork.log if entry[0] == "-"] != ["-f", "-a", "-c"]


async def test_no_more_jobs_run_at_once_than_the_limit_allows() -> None:
    clockwork = Clockwork()
    await clockwork.scheduler(limit=2).run_all(list("abcdefg"))
    assert clockwork.most == 2


async def test_an_exclusive_job_drains_the_pool_and_runs_alone() -> None:
    """Case: SCH-04."""
    clockwork = Clockwork(exclusive="x")
    await clockwork.scheduler().run_all(["a", "b", "x", "c", "d"])
    at = clockwork.log.index("+x")
    assert clockwork.log[at : at + 2] == ["+x", "-x"]
    assert {"-a", "-b"} <= set(clockwork.log[:at])
    assert {"+c", "+d"} <= set(clockwork.log[at:])


async def test_nothing_runs_for_no_jobs() -> None:
    assert await Clockwork().scheduler().run_all([]) == []


async def test_cancelling_starts_nothing_more_and_leaves_nothing_running() -> None:
    clockwork = Clockwork(exclusive="bc")
    task = asyncio.create_task(clockwork.scheduler().run_all(["a", "b", "c"]))
    await clockwork.started["b"].wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert clockwork.running == 0
    assert "+c" not in clockwork.log


class Gates:
    """Jobs are numbers; each starts at once and ends when its gate is opened, also when it is cancelled."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.ended: list[int] = []
        self.committed: list[int] = []
        self.gates = defaultdict[int, asyncio.Event](asyncio.Event)

    async def run(self, job: int) -> int:
        self.started.append(job)
        try:
            await self.gates[job].wait()
        finally:
            await asyncio.sleep(0)
            self.ended.append(job)
        return job

    def start(self, jobs: int, *, limit: int) -> "asyncio.Task[list[int]]":
        scheduler = Scheduler(self.run, lambda job: False, limit)
        return asyncio.create_task(scheduler.run_all(range(jobs), self.committed.append))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_thousand_jobs_run_ten_at_once_and_are_committed_in_order() -> None:
    """Case: SCH-01."""
    running = most = 0

    async def run(job: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(job % 3):
            await asyncio.sleep(0)
        running -= 1
        return job

    committed: list[int] = []
    outcomes = await Scheduler(run, lambda job: False).run_all(range(1_000), committed.append)
    assert most == DEFAULT_PARALLEL_CALLS == 10
    assert outcomes == committed == list(range(1_000))


async def test_the_first_job_that_ends_makes_room_for_the_next_at_once() -> None:
    """Case: SCH-02."""
    gates = Gates()
    task = gates.start(3, limit=2)
    await settle()
    assert gates.started == [0, 1]
    gates.gates[1].set()
    await settle()
    assert gates.started == [0, 1, 2]
    gates.gates[0].set()
    gates.gates[2].set()
    assert await task == [0, 1, 2]


async def test_an_outcome_is_committed_once_all_before_it_are_there() -> None:
    """Case: SCH-03."""
    gates = Gates()
    task = gates.start(3, limit=3)
    for job, committed in ((2, []), (1, []), (0, [0, 1, 2])):
        await settle()
        gates.gates[job].set()
        await settle()
        assert gates.committed == committed
    assert await task == [0, 1, 2]


async def test_a_cancelled_pool_waits_until_all_that_had_started_has_ended() -> None:
    """Case: SCH-05."""
    gates = Gates()
    before = asyncio.all_tasks()
    task = gates.start(20, limit=3)
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gates.started == [0, 1, 2]
    assert sorted(gates.ended) == [0, 1, 2]
    assert asyncio.all_tasks() == before


async def test_a_second_cancellation_does_not_leave_anything_behind() -> None:
    async def stubborn(job: int) -> int:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
        return job

    before = asyncio.all_tasks()
    task = asyncio.create_task(Scheduler(stubborn, lambda job: False).run_all([1, 2]))
    await settle()
    task.cancel()
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before


async def test_a_job_that_raises_ends_the_others_before_its_error_surfaces() -> None:
    gates = Gates()

    async def run(job: int) -> int:
        if job == 0:
            await asyncio.sleep(0)
            raise LookupError("first")
        return await gates.run(job)

    with pytest.raises(LookupError, match="first"):
        await Scheduler(run, lambda job: False).run_all([0, 1, 2])
    assert sorted(gates.ended) == [1, 2]


@pytest.mark.parametrize("limit", [0, -1, 1.5, float("nan"), "2"])
def test_the_limit_is_a_positive_integer(limit: Any) -> None:
    """Case: SCH-06."""
    with pytest.raises(SettingsError, match="SCIENCE_AGENT_MAX_PARALLEL_TOOL_CALLS"):
        Scheduler(Clockwork().run, lambda name: False, limit)


@given(
    jobs=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=12),
    limit=st.integers(1, 4),
)
def test_any_jobs_keep_their_order_their_limit_and_their_solitude(
    jobs: list[tuple[bool, int]], limit: int
) -> None:
    running: set[int] = set()

    async def run(place: int) -> int:
        running.add(place)
        exclusive, steps = jobs[place]
        for _ in range(steps + 1):
            assert len(running) <= limit
            assert not exclusive or running == {place}
            await asyncio.sleep(0)
        running.remove(place)
        return place

    committed: list[int] = []
    scheduler = Scheduler(run, lambda place: jobs[place][0], limit)
    outcomes = asyncio.run(scheduler.run_all(range(len(jobs)), committed.append))
    assert outcomes == committed == list(range(len(jobs)))
    assert running == set()
