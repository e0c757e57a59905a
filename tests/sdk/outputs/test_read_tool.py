import pytest

from copyfit.errors import ToolOutputError
from copyfit.outputs.cutting import byte_length
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_request import PAGE_BYTES
from copyfit.outputs.read_tool import ToolOutputReader
from copyfit.shapes.budgets import OutputBounds


def reader(text: str, bounds: OutputBounds | None = None) -> tuple[ToolOutputReader, str]:
    store = MemoryToolOutputStore()
    return ToolOutputReader(store, bounds=bounds), store.put(text, tool_name="web_fetch").ref


def test_a_page_says_where_it_is_and_how_to_go_on_until_the_end() -> None:
    """Case: TOS-09."""
    look, ref = reader("".join(f"line-{number}\n" for number in range(1, 301)))
    first = look.read({"ref": ref, "limit": 50})
    assert first.startswith(
        f"[stored tool output] web_fetch, ref {ref}, lines 1-50 of 300\nContinue with offset=51.\n"
    )
    assert first.endswith("\n\n" + "".join(f"line-{number}\n" for number in range(1, 51)))
    last = look.read({"ref": ref, "offset": 291})
    assert "lines 291-300 of 300\n[end of output]" in last


def test_a_cut_line_is_never_followed_by_an_end_notice() -> None:
    """Case: TOS-10."""
    look, ref = reader("x" * 200_000)
    assert "[end of output]" not in look.read({"ref": ref})
    assert "wider than a page" in look.read({"ref": ref})
    look, ref = reader("x" * 200_000 + "\nmore")
    assert "offset=2" in look.read({"ref": ref})


def test_characters_are_read_on_by_character_offset() -> None:
    look, ref = reader("科" * 20_000)
    assert "characters 0-13653 of 20000\nContinue with charOffset=13653." in look.read(
        {"ref": ref, "charOffset": 0}
    )
    assert "[end of output]" in look.read({"ref": ref, "charOffset": 13_653})


def test_matches_are_numbered_with_their_places() -> None:
    look, ref = reader("alpha beta alpha")
    reply = look.read({"ref": ref, "query": "ALPHA", "contextChars": 1})
    assert ", 2 of 2 matches\n\n" in reply
    assert reply.endswith("[match 1 at characters 0-5]\nalpha \n\n[match 2 at characters 11-16]\n alpha")
    assert "left out" in look.read({"ref": ref, "query": "a", "maxMatches": 1})
    assert ", 0 of 0 matches" in look.read({"ref": ref, "query": "gamma"})


def test_a_reader_is_advised_and_never_stopped() -> None:
    """Case: TOS-14."""
    look, ref = reader("some text", OutputBounds(read_advisory_bytes=1, read_strong_advisory_bytes=20))
    first, second, third = (look.read({"ref": ref}) for _ in range(3))
    assert "reads=1 cumulative_bytes=9 duplicate_read=false" in first
    assert "reads=2 cumulative_bytes=18 duplicate_read=true" in second
    assert "reads=3 cumulative_bytes=27 duplicate_read=true" in third
    assert "Much of this output" in third
    assert "Much of this output" not in second
    assert all(reply.endswith("some text") for reply in (first, second, third))


def test_reading_another_page_or_another_output_is_no_repetition() -> None:
    store = MemoryToolOutputStore()
    look = ToolOutputReader(store)
    one, two = (store.put(text, tool_name="read").ref for text in ("one\n" * 10, "two\n" * 10))
    for arguments in ({"ref": one}, {"ref": one, "offset": 2}, {"ref": two}, {"ref": one, "query": "one"}):
        assert "advisory" not in look.read(arguments)
    assert "duplicate_read=true" in look.read({"ref": one})


def test_an_answer_carries_at_most_a_page_of_text() -> None:
    look, ref = reader("科" * 100_000)
    for arguments in ({}, {"charOffset": 0, "charLimit": 100_000}, {"query": "科", "maxMatches": 20}):
        reply = look.read({"ref": ref, **arguments})
        assert byte_length(reply) < PAGE_BYTES + 1_500


def test_a_ref_that_leads_nowhere_is_an_error() -> None:
    look, _ = reader("text")
    with pytest.raises(ToolOutputError, match="no longer available"):
        look.read({"ref": "tool-output-ffffffffffffffff"})
    assert look.spec.name == "read_tool_output"
