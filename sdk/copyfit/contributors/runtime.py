"""Contribute the durable state of a run as data: skills in use, delegations, artifacts, reviews and memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from copyfit.contributors.authority import runtime_context_data
from copyfit.contributors.standing import EVERY_SCOPE
from copyfit.ports.contributor import ContextContributor, ContributeRequest
from copyfit.shapes.contributions import Contribution
from copyfit.shapes.messages import Origin, UserMessage
from copyfit.shapes.scope import Scope
from copyfit.state.channels import Channel, DurableState
from copyfit.state.skills import READ_SKILL, SkillBodies
from copyfit.state.values import compact_json

ACTIVE_SKILLS: Final = "active_skills"
"""The channel name of the skills that were read."""

CHANNEL_CONTRIBUTORS: Final = MappingProxyType(
    {
        Channel.ARTIFACTS: "artifact.runtime-state",
        Channel.DELEGATIONS: "delegation.runtime-state",
        Channel.MEMORY: "memory.runtime-state",
        Channel.REVIEWS: "review.runtime-state",
    }
)
"""The contributor of each channel (behaviour.md section 5.4)."""

_READ_AGAIN: Final = (
    "These skills were read in this run, in the revision named. Where instructionsVisibleInHistory is false the "
    f"instructions are no longer in the conversation: call {READ_SKILL} again before following them."
)


def data_message(channel: str, json_line: str) -> UserMessage:
    """Return the hidden message that carries `json_line` as data of `channel`."""
    return UserMessage(content=runtime_context_data(channel, json_line), origin=Origin.CONTRIBUTED, source=channel)


class ActiveSkills:
    """Names the skills that were read, and whether the model can still see their bodies.

    It looks at the history of the request, so collecting again after a compaction or a window that cut a body
    tells the model to read the skill again.
    """

    id = "skills.durable-state"
    required = True

    def __init__(self, state: DurableState, scopes: Sequence[Scope] = EVERY_SCOPE) -> None:
        self.scopes = scopes
        self._shelf = state.skills
        self._bodies = SkillBodies()

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return one data message, or nothing when no skill was read."""
        read = self._shelf.read()
        if not read:
            return Contribution()
        visible = self._bodies.visible(request.history.steps)
        skills = [{**skill.as_data(), "instructionsVisibleInHistory": skill.id in visible} for skill in read]
        line = compact_json({"instruction": _READ_AGAIN, "skills": skills})
        return Contribution(messages=(data_message(ACTIVE_SKILLS, line),))


@dataclass(frozen=True, slots=True)
class ChannelProjection:
    """Shows the model what one channel keeps, oldest first."""

    state: DurableState
    channel: Channel
    scopes: Sequence[Scope] = EVERY_SCOPE
    required: bool = False

    @property
    def id(self) -> str:
        """The contributor's id, which names what the channel holds."""
        return CHANNEL_CONTRIBUTORS[self.channel]

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return one data message, or nothing when the channel is empty."""
        records = self.state.records(self.channel)
        if not records:
            return Contribution()
        line = f"[{','.join(record.json for record in records)}]"
        return Contribution(messages=(data_message(self.channel, line),))


def runtime_contributors(
    state: DurableState, *, scopes: Sequence[Scope] = EVERY_SCOPE
) -> tuple[ContextContributor, ...]:
    """Return the contributors of everything that `state` keeps."""
    return (
        ActiveSkills(state, scopes),
        *(ChannelProjection(state, channel, scopes) for channel in CHANNEL_CONTRIBUTORS),
    )
