"""Contribute what an agent can do: its tools and MCP servers, its surroundings, and the skills it may read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from copyfit.contributors.authority import escape_json
from copyfit.contributors.standing import EVERY_SCOPE, StandingContributor
from copyfit.ports.contributor import ContributeRequest
from copyfit.shapes.contributions import Contribution, Section, Slot
from copyfit.shapes.scope import Scope
from copyfit.state.skills import READ_SKILL, SkillReference
from copyfit.state.values import compact_json

_CATALOGUE_ORDER = 50
_TOOLS_ORDER = 100
"""Places within the capabilities slot (behaviour.md section 5.4)."""

_DISCLOSURE = (
    f"Each entry below names a skill and not its instructions. Call {READ_SKILL} with its id before relying on "
    "one, and read only the skills that the task needs."
)


def capability(
    text: str, *, id: str, order: int = 0, scopes: Sequence[Scope] = EVERY_SCOPE
) -> StandingContributor:
    """Return the contributor of a standing ability such as ``environment.capabilities``; it may be cut."""
    return StandingContributor(id, (Section(id=id, slot=Slot.CAPABILITIES, content=text, order=order),), scopes)


def skills_catalogue(
    skills: Sequence[SkillReference], *, scopes: Sequence[Scope] = EVERY_SCOPE
) -> StandingContributor | None:
    """Return the contributor of the list of selected skills without their bodies, or None when there are none."""
    if not skills:
        return None
    listed = sorted(skills, key=lambda skill: skill.id)
    entries = "\n".join(escape_json(compact_json(skill.as_data())) for skill in listed)
    content = f"{_DISCLOSURE}\n<available_skills>\n{entries}\n</available_skills>"
    section = Section(id="skills.catalog", slot=Slot.CAPABILITIES, content=content, order=_CATALOGUE_ORDER)
    return StandingContributor("skills.catalog", (section,), scopes)


@dataclass(frozen=True, slots=True)
class ToolCapabilities:
    """Gives what the tool registry says about its tools this turn, such as the names of deferred ones."""

    prompt_sections: Callable[[], Sequence[str]]
    scopes: Sequence[Scope] = EVERY_SCOPE
    id: str = "tools.capabilities"
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return one section of all that the registry says, or nothing."""
        said = [text for text in self.prompt_sections() if text.strip()]
        if not said:
            return Contribution()
        return Contribution(
            sections=(Section(id=self.id, slot=Slot.CAPABILITIES, content="\n\n".join(said), order=_TOOLS_ORDER),)
        )
