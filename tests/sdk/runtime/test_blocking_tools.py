"""A tool that waits runs in a worker thread and holds nobody up; everything else about it is as before."""

import asyncio
import contextvars
import json
import threading

import pytest

from copyfit.runtime.tools import RunningCall, Tool, ToolAnswer, ToolFunction, ToolRegistry
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.tools import ToolSpec

pytestmark = pytest.mark.anyio


def registry_of(function: ToolFunction, *, exclusive: bool = False, wants_call: bool = False) -> ToolRegistry:
    spec = ToolSpec(name="wait")
    return ToolRegistry(
        [Tool(spec, function, exclusive=exclusive, wants_call=wants_call, blocking=True)],
    )


def calls(count: int) -> list[ToolCall]:
    return [ToolCall(id=f"c{number}", name="wait") for number in range(count)]


async def test_two_that_wait_for_each_other_end() -> None:
    met = threading.Barrier(2, timeout=5)

    def wait() -> str:
        met.wait()
        return "met"

    results = await registry_of(wait).execute(calls(2))
    assert [result.text for result in results] == ["met", "met"]
    assert [result.call_id for result in results] == ["c0", "c1"]


async def test_the_loop_goes_on_meanwhile() -> None:
    free = threading.Event()

    def wait() -> str:
        return "freed" if free.wait(5) else "held up"

    running = asyncio.create_task(registry_of(wait).execute(calls(1)))
    await asyncio.sleep(0.01)
    free.set()
    (result,) = await running
    assert result.text == "freed"


async def test_it_knows_its_call_and_the_context_it_was_called_in() -> None:
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose")
    whose.set("mine")

    def note(running: RunningCall) -> ToolAnswer:
        return ToolAnswer(f"{running.id} {whose.get()} {threading.current_thread() is threading.main_thread()}")

    (result,) = await registry_of(note, wants_call=True).execute(calls(1))
    assert result.text == "c0 mine False"


@pytest.mark.parametrize("error", [ValueError("no such plot"), StopIteration()], ids=repr)
async def test_what_it_raises_fails_its_call(error: Exception) -> None:
    def fail() -> str:
        raise error

    (result,) = await registry_of(fail).execute(calls(1))
    assert isinstance(result, ToolMessage)
    assert result.is_error
    assert json.loads(result.text)["ok"] is False
