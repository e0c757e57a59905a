import pytest

from copyfit.errors import SettingsError, ToolOutputError
from copyfit.outputs.cutting import byte_length
from copyfit.outputs.guard import OutputGuard
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.shapes.budgets import OutputBounds
from copyfit.shapes.messages import OutputRef


class FullStore:
    """A store whose disk is full."""

    def put(self, text: str, *, tool_name: str) -> OutputRef:
        raise ToolOutputError("", "The disk is full.")

    def get(self, ref: str) -> str:
        raise ToolOutputError(ref, "The disk is full.")


def guard(bounds: OutputBounds | None = None) -> tuple[OutputGuard, MemoryToolOutputStore]:
    store = MemoryToolOutputStore()
    return OutputGuard(bounds=bounds or OutputBounds(), store=store), store


def test_a_small_result_is_shown_whole_and_not_stored() -> None:
    """Case: BND-07."""
    shown = guard()[0].bound("fine", tool_name="read")
    assert (shown.text, shown.output_ref, shown.truncated) == ("fine", None, False)


def test_a_result_over_the_retention_bound_is_shown_whole_and_stored() -> None:
    """Case: BND-08."""
    watch, store = guard(OutputBounds(retention_bytes=8))
    shown = watch.bound("sixteen letters!", tool_name="read")
    assert shown.text == "sixteen letters!"
    assert shown.output_ref is not None
    assert shown.output_ref == OutputRef(ref=shown.output_ref.ref, bytes=16, lines=1, tool_name="read")
    assert store.get(shown.output_ref.ref) == "sixteen letters!"


def test_a_long_result_shows_its_size_its_ref_and_both_ends() -> None:
    """Case: BND-09."""
    watch, store = guard()
    text = "".join(f"{number:06d}{'x' * 193}\n" for number in range(60_000))
    shown = watch.bound(text, tool_name="read")
    assert shown.truncated
    assert shown.output_ref is not None
    assert shown.output_ref.lines == 60_000
    assert byte_length(shown.text) < 1.1 * 51_200
    header, where, blank, first, *_, last = shown.text.rstrip("\n").split("\n")
    assert header == "[bounded tool output] read produced 60000 lines (11.4 MB)."
    assert f'ref "{shown.output_ref.ref}"' in where
    assert "read_tool_output" in where
    assert blank == ""
    assert (first[:6], last[:6]) == ("000000", "059999")
    assert "omitted from the middle" in shown.text
    assert store.get(shown.output_ref.ref) == text


@pytest.mark.parametrize("tool_name", ["run_python", "run_shell", "run_r", "run_npu_job"])
def test_the_end_is_preferred_where_a_tool_tells_its_failure_last(tool_name: str) -> None:
    """Case: BND-10."""
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no\n'
    noise = "".join(f"noise {number}\n" for number in range(100_000))
    shown = guard()[0].bound(noise + traceback, tool_name=tool_name).text
    assert shown.endswith(traceback)
    head, tail = shown.split("omitted from the middle")
    assert byte_length(tail) > 1.5 * byte_length(head)


def test_the_two_ends_share_the_lines_in_the_proportion_of_the_preference() -> None:
    shown = guard(OutputBounds(max_lines=100))[0].bound("x\n" * 1_000, tool_name="read").text
    head, tail = shown.split("omitted from the middle")
    assert (head.count("x\n"), tail.count("x\n")) == (65, 35)
    assert "[... 900 lines (1.8 KB) " in head


def test_a_self_bounded_tool_may_show_four_times_as_much_and_is_cut_beyond() -> None:
    """Case: BND-11."""
    watch, store = guard()
    page = "x" * 101 * 1024
    assert watch.bound(page, tool_name="read_tool_output", self_bounded=True).text == page
    assert watch.bound(page, tool_name="read_tool_output", self_bounded=True).output_ref is None
    flood = watch.bound("x" * 10 * 1024 * 1024, tool_name="read_tool_output", self_bounded=True)
    assert flood.truncated
    assert byte_length(flood.text) < 1.1 * 51_200
    assert flood.output_ref is not None
    assert len(store.get(flood.output_ref.ref)) == 10 * 1024 * 1024


@pytest.mark.parametrize("store", [FullStore(), None])
def test_a_result_that_cannot_be_stored_is_bounded_and_says_so(store: FullStore | None) -> None:
    """Case: BND-12."""
    shown = OutputGuard(store=store).bound("line\n" * 10_000, tool_name="read")
    assert shown.output_ref is None
    assert "could not be stored" in shown.text
    assert byte_length(shown.text) < 1.1 * 51_200


def test_the_bounds_take_what_is_given_and_refuse_a_strong_advisory_before_the_ordinary_one() -> None:
    """Case: TOS-01."""
    bounds = OutputBounds(retention_bytes=4_096, read_advisory_bytes=100, read_strong_advisory_bytes=200)
    assert (bounds.retention_bytes, bounds.read_strong_advisory_bytes) == (4_096, 200)
    with pytest.raises(SettingsError, match=r"STRONG_ADVISORY_BYTES is 100; it must be at least"):
        OutputBounds(read_advisory_bytes=200, read_strong_advisory_bytes=100)
    with pytest.raises(SettingsError, match="SCIENCE_AGENT_TOOL_OUTPUT_MAX_LINES"):
        OutputBounds(max_lines=0)
