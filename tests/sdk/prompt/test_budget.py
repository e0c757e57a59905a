import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ProtectedOverBudget
from copyfit.prompt.budget import TRUNCATION_MARKER, apply_context_budget, truncate
from copyfit.prompt.render import DeterministicSystemPromptRenderer
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Attachment, Diagnostic, Section, Slot, Trust
from copyfit.shapes.messages import ImagePart, TextPart, UserMessage
from copyfit.shapes.stages import Admitted, Collected, PlacedAttachment, PlacedMessage, PlacedSection


def section(
    id: str, content: str, *, protected: bool = False, slot: Slot = Slot.WORKING_CONTEXT, order: int = 0
) -> PlacedSection:
    placed = Section(id=id, slot=slot, content=content, protected=protected, order=order)
    return PlacedSection(placed, id)


def attachment(id: str, content: str) -> PlacedAttachment:
    return PlacedAttachment(Attachment(id=id, source="s", trust=Trust.UNTRUSTED, content=content), id)


def message(content: str) -> PlacedMessage:
    return PlacedMessage(UserMessage(content=content), "giver")


def codes(admitted: Admitted) -> list[str]:
    return [diagnostic.code for diagnostic in admitted.diagnostics]


def contents(admitted: Admitted) -> list[str]:
    return [placed.section.content for placed in admitted.sections]


def texts(admitted: Admitted) -> list[str]:
    return [placed.message.text for placed in admitted.messages]


def rendered(admitted: Admitted) -> str:
    return DeterministicSystemPromptRenderer().render(admitted).text


MIXED = Collected(
    sections=(section("authority", "authority", protected=True, slot=Slot.GOVERNANCE), section("extra", "x" * 20)),
    attachments=(attachment("data", "d" * 20),),
    messages=(message("old"), message("new")),
)
TIGHT = ContextBudgets(
    prompt_budget_chars=14,
    section_max_chars=10,
    data_budget_chars=8,
    attachment_max_chars=8,
    contributed_message_budget_chars=3,
    max_contributed_messages=1,
)


def test_a_protected_section_stays_and_an_optional_one_is_cut_to_what_remains() -> None:
    """Case: BUD-01."""
    admitted = apply_context_budget(MIXED, TIGHT)
    assert contents(admitted)[0] == "authority"
    assert len(contents(admitted)[1]) == 4
    assert len(rendered(admitted)) == 14
    assert "CONTEXT_SECTION_TRUNCATED" in codes(admitted)


def test_an_attachment_is_cut_to_its_budget() -> None:
    """Case: BUD-02."""
    admitted = apply_context_budget(MIXED, TIGHT)
    assert len(admitted.attachments[0].attachment.content) == 8
    assert "CONTEXT_ATTACHMENT_TRUNCATED" in codes(admitted)


def test_the_last_message_wins() -> None:
    """Case: BUD-03."""
    admitted = apply_context_budget(MIXED, TIGHT)
    assert texts(admitted) == ["new"]
    [dropped] = [each for each in admitted.diagnostics if each.code == "CONTEXT_MESSAGES_DROPPED"]
    assert dropped.details == {"kept": 1, "total": 2}
    assert dropped.contributor_id == "context.budget"


def test_protected_sections_over_the_budget_fail_the_turn() -> None:
    """Case: BUD-04."""
    with pytest.raises(ProtectedOverBudget, match=r"Protected context sections require 9 .*PROMPT_BUDGET_CHARS"):
        apply_context_budget(MIXED, ContextBudgets(prompt_budget_chars=3))


def test_the_separators_of_protected_sections_count() -> None:
    two = Collected(sections=(section("a", "aaaa", protected=True), section("b", "bbbb", protected=True)))
    assert rendered(apply_context_budget(two, ContextBudgets(prompt_budget_chars=9))) == "aaaa\nbbbb"
    with pytest.raises(ProtectedOverBudget) as caught:
        apply_context_budget(two, ContextBudgets(prompt_budget_chars=8))
    assert (caught.value.required, caught.value.budget) == (9, 8)


