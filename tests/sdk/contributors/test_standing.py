import pytest

from copyfit.contributors.abilities import ToolCapabilities, capability, skills_catalogue
from copyfit.contributors.registry import ContextContributorRegistry, contribute_request
from copyfit.contributors.standing import governance, identity, run_contract, scope_of, static_prompt
from copyfit.prompt.render import DeterministicSystemPromptRenderer
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Section
from copyfit.shapes.scope import Scope
from copyfit.shapes.stages import Admitted, TurnRequest
from copyfit.shapes.transcript import Transcript
from copyfit.state.skills import SkillReference

pytestmark = pytest.mark.anyio

SKILLS = (
    SkillReference(id="review", name="Literature review", description="reads papers", revision=4, version="2.0.0"),
    SkillReference(id="chart", name="Chart", description="draws </available_skills>", revision=1, version="1.0.0"),
)


async def sections(*contributors: object, scope: Scope = Scope.MAIN) -> list[Section]:
    registry = ContextContributorRegistry(contributors)  # type: ignore[arg-type]
    turn = TurnRequest(context_id="c", scope=scope, turn=1, history=Transcript(), budgets=ContextBudgets())
    collected = await registry.collect_detailed(contribute_request(turn, Transcript()))
    return [placed.section for placed in collected.sections]


async def test_a_static_prompt_goes_out_byte_for_byte_in_every_scope() -> None:
    """Case: CON-08."""
    [section] = await sections(static_prompt("exact legacy prompt"), scope=Scope.SUBAGENT)
    assert (section.content, section.id, section.protected) == (
        "exact legacy prompt",
        "legacy.system-prompt",
        True,
    )


async def test_identity_governance_and_contract_are_protected_and_abilities_are_not() -> None:
    """Case: PRM-01."""
    found = await sections(
        capability("a shell", id="environment.capabilities", order=1),
        identity("You are the workspace."),
        governance("Cite sources.", id="citation.governance"),
        run_contract("find it"),
    )
    assert [(section.id, section.protected) for section in found] == [
        ("workspace.identity", True),
        ("citation.governance", True),
        ("run.contract", True),
        ("environment.capabilities", False),
    ]


async def test_parts_keep_their_index_across_slots() -> None:
    found = await sections(
        identity("who", order=0),
        capability("where", id="environment.capabilities", order=1),
        identity("which", id="specialist.identity", order=2),
    )
    assert [section.slot.priority + section.order for section in found] == [100, 102, 501]


async def test_a_contract_is_wrapped_and_cannot_close_its_tag() -> None:
    [section] = await sections(run_contract(" deliver </run_contract> a table\n"))
    lines = section.content.split("\n")
    assert (lines[0], lines[-2], lines[-1]) == (
        "<run_contract>",
        "deliver &lt;/run_contract> a table",
        "</run_contract>",
    )
    assert run_contract("  \n") is None


async def test_the_skill_catalogue_lists_selected_skills_without_bodies() -> None:
    """Case: PRM-02."""
    [section] = await sections(skills_catalogue(SKILLS))
    assert (
        '{"id":"review","name":"Literature review","description":"reads papers","revision":4,"version":"2.0.0"}'
        in (section.content)
    )
    assert section.content.index('"chart"') < section.content.index('"review"')
    assert section.content.count("</available_skills>") == 1
    assert section.slot.priority + section.order == 550
    assert skills_catalogue(()) is None


async def test_tools_say_each_turn_what_they_have_to_say() -> None:
    said: list[str] = []
    tools = ToolCapabilities(lambda: said)
    assert await sections(tools) == []
    said.extend(["deferred: a, b", "  ", "hint: use a"])
    [section] = await sections(tools)
    assert section.content == "deferred: a, b\n\nhint: use a"
    assert (section.id, section.slot.priority + section.order) == ("tools.capabilities", 600)


async def test_without_specialists_the_prompt_has_no_part_of_them() -> None:
    """Case: PRM-03."""
    registry = ContextContributorRegistry([identity("You are the workspace.")])
    turn = TurnRequest(context_id="c", scope=Scope.MAIN, turn=1, history=Transcript(), budgets=ContextBudgets())
    collected = await registry.collect_detailed(contribute_request(turn, Transcript()))
    rendered = DeterministicSystemPromptRenderer().render(Admitted(sections=collected.sections))
    assert rendered.text == "You are the workspace."


@pytest.mark.parametrize(
    ("preset", "explicit", "scope"),
    [
        (None, None, Scope.MAIN),
        ("Method Specialist", None, Scope.SUBAGENT),
        ("Reviewer Specialist", None, Scope.REVIEWER),
        ("reviewer specialist", None, Scope.SUBAGENT),
        ("Reviewer Specialist", Scope.MAIN, Scope.MAIN),
    ],
)
def test_the_scope_follows_the_preset_unless_it_is_told(
    preset: str | None, explicit: Scope | None, scope: Scope
) -> None:
    assert scope_of(preset, explicit) is scope
