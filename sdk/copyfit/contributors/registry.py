"""Register who contributes to a run, and collect what all of them give to one turn."""

import asyncio
import time
from collections.abc import Iterable, Sequence

from copyfit.contributors.intake import Intake
from copyfit.errors import DuplicateId, InvalidId, RegistryFrozen
from copyfit.ports.contributor import (
    ContextContributor,
    ContextContributorFactory,
    ContributeRequest,
    FactoryRequest,
)
from copyfit.shapes.contributions import Contribution, check_id
from copyfit.shapes.stages import Collected, TurnRequest
from copyfit.shapes.transcript import Transcript

ENTRY_POINTS = "copyfit.contributors"
"""The entry-point group in which a package offers a `ContextContributorFactory`."""


class ContextContributorRegistry:
    """The contributors of one run; freeze it before turn one, and collect once or twice a turn."""

    def __init__(self, contributors: Iterable[ContextContributor] = ()) -> None:
        self._contributors: dict[str, ContextContributor] = {}
        self._factory_ids: set[str] = set()
        self._frozen = False
        for contributor in contributors:
            self.register(contributor)

    def register(self, contributor: ContextContributor) -> None:
        """Add `contributor`.

        Raises:
            RegistryFrozen: the run has begun.
            InvalidId: its id is malformed.
            DuplicateId: its id is taken.

        """
        if self._frozen:
            raise RegistryFrozen(contributor.id)
        _require_id("contributor", contributor.id)
        if contributor.id in self._contributors:
            raise DuplicateId("contributor", contributor.id)
        self._contributors[contributor.id] = contributor

    def register_factory(self, factory: ContextContributorFactory, request: FactoryRequest) -> None:
        """Add the contributors that `factory` makes for the run of `request`.

        Raises:
            RegistryFrozen: the run has begun.
            InvalidId: the factory's id or that of a contributor is malformed.
            DuplicateId: the factory was registered before, or a contributor's id is taken.

        """
        if self._frozen:
            raise RegistryFrozen(factory.id)
        _require_id("factory", factory.id)
        if factory.id in self._factory_ids:
            raise DuplicateId("factory", factory.id)
        self._factory_ids.add(factory.id)
        made = factory.create(request)
        for contributor in made if isinstance(made, Sequence) else (made,):
            self.register(contributor)

    def freeze(self) -> None:
        """Refuse every later registration."""
        self._frozen = True

    async def collect_detailed(self, request: ContributeRequest) -> Collected:
        """Ask every contributor of the request's scope at once, and return what they gave in its final order.

        A contributor's output is accepted whole or not at all. Contributors are looked at in the order of their
        ids, so where two claim one id the earlier keeps it.

        Raises:
            CollectionFailed: a required contributor failed; the error carries every report.

        """
        active = [self._contributors[key] for key in sorted(self._contributors)]
        active = [contributor for contributor in active if request.scope in contributor.scopes]
        durations: dict[str, float] = {}
        outcomes = await asyncio.gather(
            *(_timed(contributor, request, durations) for contributor in active), return_exceptions=True
        )
        intake = Intake()
        for contributor, outcome in zip(active, outcomes, strict=True):
            intake.take(contributor, outcome, duration_ms=durations[contributor.id])
        return intake.collected()


def contribute_request(turn: TurnRequest, history: Transcript) -> ContributeRequest:
    """Return what the contributors to `turn` may look at, with `history` as it stands now.

    The latest user input is the text of the last user message, a checkpoint included; empty where there is none.
    """
    place = history.landmarks.latest_user
    return ContributeRequest(
        context_id=turn.context_id,
        scope=turn.scope,
        turn=turn.turn,
        history=history,
        latest_user_input="" if place is None else history.steps[place].messages[0].text,
    )


def installed_factories() -> tuple[ContextContributorFactory, ...]:
    """Load the factories that installed packages offer in the entry-point group `ENTRY_POINTS`, by name.

    Nothing is looked for unless this is called, so installing a package alone never changes a run.

    Raises:
        ImportError: an entry point names something that cannot be imported.

    """
    from importlib.metadata import entry_points

    return tuple(point.load() for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name))


async def _timed(
    contributor: ContextContributor, request: ContributeRequest, durations: dict[str, float]
) -> Contribution:
    started = time.perf_counter()
    try:
        return await contributor.contribute(request)
    finally:
        durations[contributor.id] = (time.perf_counter() - started) * 1000


def _require_id(kind: str, value: str) -> None:
    try:
        check_id(value)
    except ValueError as error:
        raise InvalidId(kind, value, str(error)) from error
