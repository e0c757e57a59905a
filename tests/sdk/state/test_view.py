import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from copyfit.errors import StateError
from copyfit.state.view import CAPTURE_ROUNDS, Fidelity, StateComponent, StateView, capture, migrate

pytestmark = pytest.mark.anyio


@dataclass
class Owner:
    """Gives its revisions one after the other, the last again and again."""

    id: str
    revisions: Sequence[int] = (0,)
    fidelity: Fidelity = Fidelity.CAPTURED
    reads: int = field(default=0, init=False)

    async def read(self) -> StateComponent:
        await asyncio.sleep(0)
        revision = self.revisions[min(self.reads, len(self.revisions) - 1)]
        self.reads += 1
        return StateComponent.of(self.id, {"at": revision}, revision=revision, fidelity=self.fidelity)


class Restless(Owner):
    async def read(self) -> StateComponent:
        self.reads += 1
        return StateComponent.of(self.id, {}, revision=self.reads)


def test_nobody_changes_what_another_reads() -> None:
    """Case: STV-01."""
    value = {"steps": ["one"]}
    view = StateView([StateComponent.of("plan", value)])
    value["steps"].append("two")
    view.read("plan").value["steps"].append("three")
    assert view.read("plan").value == {"steps": ["one"]}


def test_what_is_outside_the_view_or_in_another_version_cannot_be_read() -> None:
    """Case: STV-01."""
    view = StateView([StateComponent.of("plan", [], schema_version=2), StateComponent.of("goal", "g")], revision=5)
    assert view.read("plan", 2).value == []
    with pytest.raises(StateError, match="schema version 2 and 1 was asked for"):
        view.read("plan", 1)
    narrowed = view.restrict(["goal", "unknown"])
    assert (narrowed.ids, narrowed.revision) == (("goal",), 5)
    with pytest.raises(StateError, match="'plan' is not in this view"):
        narrowed.read("plan")


def test_a_reader_that_declares_nothing_sees_nothing() -> None:
    view = StateView([StateComponent.of("plan", [])]).restrict(())
    assert view.ids == ()
    with pytest.raises(StateError):
        view.read("plan")


@pytest.mark.parametrize("value", [{1, 2}, {"x": math.nan}, {1: "x"}, ("x",), object(), b"x"])
def test_a_value_that_is_not_json_is_refused(value: Any) -> None:
    """Case: STV-01."""
    with pytest.raises(StateError, match="'plan' is not JSON") as caught:
        StateComponent.of("plan", value)
    assert caught.value.component == "plan"


async def test_a_capture_reads_again_until_nothing_changes() -> None:
    """Case: STV-02."""
    calm, once = Owner("calm"), Owner("once", revisions=(0, 1))
    view = await capture([calm, once])
    assert (view.read("once").revision, view.read("once").value) == (1, {"at": 1})
    assert (calm.reads, once.reads) == (3, 3)


async def test_a_component_that_never_rests_is_named() -> None:
    """Case: STV-02."""
    restless = Restless("busy")
    with pytest.raises(StateError, match="'busy' kept changing"):
        await capture([Owner("calm"), restless])
    assert restless.reads == 1 + CAPTURE_ROUNDS


async def test_two_owners_of_one_component_are_refused() -> None:
    """Case: STV-02."""
    with pytest.raises(StateError, match="Two providers have the state component 'plan'"):
        await capture([Owner("plan"), Owner("plan")])


async def test_a_capture_can_be_cancelled() -> None:
    """Case: STV-02."""
    owner = Owner("slow")
    task = asyncio.create_task(capture([owner]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert owner.reads == 0


async def test_a_reference_is_read_once_a_capture_and_afresh_in_the_next() -> None:
    """Case: STV-03."""
    reference = Owner("files", revisions=(1, 2, 3), fidelity=Fidelity.REFERENCE_ONLY)
    owners = [reference, Owner("plan", revisions=(0, 1, 2))]
    assert (await capture(owners)).read("files").revision == 1
    assert reference.reads == 1
    assert (await capture(owners)).read("files").revision == 2


def test_a_migration_leads_from_version_to_version_and_leaves_the_source_alone() -> None:
    """Case: STV-05."""
    old = StateComponent.of("plan", {"items": ["a"]}, revision=7)

    def second(value: Any) -> Any:
        value["items"].append("b")
        return value

    new = migrate(old, to=3, steps={1: second, 2: lambda value: {"steps": value["items"]}})
    assert (new.value, new.schema_version, new.revision) == ({"steps": ["a", "b"]}, 3, 7)
    assert old.value == {"items": ["a"]}
    assert migrate(old, to=1, steps={}) == old


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        (1, "cannot go back to 1"),
        (4, "on from 3; add it"),
        (math.nan, "no schema version nan"),
        (True, "no schema version True"),
        (3, "returned nothing"),
    ],
)
def test_a_migration_that_cannot_be_made_is_refused(to: Any, reason: str) -> None:
    """Case: STV-05."""
    component = StateComponent.of("plan", {}, schema_version=2)
    steps = {2: (lambda value: value) if to == 4 else (lambda value: None)}
    with pytest.raises(StateError, match=reason):
        migrate(component, to=to, steps=steps)
