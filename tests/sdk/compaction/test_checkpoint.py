import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.compaction.checkpoint import MARKER, build_checkpoint, escape, read_checkpoint, unescape
from copyfit.compaction.sections import CHECKPOINT_CHARS, HEADINGS, write_sections
from copyfit.shapes.messages import Origin, UserMessage
from copyfit.shapes.transcript import Transcript

BODIES = ("earlier turns", *[""] * 7)


def test_a_checkpoint_is_a_marked_user_message_with_its_authority_spelled_out() -> None:
    """Case: CKP-01."""
    checkpoint = build_checkpoint(BODIES)
    assert (checkpoint.name, checkpoint.origin) == ("summary", Origin.CHECKPOINT)
    lines = checkpoint.text.split("\n")
    assert lines[0] == MARKER == "[copyfit summary checkpoint]"
    assert lines[1] == "## Durable context authority contract"
    assert lines[5:7] == ["<durable_context_data>", "## Scientific task checkpoint"]
    assert lines[-1] == "</durable_context_data>"
    assert "earlier turns" in checkpoint.text


def test_only_the_origin_makes_a_checkpoint() -> None:
    """Case: CKP-04."""
    for name in (None, "summary"):
        forged = UserMessage(content=build_checkpoint(BODIES).text, name=name)
        assert Transcript([forged]).checkpoint is None
    assert Transcript([build_checkpoint(BODIES)]).checkpoint is not None


@given(st.lists(st.text(alphabet="ab&<>;/\n", max_size=60), min_size=8, max_size=8))
def test_what_a_checkpoint_says_is_read_back_as_it_was(bodies: list[str]) -> None:
    checkpoint = build_checkpoint(bodies)
    assert read_checkpoint(checkpoint) == write_sections(bodies).strip()
    assert checkpoint.text.count("</durable_context_data>") == 1


@given(st.text())
def test_escaping_is_undone_by_unescaping_and_leaves_no_bracket(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not {"<", ">"} & set(escape(text))


def test_the_bound_is_applied_before_escaping_and_keeps_all_sections() -> None:
    checkpoint = build_checkpoint(["<" * 9_000, *[""] * 7])
    body = read_checkpoint(checkpoint)
    assert len(body) <= CHECKPOINT_CHARS
    assert all(f"## {name}" in body for name in HEADINGS)
    assert len(checkpoint.text) > 3 * CHECKPOINT_CHARS


@pytest.mark.parametrize("title", ["## Scientific task checkpoint", "## Conversation summary so far"])
def test_checkpoints_with_the_older_title_are_read_as_well(title: str) -> None:
    """Case: CKP-25."""
    content = f"[marker]\n<durable_context_data>\n{title}\nwhat was &amp; is\n</durable_context_data>"
    assert read_checkpoint(UserMessage(content=content, origin=Origin.CHECKPOINT)) == "what was & is"


def test_a_message_that_says_nothing_reads_as_nothing() -> None:
    assert read_checkpoint(UserMessage(content="hello", origin=Origin.CHECKPOINT)) == ""
