import asyncio
from functools import partial

import pytest

from copyfit.state.coordinator import StateCoordinator
from copyfit.state.view import StateComponent

pytestmark = pytest.mark.anyio


class Counter:
    id = "counter"

    def __init__(self) -> None:
        self.value = 0

    async def read(self) -> StateComponent:
        return StateComponent.of(self.id, self.value, revision=self.value)


async def test_a_capture_waits_for_the_command_before_it_and_every_command_counts() -> None:
    """Case: STV-04."""
    counter = Counter()
    coordinator = StateCoordinator([counter])
    assert (await coordinator.capture()).revision == 0
    released = asyncio.Event()

    async def slow() -> str:
        await released.wait()
        counter.value += 1
        return "done"

    command = asyncio.create_task(coordinator.run(slow))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(coordinator.capture())
    await asyncio.sleep(0)
    assert not waiting.done()
    released.set()
    view = await waiting
    assert (view.revision, view.read("counter").value) == (1, 1)
    assert await command == "done"

    async def failing() -> None:
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        await coordinator.run(failing)
    assert (await coordinator.capture()).revision == coordinator.revision == 2


async def test_commands_run_in_the_order_in_which_they_came() -> None:
    coordinator = StateCoordinator([])
    order: list[int] = []

    async def note(number: int) -> None:
        await asyncio.sleep(0.001 * (5 - number))
        order.append(number)

    await asyncio.gather(*(coordinator.run(partial(note, number)) for number in range(5)))
    assert order == [0, 1, 2, 3, 4]
