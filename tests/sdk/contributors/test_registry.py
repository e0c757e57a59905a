import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from copyfit.contributors.registry import (
    ContextContributorRegistry,
    contribute_request,
    installed_factories,
)
from copyfit.errors import CollectionFailed, DuplicateId, InvalidId, RegistryFrozen
from copyfit.ports.contributor import ContributeRequest, FactoryRequest
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Attachment, Contribution, Diagnostic, Section, Slot, Trust
from copyfit.shapes.messages import AssistantMessage, Message, Origin, UserMessage
from copyfit.shapes.scope import Scope
from copyfit.shapes.stages import Collected, TurnRequest
from copyfit.shapes.transcript import Transcript

pytestmark = pytest.mark.anyio


class Giver:
    """A contributor that gives one contribution, or raises one error, and remembers its requests."""

    def __init__(
        self,
        id: str,
        gives: Contribution | Exception = Contribution(),  # noqa: B008 frozen
        *,
        scopes: Sequence[Scope] = (Scope.MAIN,),
        required: bool = True,
    ) -> None:
        self.id = id
        self.scopes = scopes
        self.required = required
        self.gives = gives
        self.requests: list[ContributeRequest] = []

    async def contribute(self, request: ContributeRequest) -> Contribution:
        self.requests.append(request)
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def section(id: str, content: str = "text", slot: Slot = Slot.TASK_STATE, order: int = 0) -> Contribution:
    return Contribution(sections=(Section(id=id, slot=slot, content=content, order=order),))


def attachment(id: str, content: str = "data") -> Contribution:
    return Contribution(attachments=(Attachment(id=id, source="test", trust=Trust.TRUSTED, content=content),))


def request(*history: Message, scope: Scope = Scope.MAIN) -> ContributeRequest:
    transcript = Transcript(history or (UserMessage(content="question"),))
    turn = TurnRequest(context_id="s:r", scope=scope, turn=3, history=transcript, budgets=ContextBudgets())
    return contribute_request(turn, transcript)


async def collect(*contributors: Any, scope: Scope = Scope.MAIN) -> Collected:
    return await ContextContributorRegistry(contributors).collect_detailed(request(scope=scope))


async def test_sections_come_by_slot_and_order_and_contributors_see_the_latest_input() -> None:
    """Case: CON-01."""
    plan = Giver("plan", section("plan.current"))
    governance = Giver(
        "governance",
        section("governance.rules", slot=Slot.GOVERNANCE, order=5),
        scopes=(Scope.MAIN, Scope.REVIEWER),
    )
    collected = await collect(plan, governance)
    assert [placed.section.id for placed in collected.sections] == ["governance.rules", "plan.current"]
    assert [placed.sort_key[0] for placed in collected.sections] == [205, 400]
    [seen] = plan.requests
    assert (seen.latest_user_input, seen.turn, seen.context_id) == ("question", 3, "s:r")


async def test_a_section_id_used_by_two_required_contributors_fails_the_turn() -> None:
    """Case: CON-02."""
    with pytest.raises(CollectionFailed, match=r"Duplicate context section id 'plan\.current'"):
        await collect(Giver("alpha", section("plan.current")), Giver("beta", section("plan.current")))


async def test_an_optional_failure_leaves_a_diagnostic() -> None:
    """Case: CON-03."""
    collected = await collect(Giver("memory", OSError("offline"), required=False))
    [diagnostic] = collected.diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.contributor_id) == (
        "CONTRIBUTOR_FAILED",
        "warning",
        "memory",
    )
    assert "offline" in diagnostic.message


async def test_a_required_failure_is_raised_with_every_report() -> None:
    """Case: CON-04."""
    with pytest.raises(CollectionFailed, match=r"Required context contributor failed.*missing") as caught:
        await collect(Giver("contract", LookupError("missing")), Giver("memory", attachment("data.one")))
    assert caught.value.reasons == {"contract": "missing"}
    assert [(report.contributor_id, report.status, report.error) for report in caught.value.reports] == [
        ("contract", "failed", "missing"),
        ("memory", "contributed", None),
    ]


async def test_a_report_keeps_the_raw_contribution_and_its_duration() -> None:
    """Case: CON-05."""
    given = attachment("facts", "graph facts")
    collected = await collect(Giver("package.memory", given))
    [report] = collected.reports
    assert (report.contributor_id, report.status, report.contribution) == ("package.memory", "contributed", given)
    assert report.duration_ms >= 0
    assert collected.attachments[0].attachment.content == "graph facts"


class Factory:
    """Makes one contributor that echoes the scope it was asked for."""

    def __init__(self, id: str, made_id: str = "memory.run-snapshot") -> None:
        self.id = id
        self.made_id = made_id
        self.requests: list[FactoryRequest] = []

    def create(self, request: FactoryRequest) -> Giver:
        self.requests.append(request)
        given = section("memory.section", "memory", Slot.WORKING_CONTEXT)
        return Giver(self.made_id, given, scopes=(request.scope,))