def test_a_cut_text_ends_with_the_marker() -> None:
    """Case: BUD-23."""
    assert len(TRUNCATION_MARKER) == 41
    assert truncate("y" * 200, 60) == "y" * 19 + TRUNCATION_MARKER


@pytest.mark.parametrize("limit", [1, 40, 41])
def test_where_only_the_marker_fits_its_beginning_remains(limit: int) -> None:
    """Case: BUD-24."""
    assert truncate("y" * 200, limit) == TRUNCATION_MARKER[:limit]


def test_a_message_that_does_not_fit_is_skipped_and_the_rest_keeps_its_order() -> None:
    """Case: BUD-25."""
    collected = Collected(messages=(message("a" * 10), message("b" * 90), message("c" * 10)))
    admitted = apply_context_budget(collected, ContextBudgets(contributed_message_budget_chars=30))
    assert texts(admitted) == ["a" * 10, "c" * 10]
    assert [diagnostic.details for diagnostic in admitted.diagnostics] == [{"kept": 2, "total": 3}]


def test_the_text_parts_of_a_message_count_and_its_images_do_not() -> None:
    parts = (TextPart(text="abc"), ImagePart(url="https://example.test/" + "x" * 100))
    collected = Collected(messages=(PlacedMessage(UserMessage(content=parts), "giver"),))
    assert len(apply_context_budget(collected, ContextBudgets(contributed_message_budget_chars=3)).messages) == 1
    assert apply_context_budget(collected, ContextBudgets(contributed_message_budget_chars=2)).messages == ()


def test_a_protected_section_may_exceed_the_cap_of_one_section() -> None:
    """Case: BUD-26."""
    collected = Collected(sections=(section("a", "a" * 50, protected=True),))
    assert apply_context_budget(collected, ContextBudgets(section_max_chars=10)).sections == collected.sections


def test_the_first_optional_section_pays_no_separator() -> None:
    """Case: BUD-27."""
    collected = Collected(sections=(section("a", "aaaaa"), section("b", "bbbbb")))
    admitted = apply_context_budget(collected, ContextBudgets(prompt_budget_chars=11))
    assert rendered(admitted) == "aaaaa\nbbbbb"
    assert codes(admitted) == []


def test_each_further_section_pays_its_separator() -> None:
    collected = Collected(sections=tuple(section(id, id * 5) for id in "abc"))
    whole = apply_context_budget(collected, ContextBudgets(prompt_budget_chars=17))
    assert rendered(whole) == "aaaaa\nbbbbb\nccccc"
    cut = apply_context_budget(collected, ContextBudgets(prompt_budget_chars=16))
    assert [len(content) for content in contents(cut)] == [5, 5, 4]


def test_an_optional_section_behind_a_spent_budget_is_dropped_by_name() -> None:
    """Case: BUD-28."""
    collected = Collected(sections=(section("a", "a" * 10), section("b", "b")))
    admitted = apply_context_budget(collected, ContextBudgets(prompt_budget_chars=10))
    [diagnostic] = admitted.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("CONTEXT_SECTION_DROPPED", "warning")
    assert "'b'" in diagnostic.message


def test_an_attachment_behind_a_spent_budget_is_dropped_by_name() -> None:
    """Case: BUD-29."""
    collected = Collected(attachments=(attachment("a", "a" * 10), attachment("b", "b")))
    admitted = apply_context_budget(collected, ContextBudgets(data_budget_chars=10))
    [diagnostic] = admitted.diagnostics
    assert diagnostic.code == "CONTEXT_ATTACHMENT_DROPPED"
    assert "'b'" in diagnostic.message


def test_an_optional_section_is_cut_to_what_the_protected_ones_leave() -> None:
    legacy = section("legacy.system-prompt", "legacy prompt", protected=True, slot=Slot.IDENTITY)
    collected = Collected(sections=(legacy, section("optional", "optional context " * 10)))
    admitted = apply_context_budget(collected, ContextBudgets(prompt_budget_chars=80))
    assert len(contents(admitted)[1]) == 66
    assert contents(admitted)[1].endswith(TRUNCATION_MARKER)
    assert "legacy prompt" in rendered(admitted)


