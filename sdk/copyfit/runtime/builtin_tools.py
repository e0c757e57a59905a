"""The tools that copyfit brings: update_plan, read_tool_output and read_skill."""

from collections.abc import Mapping, Sequence
from typing import Any

from copyfit.errors import ToolError, ToolOutputError
from copyfit.outputs.read_tool import ToolOutputReader
from copyfit.runtime.skills import SkillLibrary
from copyfit.runtime.tools import RunningCall, Tool, ToolFailure
from copyfit.shapes.messages import ToolCall
from copyfit.shapes.tools import ToolSpec
from copyfit.state.plan import PlanStore, superseded_result, superseded_updates, update_plan_spec
from copyfit.state.skills import READ_SKILL, SkillReference


def update_plan_tool(store: PlanStore) -> Tool:
    """Return the tool that replaces the plan in `store`; of several calls in one step only the last one runs."""

    def update(call: RunningCall, **arguments: Any) -> str:
        try:
            return store.update(arguments, tool_call_id=call.id, turn=call.turn).json
        except ToolError as error:
            raise ToolFailure(str(error)) from error

    return Tool(update_plan_spec(), update, wants_call=True, policy=_supersede)


def read_output_tool(reader: ToolOutputReader) -> Tool:
    """Return the tool that reads stored outputs through `reader`, in pages that bound themselves."""

    def read(**arguments: Any) -> str:
        try:
            return reader.read(arguments)
        except ToolOutputError as error:
            raise ToolFailure(str(error)) from error

    return Tool(reader.spec, read, exclusive=False, self_bounded=True)


def read_skill_tool(library: SkillLibrary) -> Tool:
    """Return the tool that gives the body of a skill selected in `library`."""
    selected = {skill.id: skill for skill in library.selected}

    async def read(skillId: str) -> str:  # noqa: N803 - the name that the model gives
        skill = selected.get(skillId)
        if skill is None:
            listed = ", ".join(sorted(selected)) or "none"
            raise ToolFailure(f"The skill {skillId!r} is not selected for this run; those that are: {listed}.")
        return f"Selected skill {_revision(skill)}\n\n{await library.body(skill.id)}"

    spec = ToolSpec(
        name=READ_SKILL,
        description="Read the instructions of one of the available skills.",
        parameters={
            "type": "object",
            "properties": {"skillId": {"type": "string", "description": "The id as the catalogue lists it."}},
            "required": ["skillId"],
            "additionalProperties": False,
        },
    )
    return Tool(spec, read, exclusive=False)


def _supersede(calls: Sequence[ToolCall]) -> Mapping[str, str]:
    return {replaced: superseded_result(last) for replaced, last in superseded_updates(calls).items()}


def _revision(skill: SkillReference) -> str:
    """Return which skill it is, in what version and revision as far as they are known."""
    version = "" if skill.version is None else f"@{skill.version}"
    revision = "" if skill.revision is None else f" (revision {skill.revision})"
    return f"{skill.id}{version}{revision}"
