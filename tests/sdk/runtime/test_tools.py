"""What the registry tells the model, and the gates that a call passes on its way to its tool."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from copyfit.errors import SettingsError, ToolError
from copyfit.runtime.deferred import PreferWhen
from copyfit.runtime.loop_guard import LoopGuard
from copyfit.runtime.tools import RunningCall, Tool, ToolFailure, ToolFunction, ToolRegistry
from copyfit.shapes.messages import ToolCall, ToolMessage, UserMessage
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript

pytestmark = pytest.mark.anyio


def tool(name: str, function: ToolFunction = lambda: "ok", **options: Any) -> Tool:
    return Tool(ToolSpec(name=name), function, **options)


def error_of(message: ToolMessage) -> dict[str, object]:
    content = json.loads(message.text)
    assert content["ok"] is False
    assert message.is_error
    error: dict[str, object] = content["error"]
    return error


def names(registry: ToolRegistry) -> list[str]:
    return [spec.name for spec in registry.specs]


async def call(registry: ToolRegistry, name: str, arguments: str = "{}", id: str = "c1") -> ToolMessage:
    (result,) = await registry.execute([ToolCall(id=id, name=name, arguments=arguments)])
    return result


async def test_arguments_arrive_as_keywords_and_the_result_answers_its_call() -> None:
    registry = ToolRegistry([tool("add", lambda left, right: str(left + right))])
    result = await call(registry, "add", '{"left":1,"right":2}')
    assert result == ToolMessage(call_id="c1", name="add", content="3")


async def test_a_tool_may_be_asynchronous() -> None:
    async def slow() -> str:
        await asyncio.sleep(0)
        return "done"

    assert (await call(ToolRegistry([tool("slow", slow)]), "slow")).text == "done"


async def test_a_tool_may_ask_which_call_it_runs_for() -> None:
    def note(running: RunningCall, **arguments: Any) -> str:
        return f"{running.id} {running.turn} {running.sequence} {arguments}"

    registry = ToolRegistry([tool("note", note, wants_call=True)])
    await call(registry, "note")
    (result,) = await registry.execute([ToolCall(id="c2", name="note", arguments='{"a":1}')], turn=7)
    assert result.text == "c2 7 2 {'a': 1}"


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', "null"])
async def test_arguments_that_are_no_json_object_fail_the_call_and_name_the_code(arguments: str) -> None:
    result = await call(ToolRegistry([tool("echo")]), "echo", arguments)
    assert error_of(result)["code"] == "INVALID_TOOL_ARGUMENTS"


async def test_arguments_that_break_the_schema_fail_the_call_and_name_the_path() -> None:
    spec = ToolSpec(name="row", parameters={"properties": {"seats": {"items": {"type": "integer"}}}})
    ran: list[object] = []

    def book(seats: object) -> str:
        ran.append(seats)
        return "booked"

    registry = ToolRegistry([Tool(spec, book)])
    error = error_of(await call(registry, "row", '{"seats":[1,"two"]}'))
    assert error["code"] == "INVALID_TOOL_ARGUMENTS"
    assert "$.seats[1]" in str(error["message"])
    assert ran == []


def test_a_tool_whose_parameters_are_no_schema_is_refused() -> None:
    with pytest.raises(ToolError, match="'broken' are no JSON Schema"):
        ToolRegistry([Tool(ToolSpec(name="broken", parameters={"type": 7}), lambda: "never")])


async def test_an_unknown_tool_is_a_failed_result_that_lists_the_known_ones() -> None:
    error = error_of(await call(ToolRegistry([tool("echo"), tool("rare", deferred=True)]), "ecko"))
    assert error["code"] == "UNKNOWN_TOOL"
    assert "the tools are: echo, tool_search." in str(error["message"])


async def test_an_exception_becomes_a_failed_result_with_a_bounded_message() -> None:
    def explode() -> str:
        raise LookupError("x" * 5_000)

    error = error_of(await call(ToolRegistry([tool("explode", explode)]), "explode"))
    assert error["code"] == "TOOL_EXECUTION_FAILED"
    assert str(error["message"]).startswith("LookupError: xxx")
    assert len(str(error["message"])) == 1_000


async def test_an_exception_whose_text_cannot_be_read_fails_its_call_as_well() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise AttributeError("no text")

    def explode() -> str:
        raise Mute

    error = error_of(await call(ToolRegistry([tool("explode", explode)]), "explode"))
    assert error["message"] == "Mute: it has no readable text"


async def test_a_tool_may_fail_with_a_code_of_its_own() -> None:
    def busy() -> str:
        raise ToolFailure("try later", code="BUSY", retryable=True)

    result = await call(ToolRegistry([tool("busy", busy)]), "busy")
    assert error_of(result) == {"code": "BUSY", "message": "try later", "retryable": True}


async def test_a_tool_that_returns_no_text_fails_its_call() -> None:
    def table() -> Any:
        return {"rows": 3}

    error = error_of(await call(ToolRegistry([tool("table", table)]), "table"))
    assert error["message"] == "The tool returned dict where text belongs."


async def test_one_failing_call_does_not_touch_its_siblings() -> None:
    def explode() -> str:
        raise RuntimeError("no")

    registry = ToolRegistry([tool("good"), tool("bad", explode)])
    results = await registry.execute([ToolCall(id="1", name="bad"), ToolCall(id="2", name="good")])
    assert [result.is_error for result in results] == [True, False]


async def test_two_calls_with_one_id_are_refused() -> None:
    with pytest.raises(ToolError, match="share the id 'c1'"):
        await ToolRegistry([tool("echo")]).execute([ToolCall(id="c1", name="echo")] * 2)


def test_two_tools_with_one_name_are_refused() -> None:
    """Case: REG-01."""
    with pytest.raises(ToolError, match="named 'echo'"):
        ToolRegistry([tool("echo"), tool("echo")])
    with pytest.raises(ToolError, match="named 'tool_search'"):
        ToolRegistry([tool("tool_search"), tool("rare", deferred=True)])


@pytest.mark.parametrize("parallel", [0, -1, 1.5, True])
def test_the_number_of_calls_at_once_is_a_positive_integer(parallel: Any) -> None:
    """Case: NAT-15, SCH-06."""
    with pytest.raises(SettingsError, match="MAX_PARALLEL_TOOL_CALLS"):
        ToolRegistry([], parallel=parallel)


def _throws(arguments: Mapping[str, Any]) -> bool:
    raise LookupError(str(arguments))


@pytest.mark.parametrize(
    ("options", "together"),
    [
        ({"exclusive": False}, True),
        ({"exclusive": lambda arguments: arguments["write"]}, True),
        ({"exclusive": lambda arguments: not arguments["write"]}, False),
        ({"exclusive": _throws}, False),
        ({"exclusive": True}, False),
        ({}, False),
    ],
)
async def test_calls_run_together_only_when_their_tool_says_so(options: dict[str, Any], together: bool) -> None:
    """Case: REG-06."""
    running = most = 0

    async def work(write: bool) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return str(write)

    calls = [ToolCall(id=f"c{number}", name="work", arguments='{"write":false}') for number in range(3)]
    await ToolRegistry([tool("work", work, **options)]).execute(calls)
    assert (most == 3) is together
    assert together or most == 1


async def test_a_tool_that_is_not_available_is_not_offered_and_not_run() -> None:
    """Case: REG-07."""
    closed = {"lab"}
    registry = ToolRegistry([tool("lab"), tool("echo")], is_available=lambda name: name not in closed)
    assert names(registry) == ["echo"]
    assert error_of(await call(registry, "lab"))["code"] == "TOOL_UNAVAILABLE"
    closed.clear()
    assert names(registry) == ["lab", "echo"]
    assert (await call(registry, "lab")).text == "ok"


async def test_a_search_is_offered_only_while_there_is_a_deferred_tool_to_find() -> None:
    """Case: REG-08."""
    closed = {"rare"}
    registry = ToolRegistry(
        [tool("echo"), tool("rare", deferred=True)], is_available=lambda name: name not in closed
    )
    assert names(registry) == ["echo"]
    assert registry.prompt_sections() == ()
    assert error_of(await call(registry, "tool_search", '{"query":"rare"}'))["code"] == "TOOL_UNAVAILABLE"
    closed.clear()
    assert names(registry) == ["echo", "tool_search"]
    assert "rare" in registry.prompt_sections()[0]


async def test_a_deferred_tool_runs_once_it_was_searched_for_in_an_earlier_step() -> None:
    """Case: NAT-05, NAT-06."""
    ran: list[str] = []

    def rare() -> str:
        ran.append("rare")
        return "found"

    registry = ToolRegistry([tool("rare", rare, deferred=True)])
    search = ToolCall(id="1", name="tool_search", arguments='{"query":"select:rare"}')
    assert names(registry) == ["tool_search"]
    assert error_of(await call(registry, "rare"))["code"] == "TOOL_NOT_LOADED"
    schema, early = await registry.execute([search, ToolCall(id="2", name="rare")])
    assert json.loads(schema.text)["tools"][0]["name"] == "rare"
    assert error_of(early)["code"] == "TOOL_NOT_LOADED"
    assert names(registry) == ["rare", "tool_search"]
    assert (await call(registry, "rare")).text == "found"
    assert ran == ["rare"]


def test_the_request_of_a_run_loads_the_tools_that_it_calls_for() -> None:
    """Case: NAT-07."""
    registry = ToolRegistry([tool("fold", deferred=True, prefer=PreferWhen(("protein",))), tool("echo")])
    registry.begin(Transcript([UserMessage(content="Which Protein is it?")]))
    assert names(registry) == ["fold", "echo", "tool_search"]
    assert "- fold: protein" in registry.prompt_sections()[1]


async def test_an_equal_call_is_warned_about_and_then_failed_without_being_run_again() -> None:
    """Case: REG-11."""
    ran: list[int] = []

    def look(at: int, of: int) -> str:
        ran.append(at)
        return f"seen {of}"

    registry = ToolRegistry([tool("look", look)], loop_guard=LoopGuard(warn_at=2, fail_at=3))
    first = await call(registry, "look", '{"at":1,"of":2}')
    second = await call(registry, "look", '{"of":2,"at":1}')
    third = await call(registry, "look", '{"at":1,"of":2}')
    assert (first.text, ran) == ("seen 2", [1])
    assert json.loads(second.text)["warning"]["code"] == "REPEATED_TOOL_CALL"
    assert not second.is_error
    assert error_of(third)["code"] == "TOOL_LOOP_DETECTED"


async def test_calls_that_keep_breaking_the_schema_are_noticed_as_a_loop_too() -> None:
    spec = ToolSpec(name="row", parameters={"required": ["seat"]})
    registry = ToolRegistry([Tool(spec, lambda seat: "never")], loop_guard=LoopGuard(warn_at=2, fail_at=3))
    assert error_of(await call(registry, "row"))["code"] == "INVALID_TOOL_ARGUMENTS"
    assert "REPEATED_TOOL_CALL" in (await call(registry, "row")).text
