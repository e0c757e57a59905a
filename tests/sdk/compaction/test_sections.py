import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.sections import (
    CHECKPOINT_CHARS,
    HEADINGS,
    bound_sections,
    read_sections,
    refs_in,
    write_sections,
)

NO_REFS: frozenset[str] = frozenset()


def body(answer: str, name: str, *, known_refs: frozenset[str] = NO_REFS) -> str:
    return read_sections(answer, known_refs=known_refs).bodies[HEADINGS.index(name)]


def full(**changed: str) -> str:
    return write_sections([changed.get(name.split()[0].lower(), f"about {name}") for name in HEADINGS])


def test_a_complete_checkpoint_is_normal_as_it_is() -> None:
    answer = full()
    sections = read_sections(answer, known_refs=NO_REFS)
    assert (sections.text, sections.warnings, sections.shaped) == (answer, (), True)


def test_missing_sections_are_written_as_none_and_reported() -> None:
    """Case: CKP-06."""
    answer = (
        "## Primary request and intent\nFind it.\n## Evidence, artifacts, and references\n"
        "tool-output-abcdef12\n## Next step\n- read on"
    )
    sections = read_sections(answer, known_refs=frozenset({"tool-output-abcdef12"}))
    assert "## Failed or abandoned leads\n(none)" in sections.text
    assert "## Optional leads\n(none)" in sections.text
    assert sum("is missing" in warning for warning in sections.warnings) == 5
    assert not any("Unverified" in warning for warning in sections.warnings)


def test_two_next_steps_and_an_unknown_ref_are_reported() -> None:
    """Case: CKP-07."""
    answer = "## Pending requirements\n- see tool-output-deadbeef\n## Next step\n1. one\n2) two"
    warnings = read_sections(answer, known_refs=NO_REFS).warnings
    assert "The next step has more than one list item." in warnings
    assert "Unverified stored-output ref tool-output-deadbeef." in warnings


def test_unknown_headings_go_and_their_text_stays() -> None:
    """Case: CKP-20."""
    answer = "## Summary\nalpha\n\n## Next step\n- one\n- two\n## Next step\n- three"
    sections = read_sections(answer, known_refs=NO_REFS)
    assert sections.bodies[HEADINGS.index("Completed work and verified findings")] == "alpha"
    assert sections.bodies[HEADINGS.index("Next step")] == "- one\n- two\n- three"
    assert "Summary" not in sections.text
    missing = [warning for warning in sections.warnings if "is missing" in warning]
    assert len(missing) == 7
    assert sections.warnings == (
        "Unknown headings: Summary.",
        "Text under no heading was moved to 'Completed work and verified findings'.",
        *missing,
        "The section 'Next step' came 2 times and was merged.",
        "The next step has more than one list item.",
    )


def test_a_heading_must_be_spelled_as_it_is() -> None:
    """Case: CKP-21."""
    sections = read_sections("## next step\ngo on", known_refs=NO_REFS)
    assert not sections.shaped
    assert "Unknown headings: next step." in sections.warnings
    assert "None of the headings was recognised." in sections.warnings


def test_deeper_and_indented_headings_are_text() -> None:
    """Case: CKP-22."""
    answer = "## Decisions and constraints\n### detail\n ## Next step\n##Next step"
    assert body(answer, "Decisions and constraints") == "### detail\n ## Next step\n##Next step"
    assert body(answer, "Next step") == ""


def test_blanks_around_a_heading_are_ignored() -> None:
    assert body("##   Next step  \r\ngo on", "Next step") == "go on"


@pytest.mark.parametrize(
    "answer",
    ["", "  \n ", "no headings at all, only prose", write_sections([""] * 8), "## Next step\n-\n## Other\ntext"],
)
def test_an_answer_without_a_section_that_says_something_has_no_shape(answer: str) -> None:
    assert not read_sections(answer, known_refs=NO_REFS).shaped


def test_a_placeholder_beside_text_is_dropped() -> None:
    assert body("## Optional leads\n(none)\n## Optional leads\nmaybe", "Optional leads") == "maybe"
    assert body("loose\n## Completed work and verified findings\n(none)", HEADINGS[1]) == "loose"


def test_a_long_checkpoint_is_reported() -> None:
    assert any(
        "over 6000" in warning for warning in read_sections(full(next="x" * 7_000), known_refs=NO_REFS).warnings
    )


def test_refs_are_found_in_any_text() -> None:
    assert refs_in(['{"ref":"tool-output-ab12"}', "none", "tool-output-ab12 tool-output-cd"]) == {
        "tool-output-ab12",
        "tool-output-cd",
    }


BODIES = st.lists(st.text(alphabet="ab \n", max_size=40).map(lambda text: text * 60), min_size=8, max_size=8)


@given(BODIES)
def test_bounding_keeps_every_section_and_cuts_only_the_long_ones(bodies: list[str]) -> None:
    bounded = bound_sections(bodies)
    text = write_sections(bounded)
    assert len(text) <= CHECKPOINT_CHARS or bounded == tuple(bodies)
    assert all(f"## {name}\n" in text for name in HEADINGS)
    cut = [length for length, kept in zip(map(len, bodies), bounded, strict=True) if length > len(kept)]
    kept_whole = [len(kept) for length, kept in zip(map(len, bodies), bounded, strict=True) if length == len(kept)]
    assert not cut or not kept_whole or min(cut) >= max(kept_whole)


def test_a_cut_section_keeps_its_beginning_and_its_end() -> None:
    bounded = bound_sections(["start" + "x" * 9_000 + "end", "short", "", "", "", "", "", ""])
    assert len(write_sections(bounded)) <= CHECKPOINT_CHARS
    assert len(write_sections(bounded)) == CHECKPOINT_CHARS
    assert bounded[0].startswith("start")
    assert bounded[0].endswith("end")
    assert "\n...\n" in bounded[0]
    assert bounded[1] == "short"


@given(st.text(max_size=300))
def test_normalising_twice_changes_nothing(answer: str) -> None:
    once = read_sections(answer, known_refs=NO_REFS)
    assert read_sections(once.text, known_refs=NO_REFS).bodies == once.bodies
