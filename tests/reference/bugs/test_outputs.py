"""Every part of a stored output can be reached, also where it is one long line."""

from copyfit.outputs.cutting import byte_length
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_tool import ToolOutputReader


def reader(body: str) -> tuple[ToolOutputReader, str]:
    store = MemoryToolOutputStore()
    return ToolOutputReader(store), store.put(body, tool_name="get").ref


def test_one_wide_line_is_read_in_bounded_pieces_by_character() -> None:
    """Case: deepagents-553."""
    body = '{"k":[' + '{"id":1,"v":"é漢"},' * 7_000 + "{}]}"
    look, ref = reader(body)
    wide = look.read({"ref": ref, "offset": 1, "limit": 1})
    assert byte_length(wide) < 50_000
    assert "charOffset" in wide
    piece = look.read({"ref": ref, "charOffset": 100_000, "charLimit": 3_000})
    assert piece.endswith("\n\n" + body[100_000:103_000])
    found = look.read({"ref": ref, "query": '"id":1'})
    assert byte_length(found) < 50_000
    assert "7000" in found


def test_the_end_of_one_wide_line_can_be_reached() -> None:
    """Case: llxprt-3599."""
    body = '{"summary":"' + "x" * 90_000 + 'TAIL"}'
    look, ref = reader(body)
    assert "charOffset" in look.read({"ref": ref, "offset": 1, "limit": 1})
    assert "TAIL" in look.read({"ref": ref, "charOffset": 90_000, "charLimit": 120})
