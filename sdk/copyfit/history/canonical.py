"""Keep the canonical history of a session on disk: one message a line, in JSON.

A line counts once its newline is on disk. What an interrupted append left behind the last newline is no message:
it is passed over when the file is read and cut off by the next append. One process at a time may write a file.
"""

import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from copyfit.errors import HistoryUnreadable
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import Message, message_adapter
from copyfit.shapes.transcript import Transcript

_TAIL_BLOCK = 65_536
"""Bytes that are read at once from the end of a file in search of its last newline."""


def load_history(path: str | Path) -> Transcript:
    """Return the history kept at `path`; an empty one where there is no file yet.

    Raises:
        HistoryUnreadable: a whole line is not a message.
        OSError: the file cannot be read.

    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return Transcript()
    *lines, _torn = data.split(b"\n")
    return Transcript(_read(file, number, line) for number, line in enumerate(lines, start=1))


def save_history(path: str | Path, history: Transcript) -> None:
    """Put `history` in the place of whatever is at `path`, whole or not at all; only its owner can read the file.

    Raises:
        OSError: the file cannot be written; what was there before is still there.

    """
    file = Path(path)
    _make_folder(file.parent)
    handle, draft = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(_lines(history))
            out.flush()
            os.fsync(out.fileno())
        Path(draft).replace(file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)


def append_history(path: str | Path, messages: Iterable[Message]) -> None:
    """Add `messages` at the end of the history at `path`, which is made if it is not there.

    Raises:
        OSError: they cannot be written; the history is as before.

    """
    file = Path(path)
    _make_folder(file.parent)
    is_new = not file.exists()
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(handle, "r+b", buffering=0) as out:
        os.fchmod(out.fileno(), 0o600)
        end = _end_of_lines(out.fileno())
        try:
            out.truncate(end)
            out.seek(end)
            _write_all(out.fileno(), _lines(messages))
            os.fsync(out.fileno())
        except BaseException:
            out.truncate(end)
            raise
    if is_new:
        _sync_folder(file.parent)


def _read(path: Path, number: int, line: bytes) -> Message:
    try:
        return message_adapter().validate_python(json.loads(line))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise HistoryUnreadable(path, number, f"{first['msg']} ({where or 'message'})") from error
    except (ValueError, RecursionError) as error:
        raise HistoryUnreadable(path, number, f"it is not JSON ({error})") from error


def _lines(messages: Iterable[Message]) -> bytes:
    return b"".join(canonical_json(message.model_dump(mode="json")) + b"\n" for message in messages)


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _end_of_lines(handle: int) -> int:
    """Return the offset just behind the last newline of the file."""
    end = os.lseek(handle, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _TAIL_BLOCK)
        place = os.pread(handle, end - start, start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        end = start
    return 0


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