async def test_a_factory_makes_contributors_for_the_scope_it_is_told() -> None:
    """Case: CON-06."""
    factory = Factory("memory.context")
    asked = FactoryRequest(context_id="session-1", scope=Scope.SUBAGENT)
    registry = ContextContributorRegistry()
    registry.register_factory(factory, asked)
    registry.freeze()
    collected = await registry.collect_detailed(request(scope=Scope.SUBAGENT))
    assert factory.requests == [asked]
    assert collected.sections[0].section.content == "memory"


async def test_a_factory_may_make_several() -> None:
    class Many:
        id = "many"

        def create(self, request: FactoryRequest) -> list[Giver]:
            return [Giver("one"), Giver("two")]

    registry = ContextContributorRegistry()
    registry.register_factory(Many(), FactoryRequest(context_id="s", scope=Scope.MAIN))
    collected = await registry.collect_detailed(request())
    assert [report.contributor_id for report in collected.reports] == ["one", "two"]


def test_a_frozen_registry_takes_nothing_more() -> None:
    """Case: CON-07."""
    registry = ContextContributorRegistry()
    registry.freeze()
    with pytest.raises(RegistryFrozen, match="frozen"):
        registry.register(Giver("late"))
    with pytest.raises(RegistryFrozen, match="frozen"):
        registry.register_factory(Factory("late"), FactoryRequest(context_id="s", scope=Scope.MAIN))


async def test_a_contributor_that_does_not_say_is_required() -> None:
    """Case: CON-20."""

    class Silent:
        id = "silent"
        scopes = (Scope.MAIN,)

        async def contribute(self, request: ContributeRequest) -> Contribution:
            raise OSError("gone")

    with pytest.raises(CollectionFailed, match="gone"):
        await collect(Silent())


async def test_a_contribution_is_accepted_whole_or_not_at_all() -> None:
    """Case: CON-21."""
    given = Contribution(
        sections=(
            Section(id="good", slot=Slot.FOOTER, content="fine"),
            Section(id="bad", slot=Slot.FOOTER, content=" \n"),
        ),
        messages=(UserMessage(content="hello"),),
    )
    collected = await collect(Giver("memory", given, required=False))
    assert (collected.sections, collected.messages, collected.attachments) == ((), (), ())
    assert [diagnostic.code for diagnostic in collected.diagnostics] == ["CONTRIBUTOR_FAILED"]
    [report] = collected.reports
    assert (report.status, report.contribution) == ("failed", given)


@pytest.mark.parametrize("bad", ["A", "a..b", "1a", "a-", "a b", "", "a\n"])
def test_a_malformed_id_is_refused(bad: str) -> None:
    """Case: CON-22."""
    registry = ContextContributorRegistry()
    with pytest.raises(InvalidId, match="id is invalid"):
        registry.register(Giver(bad))
    with pytest.raises(InvalidId, match="id is invalid"):
        registry.register_factory(Factory(bad), FactoryRequest(context_id="s", scope=Scope.MAIN))


@pytest.mark.parametrize("good", ["a_b", "a.b-c"])
def test_a_well_formed_id_is_taken(good: str) -> None:
    """Case: CON-22."""
    ContextContributorRegistry([Giver(good)])


async def test_an_id_forced_past_validation_fails_its_contributor() -> None:
    forced = Section.model_construct(id="A B", slot=Slot.FOOTER, content="x", order=0, protected=False)
    given = Contribution.model_construct(sections=(forced,))
    collected = await collect(Giver("memory", given, required=False))
    assert "section id is invalid" in str(collected.reports[0].error)


async def test_the_first_contributor_by_id_keeps_a_contested_attachment() -> None:
    """Case: CON-23."""
    alpha = Giver("alpha", attachment("data.one", "from alpha"), required=False)
    beta = Giver("beta", attachment("data.one", "from beta"), required=False)
    collected = await collect(beta, alpha)
    assert [placed.attachment.content for placed in collected.attachments] == ["from alpha"]
    assert [diagnostic.contributor_id for diagnostic in collected.diagnostics] == ["beta"]


async def test_an_id_used_twice_inside_one_contribution_fails_it() -> None:
    given = Contribution(sections=section("x").sections * 2)
    collected = await collect(Giver("memory", given, required=False))
    assert collected.sections == ()


async def test_sections_and_attachments_have_name_spaces_of_their_own() -> None:
    given = Contribution(sections=section("x").sections, attachments=attachment("x").attachments)
    collected = await collect(Giver("memory", given))
    assert (len(collected.sections), len(collected.attachments)) == (1, 1)


@pytest.mark.parametrize(
    ("too_large", "just_right"),
    [
        (section("x", "s" * 100_001), section("x", "s" * 100_000)),
        (attachment("x", "a" * 1_000_001), attachment("x", "a" * 1_000_000)),
    ],
)
async def test_the_hard_caps_hold_whatever_the_settings(too_large: Contribution, just_right: Contribution) -> None:
    """Case: CON-24."""
    with pytest.raises(CollectionFailed, match="too large"):
        await collect(Giver("memory", too_large))
    assert (await collect(Giver("memory", just_right))).reports[0].status == "contributed"


