import asyncio
import json

import pytest

from copyfit.errors import ToolError
from copyfit.runtime.tools import Tool, ToolFailure, ToolFunction, ToolRegistry
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.tools import ToolSpec

pytestmark = pytest.mark.anyio


def tool(name: str, function: ToolFunction, *, exclusive: bool = False) -> Tool:
    return Tool(ToolSpec(name=name), function, exclusive=exclusive)


def error_of(message: ToolMessage) -> dict[str, object]:
    content = json.loads(message.text)
    assert content["ok"] is False
    assert message.is_error
    error: dict[str, object] = content["error"]
    return error


async def test_arguments_arrive_as_keywords_and_the_result_answers_its_call() -> None:
    registry = ToolRegistry([tool("add", lambda left, right: str(left + right))])
    (result,) = await registry.execute([ToolCall(id="c1", name="add", arguments='{"left":1,"right":2}')])
    assert result == ToolMessage(call_id="c1", name="add", content="3")


async def test_a_tool_may_be_asynchronous() -> None:
    async def slow() -> str:
        await asyncio.sleep(0)
        return "done"

    (result,) = await ToolRegistry([tool("slow", slow)]).execute([ToolCall(id="c1", name="slow")])
    assert result.text == "done"


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', "null"])
async def test_arguments_that_are_no_json_object_fail_the_call_and_name_the_code(arguments: str) -> None:
    registry = ToolRegistry([tool("echo", lambda: "never")])
    (result,) = await registry.execute([ToolCall(id="c1", name="echo", arguments=arguments)])
    assert error_of(result)["code"] == "INVALID_TOOL_ARGUMENTS"


async def test_an_unknown_tool_is_a_failed_result_that_lists_the_known_ones() -> None:
    registry = ToolRegistry([tool("echo", lambda: "never")])
    (result,) = await registry.execute([ToolCall(id="c1", name="ecko")])
    error = error_of(result)
    assert error["code"] == "UNKNOWN_TOOL"
    assert "echo" in str(error["message"])


async def test_an_exception_becomes_a_failed_result_with_a_bounded_message() -> None:
    def explode() -> str:
        raise LookupError("x" * 5_000)

    (result,) = await ToolRegistry([tool("explode", explode)]).execute([ToolCall(id="c1", name="explode")])
    error = error_of(result)
    assert error["code"] == "TOOL_EXECUTION_FAILED"
    assert str(error["message"]).startswith("LookupError: xxx")
    assert len(str(error["message"])) == 1_000


async def test_a_tool_may_fail_with_a_code_of_its_own() -> None:
    def busy() -> str:
        raise ToolFailure("try later", code="BUSY", retryable=True)

    (result,) = await ToolRegistry([tool("busy", busy)]).execute([ToolCall(id="c1", name="busy")])
    assert error_of(result) == {"code": "BUSY", "message": "try later", "retryable": True}


async def test_one_failing_call_does_not_touch_its_siblings() -> None:
    def explode() -> str:
        raise RuntimeError("no")

    registry = ToolRegistry([tool("good", lambda: "yes"), tool("bad", explode)])
    results = await registry.execute([ToolCall(id="1", name="bad"), ToolCall(id="2", name="good")])
    assert [result.is_error for result in results] == [True, False]


async def test_results_and_observations_follow_declared_order_under_concurrent_completion() -> None:
    async def wait(turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return str(turns)

    seen: list[str] = []
    registry = ToolRegistry([tool("wait", wait)], on_result=lambda call, _: seen.append(call.id))
    calls = [ToolCall(id=f"c{turns}", name="wait", arguments=f'{{"turns":{turns}}}') for turns in (9, 1, 5)]
    results = await registry.execute(calls)
    assert [result.call_id for result in results] == ["c9", "c1", "c5"]
    assert seen == ["c9", "c1", "c5"]


async def test_two_calls_with_one_id_are_refused() -> None:
    registry = ToolRegistry([tool("echo", lambda: "x")])
    with pytest.raises(ToolError, match="share the id 'c1'"):
        await registry.execute([ToolCall(id="c1", name="echo"), ToolCall(id="c1", name="echo")])


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(ToolError, match="named 'echo'"):
        ToolRegistry([tool("echo", lambda: "x"), tool("echo", lambda: "y")])
