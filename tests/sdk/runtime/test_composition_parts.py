"""Parts of a run that are easily got wrong: collections that are still empty, and pages for a small window."""

import json
from typing import Any

import pytest

from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.tools import Tool
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.scope import Mode
from copyfit.shapes.stages import TurnRecord
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit_harness.scripted.provider import ScriptedProvider

pytestmark = pytest.mark.anyio

READ = Tool(ToolSpec(name="read"), lambda: "the quick brown fox\n" * 20_000)


def calling(name: str, arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage(content=(ToolCall(id=f"{name}-1", name=name, arguments=arguments),))


async def inputs_of(*answers: AssistantMessage | str, **parts: Any) -> list[ModelInput]:
    with ScriptedProvider(answers) as client:
        await compose_run(RunParts(client=client, **parts)).run(Transcript([UserMessage(content="read it")]))
    return client.inputs


def last_result(model_input: ModelInput) -> ToolMessage:
    result = model_input.messages[-1]
    assert isinstance(result, ToolMessage)
    return result


@pytest.mark.parametrize("mode", Mode)
async def test_a_trace_that_is_empty_is_a_trace(mode: Mode) -> None:
    class Records(list[TurnRecord]):
        def write(self, record: TurnRecord) -> None:
            self.append(record)

    trace = Records()
    await inputs_of("done", trace=trace, mode=mode)
    assert len(trace) == 1


async def test_a_store_that_is_empty_is_a_store() -> None:
    class Shelf(MemoryToolOutputStore):
        def __len__(self) -> int:
            return len(self._kept)

    store = Shelf()
    await inputs_of(calling("read"), "done", tools=[READ], store=store)
    assert len(store) == 1


@pytest.mark.parametrize("input_tokens", [8_000, 16_384])
async def test_a_page_of_a_stored_output_fits_a_small_window(input_tokens: int) -> None:
    budgets = ContextBudgets(model_max_tokens=2 * input_tokens, output_reserve_tokens=input_tokens)
    _, after_reading = await inputs_of(calling("read"), "done", tools=[READ], budgets=budgets)
    stored = last_result(after_reading).output_ref
    assert stored is not None
    page = calling("read_tool_output", json.dumps({"ref": stored.ref}))
    *_, after_page = await inputs_of(calling("read"), page, "done", tools=[READ], budgets=budgets)
    shown = last_result(after_page).text
    assert "Continue with offset=" in shown
    assert len(shown) > input_tokens // 4
