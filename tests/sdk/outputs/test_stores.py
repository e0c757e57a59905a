import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ToolOutputError
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_request import LineRead
from copyfit.outputs.reading import LinePage, read_page
from copyfit.outputs.refs import check_ref, ref_for
from copyfit.outputs.sqlite import SqliteToolOutputStore

Store = MemoryToolOutputStore | SqliteToolOutputStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryToolOutputStore(session="s")
    return SqliteToolOutputStore(tmp_path / "outputs" / "outputs.sqlite", session="s")


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Store]:
    if request.param == "memory":
        return lambda name: MemoryToolOutputStore(session="s")
    return lambda name: SqliteToolOutputStore(tmp_path / name, session="s")


def test_an_output_comes_back_with_its_size_and_its_tool(store: Store) -> None:
    ref = store.put("one\n二\n", tool_name="read")
    assert store.get(ref.ref) == "one\n二\n"
    assert store.describe(ref.ref) == ref
    assert (ref.bytes, ref.lines, ref.tool_name) == (8, 2, "read")
    check_ref(ref.ref)
    assert len(ref.ref) == len("tool-output-") + 16


@given(text=st.text(alphabet=st.characters(), max_size=50))
def test_any_text_comes_back_to_the_character(text: str) -> None:
    kept = MemoryToolOutputStore()
    assert kept.get(kept.put(text, tool_name="read").ref) == text


@pytest.mark.parametrize("text", ["", "\ud800 lone", "nul \x00 byte", "中" * 10])
def test_odd_texts_survive_the_file(text: str, tmp_path: Path) -> None:
    kept = SqliteToolOutputStore(tmp_path / "o.sqlite", session="s")
    assert kept.get(kept.put(text, tool_name="read").ref) == text


def test_a_replayed_run_gets_the_refs_of_the_first(make: Callable[[str], Store]) -> None:
    outputs = [("a", "read"), ("b", "read"), ("a", "grep"), ("a", "read")]
    first, second = make("first"), make("second")
    refs = [first.put(text, tool_name=tool).ref for text, tool in outputs]
    assert [second.put(text, tool_name=tool).ref for text, tool in outputs] == refs
    assert len(set(refs)) == 3
    assert refs[0] == refs[3]


def test_two_outputs_that_share_a_digest_get_two_refs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def collide(text: str, *, session: str, tool_name: str, salt: int = 0) -> str:
        return f"tool-output-{salt:016x}"

    monkeypatch.setattr("copyfit.outputs.memory.ref_for", collide)
    monkeypatch.setattr("copyfit.outputs.sqlite.ref_for", collide)
    first, second = store.put("first", tool_name="read"), store.put("second", tool_name="read")
    assert (store.get(first.ref), store.get(second.ref)) == ("first", "second")
    assert store.put("second", tool_name="read") == second


def test_refs_differ_by_session() -> None:
    assert ref_for("text", session="one", tool_name="read") != ref_for("text", session="two", tool_name="read")
    assert ref_for("b", session="a", tool_name="read") != ref_for("", session="a", tool_name="readb")


@pytest.mark.parametrize("ref", ["../../etc/passwd", "tool-output-", "tool-output-XYZ", "tool-output-ab\n", ""])
def test_a_malformed_ref_is_unknown(store: Store, ref: str) -> None:
    """Case: TOS-05."""
    with pytest.raises(ToolOutputError, match="Unknown tool output ref"):
        store.get(ref)


def test_a_well_formed_ref_that_leads_nowhere_is_no_longer_available(store: Store) -> None:
    """Case: TOS-05."""
    for _ in range(2):
        with pytest.raises(ToolOutputError, match="no longer available") as caught:
            store.get("tool-output-0123456789abcdef")
        assert caught.value.ref == "tool-output-0123456789abcdef"
        store.put("something else", tool_name="read")


