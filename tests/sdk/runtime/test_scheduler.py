import asyncio
from collections import defaultdict

import pytest

from copyfit.runtime.scheduler import Scheduler

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