async def test_sections_of_one_priority_come_by_contributor_id() -> None:
    """Case: CON-25."""
    tools = Giver("tools.capabilities", section("tools.capabilities", slot=Slot.CAPABILITIES, order=100))
    memory = Giver("memory.run-snapshot", section("memory.run-snapshot", slot=Slot.WORKING_CONTEXT))
    collected = await collect(tools, memory)
    assert [placed.sort_key[:2] for placed in collected.sections] == [
        (600, "memory.run-snapshot"),
        (600, "tools.capabilities"),
    ]


async def test_a_contributor_of_another_scope_is_not_asked() -> None:
    """Case: CON-26."""
    reviewer = Giver("reviewer", section("x"), scopes=(Scope.REVIEWER,))
    collected = await collect(reviewer)
    assert (reviewer.requests, collected.reports) == ([], ())


def test_a_checkpoint_counts_as_the_latest_user_input() -> None:
    """Case: CON-27."""
    asked = request(
        UserMessage(content="early"),
        UserMessage(content="the checkpoint", origin=Origin.CHECKPOINT),
        AssistantMessage(content="answer"),
    )
    assert asked.latest_user_input == "the checkpoint"
    assert request(AssistantMessage(content="alone")).latest_user_input == ""


def test_an_id_is_registered_once() -> None:
    """Case: CON-28."""
    asked = FactoryRequest(context_id="s", scope=Scope.MAIN)
    registry = ContextContributorRegistry([Giver("taken")])
    with pytest.raises(DuplicateId, match="Duplicate context contributor"):
        registry.register(Giver("taken"))
    registry.register_factory(Factory("factory"), asked)
    with pytest.raises(DuplicateId, match="Duplicate context factory"):
        registry.register_factory(Factory("factory", "other"), asked)


async def test_contributors_run_at_once_and_keep_their_order() -> None:
    met = asyncio.Event()

    class Waits(Giver):
        async def contribute(self, request: ContributeRequest) -> Contribution:
            await met.wait()
            return Contribution(messages=(UserMessage(content=self.id),))

    class Meets(Giver):
        async def contribute(self, request: ContributeRequest) -> Contribution:
            met.set()
            return Contribution(messages=(UserMessage(content=self.id),))

    collected = await asyncio.wait_for(collect(Meets("b"), Waits("a")), timeout=5)
    assert [placed.message.text for placed in collected.messages] == ["a", "b"]


async def test_attachments_come_by_contributor_and_then_by_id() -> None:
    two = Contribution(attachments=attachment("z").attachments + attachment("y").attachments)
    collected = await collect(Giver("b", attachment("a")), Giver("a", two))
    assert [placed.attachment.id for placed in collected.attachments] == ["y", "z", "a"]


async def test_a_diagnostic_is_signed_by_its_contributor() -> None:
    given = Contribution(diagnostics=(Diagnostic(code="X", message="m", contributor_id="forged"),))
    collected = await collect(Giver("memory", given))
    assert collected.diagnostics[0].contributor_id == "memory"


@pytest.mark.parametrize("wrong", [None, {"sections": []}, "text"])
async def test_what_is_no_contribution_fails_its_contributor(wrong: Any) -> None:
    collected = await collect(Giver("memory", wrong, required=False))
    assert "where a Contribution belongs" in str(collected.reports[0].error)


async def test_a_contributor_that_cancels_itself_fails_alone() -> None:
    class Cancels(Giver):
        async def contribute(self, request: ContributeRequest) -> Contribution:
            raise asyncio.CancelledError

    collected = await collect(Cancels("memory", required=False), Giver("plan", section("x")))
    assert [report.status for report in collected.reports] == ["failed", "contributed"]
    assert collected.reports[0].error == "CancelledError"


async def test_cancelling_the_turn_cancels_its_contributors() -> None:
    stopped = asyncio.Event()

    class Hangs(Giver):
        async def contribute(self, request: ContributeRequest) -> Contribution:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return Contribution()

    task = asyncio.create_task(collect(Hangs("memory", required=False)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()


async def test_the_same_input_is_collected_the_same_way() -> None:
    def plain(collected: Collected) -> tuple[object, ...]:
        return (collected.sections, collected.messages, collected.attachments, collected.diagnostics)

    def givers() -> list[Giver]:
        return [
            Giver("b", section("x")),
            Giver("a", attachment("y")),
            Giver("c", OSError("no"), required=False),
        ]

    assert plain(await collect(*givers())) == plain(await collect(*reversed(givers())))


def test_installed_factories_come_from_the_entry_points(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo_package.py").write_text("class Made:\n    id = 'demo.factory'\n\nfactory = Made()\n")
    metadata = tmp_path / "demo_package-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: demo-package\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[copyfit.contributors]\ndemo = demo_package:factory\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "demo.factory" in [factory.id for factory in installed_factories()]
