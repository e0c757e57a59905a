"""A fixed view of the state that several owners keep: every component as it was at one moment.

A view holds each value as JSON text, so nobody can change what another reader sees.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from copyfit.errors import StateError
from copyfit.state.values import compact_json, read_json

CAPTURE_ROUNDS = 8
"""How often the components are read again before one that keeps changing is an error."""


class Fidelity(StrEnum):
    """Whether a component holds the state itself, or only names what lies elsewhere and may change there."""

    CAPTURED = "captured"
    REFERENCE_ONLY = "reference-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateComponent:
    """The state of one owner: its `value`, in the shape of `schema_version`, as of `revision`.

    Raises:
        StateError: the value is not JSON, or a version is not a whole number of at least 1.

    """

    id: str
    value_json: str
    schema_version: int = 1
    revision: int = 0
    fidelity: Fidelity = Fidelity.CAPTURED

    def __post_init__(self) -> None:
        _check_version(self.id, self.schema_version)

    @classmethod
    def of(
        cls,
        id: str,
        value: Any,
        *,
        schema_version: int = 1,
        revision: int = 0,
        fidelity: Fidelity = Fidelity.CAPTURED,
    ) -> "StateComponent":
        """Return the component that holds a copy of the JSON `value`."""
        return cls(
            id=id,
            value_json=_as_json(id, value),
            schema_version=schema_version,
            revision=revision,
            fidelity=fidelity,
        )

    @property
    def value(self) -> Any:
        """A copy of the value, the reader's own."""
        return read_json(self.value_json)


class StateProvider(Protocol):
    """Owns one component of the state."""

    @property
    def id(self) -> str:
        """The component's unique id."""
        ...

    async def read(self) -> StateComponent:
        """Return the component as it is now; another revision means another value."""
        ...


class StateView:
    """The components of one capture by their ids; `revision` is the coordinator's at that moment."""

    def __init__(self, components: Iterable[StateComponent] = (), *, revision: int = 0) -> None:
        self._components: Mapping[str, StateComponent] = MappingProxyType({each.id: each for each in components})
        self.revision = revision

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the components that can be read."""
        return tuple(self._components)

    def read(self, id: str, version: int | None = None) -> StateComponent:
        """Return the component `id`, which must have the schema `version` where one is asked for.

        Raises:
            StateError: the view does not hold it, or holds it in another version.

        """
        component = self._components.get(id)
        if component is None:
            raise StateError(id, f"The state component {id!r} is not in this view; declare that it is read.")
        if version is not None and component.schema_version != version:
            raise StateError(
                id,
                f"The state component {id!r} has schema version {component.schema_version} and {version} was "
                "asked for; migrate it first.",
            )
        return component

    def restrict(self, ids: Iterable[str]) -> "StateView":
        """Return the view of those of `ids` that this one holds."""
        kept = frozenset(ids)
        return StateView((each for each in self._components.values() if each.id in kept), revision=self.revision)


async def capture(providers: Sequence[StateProvider], *, revision: int = 0) -> StateView:
    """Return a view in which no component changed while the others were read.

    Every captured component is read until two readings have the same revision. A reference-only component is read
    once, for what it names changes on its own.

    Raises:
        StateError: two providers have one id, or a component kept changing.

    """
    kept: dict[str, StateComponent] = {}
    for provider in providers:
        if provider.id in kept:
            raise StateError(provider.id, f"Two providers have the state component {provider.id!r}; rename one.")
        kept[provider.id] = await provider.read()
    moving = [each for each in providers if kept[each.id].fidelity is Fidelity.CAPTURED]
    changed = ""
    for _ in range(CAPTURE_ROUNDS):
        again = {each.id: await each.read() for each in moving}
        changed = next((id for id in again if again[id].revision != kept[id].revision), "")
        kept |= again
        if not changed:
            return StateView(kept.values(), revision=revision)
    raise StateError(changed, f"The state component {changed!r} kept changing; capture when its owner is at rest.")


def migrate(component: StateComponent, *, to: int, steps: Mapping[int, Callable[[Any], Any]]) -> StateComponent:
    """Return `component` in schema version `to`; `steps` maps a version to what makes the next one of its value.

    Raises:
        StateError: `to` is older or no version, a step is missing, or a step returned nothing or no JSON.

    """
    _check_version(component.id, to)
    if to < component.schema_version:
        raise StateError(
            component.id,
            f"The state component {component.id!r} has schema version {component.schema_version}; it cannot go "
            f"back to {to}: use the newer reader.",
        )
    value = component.value
    for version in range(component.schema_version, to):
        if version not in steps:
            raise StateError(
                component.id, f"No migration leads the state component {component.id!r} on from {version}; add it."
            )
        value = steps[version](value)
        if value is None:
            raise StateError(
                component.id,
                f"The migration of the state component {component.id!r} from {version} returned nothing.",
            )
    return StateComponent.of(
        component.id, value, schema_version=to, revision=component.revision, fidelity=component.fidelity
    )


def _as_json(id: str, value: Any) -> str:
    try:
        text = compact_json(value)
        if read_json(text) == value:
            return text
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(id, f"The state component {id!r} is not JSON: {error}.") from error
    raise StateError(id, f"The state component {id!r} is not JSON: it comes back different from JSON text.")


def _check_version(id: str, version: object) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise StateError(id, f"The state component {id!r} has no schema version {version!r}; count from 1.")
