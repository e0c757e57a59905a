"""Write one private file per assembly; a disk that fails is logged and never fails a turn.

<root>/<safe context id>/turn-0001.json
<root>/<safe context id>/turn-0001-recovery-1.json
"""

import json
import logging
import os
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from copyfit.settings import Settings
from copyfit.shapes.stages import TurnRecord
from copyfit.trace.schema import trace_document

ID_CAP_CHARS: Final = 180
"""Code points of a context id that name its folder (behaviour.md section 1.3)."""
_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9._-]+")

_log = logging.getLogger(__name__)


class TraceWriter:
    """Writes trace documents below `root`: files for their owner alone, in folders for their owner alone."""

    def __init__(self, root: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._root = root
        self._now = now

    @classmethod
    def from_settings(cls, settings: Settings) -> "TraceWriter | None":
        """Return the writer that `settings` ask for, or None when traces are off."""
        return cls(settings.trace.directory) if settings.trace.enabled else None

    def path_of(self, record: TurnRecord) -> Path:
        """Return the file of `record`; a recovery has one of its own beside that of the first attempt."""
        request = record.request
        attempt = "" if request.recovery is None else f"-recovery-{request.recovery.attempt}"
        return self._root / safe_id(request.context_id) / f"turn-{request.turn:04d}{attempt}.json"

    def write(self, record: TurnRecord) -> None:
        """Write `record` whole or not at all, over an older file of the same attempt.

        A failure is logged as ``context.trace_write_failed``, without anything out of the record.
        """
        path = self.path_of(record)
        try:
            data = _encoded(trace_document(record, exported_at=self._now()))
            _make_private(self._root)
            _make_private(path.parent)
            _replace(path, data)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            _log.warning(
                "context.trace_write_failed: %s (%s), turn %d",
                path,
                reason or type(error).__name__,
                record.request.turn,
            )


def safe_id(context_id: str) -> str:
    """Return the folder name of `context_id`: letters, digits, dots, underscores and hyphens, never a parent."""
    name = _UNSAFE.sub("_", context_id)[:ID_CAP_CHARS]
    if not name:
        return "context"
    return name if name.strip(".") else "_" * len(name)


def _encoded(document: dict[str, Any]) -> bytes:
    """Return `document` as readable JSON; only text that UTF-8 cannot carry is written with escapes."""
    try:
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(document, indent=2) + "\n").encode()


def _make_private(folder: Path) -> None:
    """Make `folder` for its owner alone; one that exists keeps the rights that its owner gave it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