def test_an_old_output_stays_until_its_session_is_forgotten(store: Store) -> None:
    """Case: TOS-06."""
    old = store.put("old", tool_name="read")
    for number in range(50):
        store.put(f"later {number}", tool_name="read")
    assert store.get(old.ref) == "old"
    store.forget_session()
    with pytest.raises(ToolOutputError, match="no longer available"):
        store.get(old.ref)


def test_sessions_in_one_file_do_not_see_each_other(tmp_path: Path) -> None:
    one = SqliteToolOutputStore(tmp_path / "o.sqlite", session="weird/../id with spaces")
    two = SqliteToolOutputStore(tmp_path / "o.sqlite", session="")
    ref = one.put("mine", tool_name="read")
    with pytest.raises(ToolOutputError, match="no longer available"):
        two.get(ref.ref)
    two.forget_session()
    assert one.get(ref.ref) == "mine"


def test_every_byte_of_a_long_output_is_kept(tmp_path: Path) -> None:
    """Case: TOS-08."""
    text = "".join(f"{number:05d}{'x' * 1_020}\n" for number in range(12_000))
    kept = SqliteToolOutputStore(tmp_path / "o.sqlite", session="s")
    ref = kept.put(text, tool_name="read")
    assert (ref.bytes, ref.lines) == (len(text), 12_000)
    again = kept.get(ref.ref)
    assert again == text
    page = read_page(again, LineRead(offset=12_000))
    assert isinstance(page, LinePage)
    assert page.text.startswith("11999")


def test_the_file_is_its_owners_alone_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "private" / "o.sqlite"
    SqliteToolOutputStore(path, session="s").put("secret", tool_name="read")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


WRITER = """
import sys
from copyfit.outputs.sqlite import SqliteToolOutputStore
kept = SqliteToolOutputStore(sys.argv[1], session="shared")
for number in range(30):
    kept.put(f"{sys.argv[2]} {number} ", tool_name=sys.argv[2])
"""


def test_several_processes_write_one_file_and_read_each_others_outputs(tmp_path: Path) -> None:
    """Case: TOS-04."""
    path = tmp_path / "o.sqlite"
    tools = ("tool_a", "tool_b", "tool_c")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), tool]) for tool in tools]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    kept = SqliteToolOutputStore(path, session="shared")
    for tool in tools:
        for number in range(30):
            text = f"{tool} {number} "
            ref = ref_for(text, session="shared", tool_name=tool)
            assert kept.get(ref) == text
            assert kept.describe(ref).tool_name == tool


def test_a_writer_waits_for_another_that_is_about_to_commit(tmp_path: Path) -> None:
    kept = SqliteToolOutputStore(tmp_path / "o.sqlite", session="s")
    kept.put("first", tool_name="read")
    with closing(sqlite3.connect(tmp_path / "o.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE outputs SET tool_name = 'grep'")
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(kept.put, "second", tool_name="read")
            time.sleep(0.2)
            assert not waiting.done()
            other.execute("COMMIT")
            ref = waiting.result(timeout=20)
    assert kept.get(ref.ref) == "second"


def test_a_write_that_dies_half_way_leaves_no_half_output(tmp_path: Path) -> None:
    path = tmp_path / "o.sqlite"
    kept = SqliteToolOutputStore(path, session="s")
    whole = kept.put("whole", tool_name="read")
    with closing(sqlite3.connect(path)) as torn:
        torn.execute(
            "INSERT INTO outputs (session, ref, tool_name, lines, body) VALUES ('s', 'tool-output-a', 'r', 1, 'x')"
        )
    assert kept.get(whole.ref) == "whole"
    with pytest.raises(ToolOutputError, match="no longer available"):
        kept.get("tool-output-a")


def test_a_file_that_is_no_database_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "o.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    kept = SqliteToolOutputStore(path, session="s")
    with pytest.raises(ToolOutputError, match="cannot be used") as caught:
        kept.put("text", tool_name="read")
    assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
