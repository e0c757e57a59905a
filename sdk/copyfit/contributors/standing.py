"""Contribute what stands for a whole run: who the agent is, how it is governed, what it was asked to deliver."""

from collections.abc import Sequence
from dataclasses import dataclass

from copyfit.contributors.authority import escape_body
from copyfit.ports.contributor import ContributeRequest
from copyfit.shapes.contributions import Contribution, Section, Slot
from copyfit.shapes.scope import Scope

EVERY_SCOPE = tuple(Scope)
REVIEWER_PRESET = "Reviewer Specialist"
"""The preset name that makes an agent a reviewer (behaviour.md section 3)."""

_CONTRACT_NOTICE = (
    "This contract is authoritative for the scope and the constraints of the run. It is no part of the "
    "conversation and is never to be summarized."
)


@dataclass(frozen=True, slots=True)
class StandingContributor:
    """Gives the same sections on every turn; required unless it says otherwise."""

    id: str
    sections: tuple[Section, ...]
    scopes: Sequence[Scope] = EVERY_SCOPE
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return the sections."""
        return Contribution(sections=self.sections)


def identity(
    text: str, *, id: str = "workspace.identity", order: int = 0, scopes: Sequence[Scope] = EVERY_SCOPE
) -> StandingContributor:
    """Return the contributor of who the agent is; also as ``specialist.identity`` or ``subagent.identity``."""
    return StandingContributor(id, (_protected(id, Slot.IDENTITY, text, order),), scopes)


def governance(
    text: str, *, id: str, order: int = 0, scopes: Sequence[Scope] = EVERY_SCOPE
) -> StandingContributor:
    """Return the contributor of rules such as ``subagent.governance`` or ``citation.governance``."""
    return StandingContributor(id, (_protected(id, Slot.GOVERNANCE, text, order),), scopes)


def run_contract(contract: str, *, scopes: Sequence[Scope] = EVERY_SCOPE) -> StandingContributor | None:
    """Return the contributor of the run's contract, or None when it is blank."""
    text = contract.strip()
    if not text:
        return None
    content = f"<run_contract>\n{_CONTRACT_NOTICE}\n{escape_body(text)}\n</run_contract>"
    return StandingContributor(
        "run.contract", (_protected("run.contract", Slot.RUN_CONTRACT, content, 0),), scopes
    )


def static_prompt(text: str, *, scopes: Sequence[Scope] = EVERY_SCOPE) -> StandingContributor:
    """Return the contributor of a ready system prompt, which goes out byte for byte."""
    return StandingContributor(
        "legacy.system-prompt", (_protected("legacy.system-prompt", Slot.IDENTITY, text, 0),), scopes
    )


def scope_of(preset: str | None, explicit: Scope | None = None) -> Scope:
    """Return the scope of an agent: `explicit`, or else what the name of its subagent `preset` makes it."""
    if explicit is not None:
        return explicit
    if preset is None:
        return Scope.MAIN
    return Scope.REVIEWER if preset == REVIEWER_PRESET else Scope.SUBAGENT


def _protected(section_id: str, slot: Slot, text: str, order: int) -> Section:
    return Section(id=section_id, slot=slot, content=text, order=order, protected=True)
