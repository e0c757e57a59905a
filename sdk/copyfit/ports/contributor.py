"""Who adds something to a turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from copyfit.shapes.contributions import Contribution
from copyfit.shapes.scope import Scope
from copyfit.shapes.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributeRequest:
    """What a contributor may look at: the canonical history as it stands, and the latest user text."""

    context_id: str
    scope: Scope
    turn: int
    history: Transcript
    latest_user_input: str


class ContextContributor(Protocol):
    """Adds sections, messages, attachments or diagnostics to each turn of the scopes it serves."""

    @property
    def id(self) -> str:
        """The contributor's unique id."""
        ...

    @property
    def scopes(self) -> Sequence[Scope]:
        """The kinds of agent that it serves."""
        ...

    @property
    def required(self) -> bool:
        """Whether its failure fails the turn; an optional one leaves a diagnostic."""
        ...

    async def contribute(self, request: ContributeRequest) -> Contribution:
        """Return what this turn gets; an exception is a failure of this contributor alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryRequest:
    """The run that a factory makes contributors for."""

    context_id: str
    scope: Scope


class ContextContributorFactory(Protocol):
    """Makes the contributors of a package for one run."""

    @property
    def id(self) -> str:
        """The factory's unique id."""
        ...

    def create(self, request: FactoryRequest) -> ContextContributor | Sequence[ContextContributor]:
        """Return the contributor or contributors of this run."""
        ...
