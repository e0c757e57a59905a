import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import HistoryUnreadable
from copyfit.history.canonical import append_history, load_history, save_history
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    Origin,
    OutputRef,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.transcript import Transcript

REF = OutputRef(ref="tool-output-abcdef12", bytes=10_000, lines=3, tool_name="read")
EVERY_KIND: tuple[Message, ...] = (
    UserMessage(content="task 任务", name="user"),
    UserMessage(content=(TextPart(text="look"), ImagePart(data="QUJD", media_type="image/png"))),
    AssistantMessage(
        content=(
            ThinkingPart(provider="anthropic-messages", text="hm", signature="s", opaque={"data": [1, 1.0, None]}),
            TextPart(text="I read it."),
            ToolCall(id="c1", name="read", arguments='{"n":1.0,"big":123456789012345678901234567890}'),
        ),
        extra={"openai-chat": {"refusal": None, "count": 10**30}},
    ),
    ToolMessage(call_id="c1", name="read", content="cut", output_ref=REF, projected=True),
    UserMessage(content="done so far", name="summary", origin=Origin.CHECKPOINT),
)
texts = st.text(alphabet=st.characters(), max_size=60)
messages = st.one_of(
    st.builds(UserMessage, content=texts),
    st.builds(AssistantMessage, content=texts),
    st.builds(ToolMessage, call_id=texts, content=texts),
)


def test_every_kind_of_message_comes_back_as_it_went(tmp_path: Path) -> None:
    save_history(tmp_path / "history.jsonl", Transcript(EVERY_KIND))
    assert load_history(tmp_path / "history.jsonl") == Transcript(EVERY_KIND)


@given(first=st.lists(messages, max_size=5), then=st.lists(messages, max_size=5))
def test_saving_and_appending_comes_to_the_same_as_saving_all(
    tmp_path_factory: pytest.TempPathFactory, first: list[Message], then: list[Message]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    save_history(folder / "grown", Transcript(first))
    append_history(folder / "grown", then)
    save_history(folder / "whole", Transcript([*first, *then]))
    assert (folder / "grown").read_bytes() == (folder / "whole").read_bytes()
    assert load_history(folder / "grown") == Transcript([*first, *then])


def test_a_history_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert load_history(tmp_path / "nothing") == Transcript()


def test_a_message_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, [UserMessage(content="one\ntwo\r\n\u2028three"), UserMessage(content="four")])
    assert path.read_bytes().count(b"\n") == 2


def test_only_the_owner_may_read_the_file_and_its_folder(tmp_path: Path) -> None:
    saved, grown = tmp_path / "saved" / "history.jsonl", tmp_path / "grown" / "history.jsonl"
    save_history(saved, Transcript(EVERY_KIND))
    append_history(grown, EVERY_KIND)
    for path in (saved, grown):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_appending_takes_the_file_back_from_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("")
    path.chmod(0o644)
    append_history(path, EVERY_KIND)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"role":"user"}', "content"),
        (b'{"role":"wizard","content":"x"}', "role"),
        (b"{not json", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"", "not JSON"),
        (b"[1]", "message"),
    ],
)
def test_an_unreadable_line_is_an_error_that_names_it(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, EVERY_KIND[:2])
    with path.open("ab") as file:
        file.write(line + b"\n")
    append_history(path, EVERY_KIND[2:])
    with pytest.raises(HistoryUnreadable, match="Line 3") as caught:
        load_history(path)
    assert (caught.value.path, caught.value.line) == (path, 3)
    assert reason in caught.value.reason


def test_what_an_interrupted_append_left_is_passed_over_and_then_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, EVERY_KIND[:2])
    with path.open("ab") as file:
        file.write(b'{"role":"user","content":"' + b"x" * 200_000)
    assert load_history(path) == Transcript(EVERY_KIND[:2])
    append_history(path, EVERY_KIND[2:])
    assert load_history(path) == Transcript(EVERY_KIND)


def test_an_append_that_fails_leaves_the_history_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.jsonl"
    append_history(path, EVERY_KIND[:2])
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:10]) and _full_disk())
    with pytest.raises(OSError, match="No space left"):
        append_history(path, EVERY_KIND[2:])
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_save_that_fails_leaves_the_old_history_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.jsonl"
    save_history(path, Transcript(EVERY_KIND))
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: _full_disk())
    with pytest.raises(OSError, match="No space left"):
        save_history(path, Transcript())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def _full_disk() -> int:
    raise OSError(28, "No space left on device")


def test_a_line_that_is_nested_too_deeply_is_named_as_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_bytes(b"[" * 200_000 + b"]" * 200_000 + b"\n")
    with pytest.raises(HistoryUnreadable, match="Line 1"):
        load_history(file)
