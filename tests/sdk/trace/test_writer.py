import json
import logging
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.settings import Settings
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.stages import Recovery, TurnRecord
from copyfit.trace.schema import sent_input
from copyfit.trace.writer import TraceWriter, safe_id


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_without_the_switch_there_is_no_writer(tmp_path: Path) -> None:
    """Case: TRC-01."""
    assert TraceWriter.from_settings(Settings.from_environment({}, data_dir=tmp_path)) is None


def test_a_turn_is_one_private_file(tmp_path: Path, shadow: TurnRecord) -> None:
    """Case: TRC-02."""
    settings = Settings.from_environment({"SCIENCE_AGENT_CONTEXT_TRACE": "1"}, data_dir=tmp_path)
    writer = TraceWriter.from_settings(settings)
    assert writer is not None
    writer.write(shadow)
    path = tmp_path / "context-traces" / "session_run" / "turn-0002.json"
    document = json.loads(path.read_text("utf-8"))
    assert (document["schemaVersion"], document["selectedPath"]) == (5, "legacy")
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["turn-0002.json"]


def test_a_recovery_stands_beside_the_original_in_every_mode(tmp_path: Path, any_record: TurnRecord) -> None:
    """Case: TRC-03."""
    writer = TraceWriter(tmp_path)
    first = replace(any_record, request=replace(any_record.request, recovery=None))
    second = replace(any_record, request=replace(any_record.request, recovery=Recovery()))
    writer.write(first)
    original = (tmp_path / "session_run" / "turn-0002.json").read_bytes()
    writer.write(second)
    assert (tmp_path / "session_run" / "turn-0002.json").read_bytes() == original
    beside = json.loads((tmp_path / "session_run" / "turn-0002-recovery-1.json").read_text("utf-8"))
    assert beside["recovery"] == {"attempt": 1, "reason": "model-input-overflow"}


def test_a_file_is_readable_and_ends_with_a_newline(tmp_path: Path, dynamic: TurnRecord) -> None:
    writer = TraceWriter(tmp_path)
    writer.write(dynamic)
    text = writer.path_of(dynamic).read_text("utf-8")
    assert text.startswith('{\n  "schemaVersion": 5,\n')
    assert text.endswith("}\n")
    assert "新しい" in text


def test_text_that_utf8_cannot_carry_is_escaped(tmp_path: Path, dynamic: TurnRecord) -> None:
    assert dynamic.sent is not None
    sent = replace(dynamic.sent, messages=(UserMessage(content="half \ud83d"),))
    writer = TraceWriter(tmp_path)
    record = replace(dynamic, sent=sent)
    writer.write(record)
    assert sent_input(json.loads(writer.path_of(record).read_text("utf-8"))) == sent


@pytest.mark.parametrize(
    ("context_id", "folder"),
    [
        ("a::b//c", "a_b_c"),
        ("文脈", "_"),
        ("", "context"),
        ("session:run", "session_run"),
        ("..", "__"),
        (".", "_"),
        ("../../etc", ".._.._etc"),
        ("x" * 200, "x" * 180),
    ],
)
def test_a_context_id_becomes_a_safe_folder_name(context_id: str, folder: str) -> None:
    """Case: TRC-21."""
    assert safe_id(context_id) == folder


@given(st.text())
def test_no_context_id_leaves_the_root(context_id: str) -> None:
    root = Path("/root-of-traces")
    assert (root / safe_id(context_id)).resolve().parent == root


def test_a_failing_disk_is_logged_and_nothing_else(
    tmp_path: Path, dynamic: TurnRecord, caplog: pytest.LogCaptureFixture
) -> None:
    """Case: TRC-23."""
    (tmp_path / "root").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        TraceWriter(tmp_path / "root").write(dynamic)
    [logged] = caplog.records
    assert logged.getMessage().startswith("context.trace_write_failed: ")
    assert "frage" not in logged.getMessage()


def test_a_failed_replacement_leaves_the_old_file_and_no_other(
    tmp_path: Path, dynamic: TurnRecord, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = TraceWriter(tmp_path)
    writer.write(dynamic)
    before = writer.path_of(dynamic).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    writer.write(replace(dynamic, error="changed"))
    assert writer.path_of(dynamic).read_bytes() == before
    assert [each.name for each in writer.path_of(dynamic).parent.iterdir()] == ["turn-0002.json"]
    assert "No space left on device" in caplog.text
