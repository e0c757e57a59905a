"""Keep the last results of the tools that change what a run has: delegations, artifacts, reviews, memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from types import MappingProxyType
from typing import Final, Literal

from copyfit.state.goal import Goal, read_goal
from copyfit.state.skills import READ_SKILL, SkillReference, SkillShelf, skill_id_of
from copyfit.state.values import compact_json, kept_arguments, kept_result

CHANNEL_LENGTH: Final = 5
"""Records that one channel keeps (behaviour.md section 1.3)."""


class Channel(StrEnum):
    """A kind of durable state, by the name that the model sees."""

    DELEGATIONS = "delegations"
    ARTIFACTS = "artifacts"
    REVIEWS = "reviews"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class ChannelRule:
    """Where the results of a tool go, and whether a failed one is kept too."""

    channel: Channel
    keeps_failures: bool = False


TOOL_CHANNELS: Final[Mapping[str, ChannelRule]] = MappingProxyType(
    {
        "task": ChannelRule(Channel.DELEGATIONS, keeps_failures=True),
        "artifact_download": ChannelRule(Channel.ARTIFACTS),
        "paper_extract_pdf": ChannelRule(Channel.ARTIFACTS),
        "declare_artifact": ChannelRule(Channel.ARTIFACTS),
        "review_checkpoint": ChannelRule(Channel.REVIEWS, keeps_failures=True),
        "trace_provenance": ChannelRule(Channel.REVIEWS, keeps_failures=True),
        "query_graph": ChannelRule(Channel.MEMORY),
        "declare_evidence": ChannelRule(Channel.MEMORY),
        "declare_claim": ChannelRule(Channel.MEMORY),
    }
)
"""The tools of the reference (behaviour.md section 14.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolObservation:
    """One finished call: its arguments as JSON text, its text after the output guard, and its sequence number."""

    tool_name: str
    call_id: str
    arguments: str
    content: str
    failed: bool
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRecord:
    """What a channel keeps of one call; `arguments` and `result` are compact JSON texts of bounded length."""

    sequence: int
    call_id: str
    tool_name: str
    status: Literal["succeeded", "failed"]
    arguments: str
    result: str

    @property
    def json(self) -> str:
        """The record as one line of JSON, without its sequence number."""
        return (
            f'{{"args":{self.arguments},"callId":{compact_json(self.call_id)},"result":{self.result},'
            f'"status":"{self.status}","toolName":{compact_json(self.tool_name)}}}'
        )


class DurableState:
    """The state of one run, fed by tool results; it survives every compaction of the transcript."""

    def __init__(
        self,
        *,
        contract: str = "",
        skills: Iterable[SkillReference] = (),
        rules: Mapping[str, ChannelRule] = TOOL_CHANNELS,
    ) -> None:
        self._goal = read_goal(contract)
        self._skills = SkillShelf(skills)
        self._rules = rules
        self._records: dict[Channel, tuple[ChannelRecord, ...]] = {}
        self._sequence = count(1)

    @property
    def goal(self) -> Goal | None:
        """What the run's contract asks for, or None without a contract."""
        return self._goal

    @property
    def skills(self) -> SkillShelf:
        """The skills selected and read."""
        return self._skills

    def next_sequence(self) -> int:
        """Return the number of a call; take it when the call is entered, so that numbers follow declared order.

        Hydrated and live calls share one count, so a live record is never older than a hydrated one.
        """
        return next(self._sequence)

    def observe(self, observation: ToolObservation) -> None:
        """Take in one finished call; calls may finish in any order, and tools without a channel are ignored."""
        if observation.tool_name == READ_SKILL:
            skill_id = skill_id_of(observation.arguments)
            if skill_id is not None and not observation.failed:
                self._skills.note_read(skill_id)
            return
        rule = self._rules.get(observation.tool_name)
        if rule is None or (observation.failed and not rule.keeps_failures):
            return
        others = (record for record in self.records(rule.channel) if record.call_id != observation.call_id)
        kept = sorted((*others, _record(observation)), key=lambda record: (record.sequence, record.call_id))
        self._records[rule.channel] = tuple(kept[-CHANNEL_LENGTH:])

    def records(self, channel: Channel) -> tuple[ChannelRecord, ...]:
        """Return what `channel` keeps, oldest first."""
        return self._records.get(channel, ())


def _record(observation: ToolObservation) -> ChannelRecord:
    return ChannelRecord(
        sequence=observation.sequence,
        call_id=observation.call_id,
        tool_name=observation.tool_name,
        status="failed" if observation.failed else "succeeded",
        arguments=kept_arguments(observation.arguments),
        result=kept_result(observation.content),
    )
