"""Remember which skills were read, and tell which bodies the model can still see."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import ToolMessage
from copyfit.shapes.running import RunningFact
from copyfit.shapes.steps import Step
from copyfit.state.values import read_object, reads_as_failure

READ_SKILL = "read_skill"
"""The tool whose result is the body of a skill; its argument `skillId` names the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillReference:
    """A skill in the revision that was frozen for the run; an unselected one has nothing but its id."""

    id: str
    name: str | None = None
    description: str | None = None
    revision: int | None = None
    version: str | None = None
    hash: str | None = None

    def as_data(self) -> dict[str, str | int]:
        """Return the known fields as JSON data, the id first."""
        known = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in known if value is not None}


class SkillShelf:
    """The skills selected for a run, and those among all skills that were read in it."""

    def __init__(self, selected: Iterable[SkillReference] = ()) -> None:
        self._selected = {skill.id: skill for skill in selected}
        self._read: set[str] = set()

    @property
    def selected(self) -> tuple[SkillReference, ...]:
        """The skills that the run may read, by id."""
        return tuple(self._selected[key] for key in sorted(self._selected))

    def note_read(self, skill_id: str) -> None:
        """Remember that the body of `skill_id` was given to the model."""
        self._read.add(skill_id)

    def read(self) -> tuple[SkillReference, ...]:
        """Return a reference to each skill that was read, by id."""
        return tuple(self._selected.get(key) or SkillReference(id=key) for key in sorted(self._read))


def skill_id_of(arguments: str) -> str | None:
    """Return the skill that the JSON text `arguments` of a `read_skill` call names, or None."""
    skill_id = read_object(arguments).get("skillId")
    return skill_id if isinstance(skill_id, str) and skill_id else None


class SkillBodies:
    """Tells which skills stand in a growing history with their whole body.

    A body that was projected to head and tail, or that stands in a failed result, does not count.
    """

    def __init__(self) -> None:
        self._seen: RunningFact[Step, frozenset[str]] = RunningFact(frozenset(), _take_in)

    def visible(self, steps: Growing[Step]) -> frozenset[str]:
        """Return the ids of the skills whose whole body stands in `steps`."""
        return self._seen.of(steps)


def _take_in(seen: frozenset[str], _: int, step: Step) -> frozenset[str]:
    head, *results = step.messages
    if not results or head.role != "assistant":
        return seen
    calls = {call.id: call.arguments for call in head.tool_calls if call.name == READ_SKILL}
    if not calls:
        return seen
    whole = (
        skill_id_of(calls[result.call_id])
        for result in results
        if result.role == "tool" and result.call_id in calls and _is_whole(result)
    )
    return seen.union(skill_id for skill_id in whole if skill_id is not None)


def _is_whole(result: ToolMessage) -> bool:
    return not (result.projected or result.is_error or reads_as_failure(result.text))