def test_earlier_diagnostics_come_first() -> None:
    earlier = Diagnostic(code="CONTRIBUTOR_FAILED", message="m", contributor_id="memory")
    collected = Collected(messages=(message("ab"),), diagnostics=(earlier,))
    admitted = apply_context_budget(collected, ContextBudgets(contributed_message_budget_chars=1))
    assert admitted.diagnostics[0] == earlier
    assert codes(admitted) == ["CONTRIBUTOR_FAILED", "CONTEXT_MESSAGES_DROPPED"]


text = st.text(alphabet="ab\n😀", min_size=1, max_size=120)
collections = st.builds(
    lambda sections, attachments, messages: Collected(
        sections=tuple(
            section(f"s{number}", content, protected=protected)
            for number, (content, protected) in enumerate(sections)
        ),
        attachments=tuple(attachment(f"a{number}", content) for number, content in enumerate(attachments)),
        messages=tuple(message(content) for content in messages),
    ),
    st.lists(st.tuples(text, st.booleans()), max_size=6),
    st.lists(text, max_size=5),
    st.lists(text, max_size=5),
)
amounts = st.integers(min_value=1, max_value=300)
tight_budgets = st.builds(
    ContextBudgets,
    prompt_budget_chars=amounts,
    section_max_chars=amounts,
    data_budget_chars=amounts,
    attachment_max_chars=amounts,
    contributed_message_budget_chars=amounts,
    max_contributed_messages=st.integers(min_value=1, max_value=4),
)


@given(collections, tight_budgets)
def test_no_budget_is_ever_exceeded_and_protected_sections_stay_verbatim(
    collected: Collected, budgets: ContextBudgets
) -> None:
    protected = [placed for placed in collected.sections if placed.section.protected]
    required = len("\n".join(placed.section.content for placed in protected))
    if required > budgets.prompt_budget_chars:
        with pytest.raises(ProtectedOverBudget) as caught:
            apply_context_budget(collected, budgets)
        assert caught.value.required == required
        return
    admitted = apply_context_budget(collected, budgets)
    assert [placed for placed in admitted.sections if placed.section.protected] == protected
    assert len("\n".join(contents(admitted))) <= budgets.prompt_budget_chars
    for placed in admitted.sections:
        assert placed.section.protected or len(placed.section.content) <= budgets.section_max_chars
    bodies = [placed.attachment.content for placed in admitted.attachments]
    assert sum(map(len, bodies)) <= budgets.data_budget_chars
    assert max(map(len, bodies), default=0) <= budgets.attachment_max_chars
    assert sum(map(len, texts(admitted))) <= budgets.contributed_message_budget_chars
    assert len(admitted.messages) <= budgets.max_contributed_messages


@given(collections, tight_budgets)
def test_every_loss_has_its_diagnostic_and_nothing_else_has(collected: Collected, budgets: ContextBudgets) -> None:
    try:
        admitted = apply_context_budget(collected, budgets)
    except ProtectedOverBudget:
        return
    before = {placed.section.id: placed.section.content for placed in collected.sections}
    before |= {placed.attachment.id: placed.attachment.content for placed in collected.attachments}
    after = {placed.section.id: placed.section.content for placed in admitted.sections}
    after |= {placed.attachment.id: placed.attachment.content for placed in admitted.attachments}
    told = {
        each.details["id"]: each.code for each in admitted.diagnostics if each.details and "id" in each.details
    }
    for id, content in before.items():
        kind = "SECTION" if id.startswith("s") else "ATTACHMENT"
        if id not in after:
            assert told.pop(id) == f"CONTEXT_{kind}_DROPPED"
        elif after[id] != content:
            assert told.pop(id) == f"CONTEXT_{kind}_TRUNCATED"
    assert told == {}
    assert (admitted.messages != collected.messages) == ("CONTEXT_MESSAGES_DROPPED" in codes(admitted))
    assert apply_context_budget(collected, budgets) == admitted
