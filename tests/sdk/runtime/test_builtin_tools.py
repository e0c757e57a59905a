"""The tools that copyfit brings."""

import json

import pytest

from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_tool import ToolOutputReader
from copyfit.runtime.builtin_tools import read_output_tool, read_skill_tool, update_plan_tool
from copyfit.runtime.skills import SkillTexts
from copyfit.runtime.tools import Tool, ToolRegistry
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.tools import ToolSpec
from copyfit.state.channels import DurableState
from copyfit.state.plan import PlanStore
from copyfit.state.skills import SkillReference

pytestmark = pytest.mark.anyio

FOLDING = SkillReference(id="folding", version="1.2", revision=3, description="how to fold")
NAMELESS = SkillReference(id="nameless")


def plan_call(id: str, *steps: str) -> ToolCall:
    items = [{"step": step, "status": "pending"} for step in steps]
    return ToolCall(id=id, name="update_plan", arguments=json.dumps({"items": items}))


async def run(tool: Tool, arguments: str) -> ToolMessage:
    (result,) = await ToolRegistry([tool]).execute([ToolCall(id="c1", name=tool.spec.name, arguments=arguments)])
    return result


async def test_of_several_plans_in_one_step_only_the_last_is_kept_and_other_tools_run() -> None:
    """Case: PLN-03."""
    store = PlanStore(agent_id="a")
    echo = Tool(ToolSpec(name="echo"), lambda: "heard")
    registry = ToolRegistry([update_plan_tool(store), echo])
    old, other, new = await registry.execute(
        [plan_call("p1", "old"), ToolCall(id="e1", name="echo"), plan_call("p2", "new")], turn=4
    )
    assert json.loads(old.text) == {"ok": True, "superseded": True, "supersededBy": "p2"}
    assert other.text == "heard"
    assert not old.is_error
    assert not new.is_error
    assert store.snapshot is not None
    assert [item.step for item in store.snapshot.items] == ["new"]
    assert (store.snapshot.tool_call_id, store.snapshot.turn) == ("p2", 4)
    assert new.text == store.snapshot.json


async def test_a_plan_that_is_refused_leaves_the_old_one_and_says_why_in_one_sentence() -> None:
    store = PlanStore(agent_id="a")
    registry = ToolRegistry([update_plan_tool(store)])
    await registry.execute([plan_call("p1", "stands")])
    (refused,) = await registry.execute([plan_call("p2", " ")])
    message = json.loads(refused.text)["error"]["message"]
    assert message.startswith("update_plan refused the plan: the step of item 1")
    assert store.snapshot is not None
    assert store.snapshot.tool_call_id == "p1"


async def test_a_stored_output_is_read_back_in_pages() -> None:
    store = MemoryToolOutputStore()
    ref = store.put("one\ntwo\nthree\n", tool_name="shell").ref
    tool = read_output_tool(ToolOutputReader(store))
    result = await run(tool, json.dumps({"ref": ref, "offset": 2, "limit": 1}))
    assert "two" in result.text
    assert "three" not in result.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ('{"ref":"tool-output-0123456789abcdef"}', "The tool output tool-output-0123456789abcdef is no longer"),
        ('{"ref":"elsewhere"}', "Unknown tool output ref 'elsewhere'"),
        ('{"ref":"tool-output-0123456789abcdef","caseSensitive":true}', "The search options require query"),
    ],
)
async def test_why_an_output_cannot_be_read_reaches_the_model_in_its_own_words(
    arguments: str, sentence: str
) -> None:
    result = await run(read_output_tool(ToolOutputReader(MemoryToolOutputStore())), arguments)
    assert result.is_error
    assert json.loads(result.text)["error"]["message"].startswith(sentence)


async def test_a_skill_is_read_with_the_revision_that_was_selected() -> None:
    library = SkillTexts({FOLDING: "Fold twice.", NAMELESS: "Do nothing."})
    state = DurableState(skills=library.selected)
    registry = ToolRegistry([read_skill_tool(library)], state=state)
    (result,) = await registry.execute([ToolCall(id="c1", name="read_skill", arguments='{"skillId":"folding"}')])
    assert result.text == "Selected skill folding@1.2 (revision 3)\n\nFold twice."
    assert state.skills.read() == (FOLDING,)
    bare = await run(read_skill_tool(library), '{"skillId":"nameless"}')
    assert bare.text == "Selected skill nameless\n\nDo nothing."


async def test_a_skill_that_is_not_selected_is_not_read_and_not_remembered() -> None:
    library = SkillTexts({FOLDING: "Fold twice."})
    state = DurableState(skills=library.selected)
    registry = ToolRegistry([read_skill_tool(library)], state=state)
    (result,) = await registry.execute([ToolCall(id="c1", name="read_skill", arguments='{"skillId":"cooking"}')])
    assert result.is_error
    assert "those that are: folding" in result.text
    assert state.skills.read() == ()
