from itertools import permutations

from copyfit.prompt.render import DeterministicSystemPromptRenderer
from copyfit.shapes.contributions import Section, Slot
from copyfit.shapes.stages import Admitted, PlacedSection


def placed(id: str, slot: Slot, content: str, order: int = 0, giver: str = "giver") -> PlacedSection:
    return PlacedSection(Section(id=id, slot=slot, content=content, order=order), giver)


def test_sections_are_joined_by_slot_with_single_newlines() -> None:
    """Case: REN-01."""
    sections = (
        placed("tools", Slot.CAPABILITIES, "capability"),
        placed("identity", Slot.IDENTITY, "identity"),
        placed("contract", Slot.RUN_CONTRACT, "contract"),
    )
    rendered = DeterministicSystemPromptRenderer().render(Admitted(sections=sections))
    assert rendered.text == "identity\ncontract\ncapability"
    assert rendered.section_ids == ("identity", "contract", "tools")


def test_the_order_of_arrival_does_not_matter() -> None:
    sections = (
        placed("b", Slot.FOOTER, "3", giver="x"),
        placed("a", Slot.FOOTER, "2", giver="x"),
        placed("c", Slot.FOOTER, "1", giver="w"),
        placed("d", Slot.FOOTER, "0", order=-1, giver="z"),
    )
    texts = {
        DeterministicSystemPromptRenderer().render(Admitted(sections=arrival)).text
        for arrival in permutations(sections)
    }
    assert texts == {"0\n1\n2\n3"}


def test_no_sections_give_an_empty_prompt() -> None:
    rendered = DeterministicSystemPromptRenderer().render(Admitted())
    assert (rendered.text, rendered.section_ids) == ("", ())
