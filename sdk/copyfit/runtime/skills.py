"""The skills that a run may read: a catalogue of references first, a body only when it is asked for."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from copyfit.state.skills import SkillReference


class SkillLibrary(Protocol):
    """Holds the skills selected for a run, each frozen in one revision."""

    @property
    def selected(self) -> Sequence[SkillReference]:
        """The skills that the run may read."""
        ...

    async def body(self, skill_id: str) -> str:
        """Return the instructions of a selected skill; an exception fails the call that asked for them."""
        ...


class SkillTexts:
    """A library of bodies that are at hand; satisfies `SkillLibrary`."""

    def __init__(self, bodies: Mapping[SkillReference, str]) -> None:
        self.selected = tuple(bodies)
        self._bodies = {skill.id: body for skill, body in bodies.items()}

    async def body(self, skill_id: str) -> str:
        """Return the instructions of the skill `skill_id`.

        Raises:
            KeyError: it is not in the library.

        """
        return self._bodies[skill_id]
