"""Let one recorder at a time write a cassette, across threads and processes."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from copyfit_harness.errors import CassetteBusy, CassetteUnwritable


class WriterLock:
    """The right to write one cassette, held from construction until `release`.

    The lock is on a hidden file beside the cassette and belongs to the open file, so that the system gives it up
    when a worker dies, and two recorders in one process exclude each other too.

    Raises:
        CassetteBusy: another recorder holds it.
        CassetteUnwritable: the lock file cannot be made.

    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(f".{path.name}.lock")
        try:
            make_private_folder(path.parent)
            self._held = self._locked(path)
        except OSError as error:
            raise CassetteUnwritable(path, error.strerror or str(error)) from error

    def release(self) -> None:
        """Give the lock up and remove its file."""
        if sys.platform == "win32":
            # Windows removes no open file, so another recorder may already hold the name again.
            self._held.close()
            with suppress(OSError):
                self._file.unlink()
            return
        self._file.unlink(missing_ok=True)
        self._held.close()

    def _locked(self, path: Path) -> IO[bytes]:
        while True:
            held = os.fdopen(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600), "wb")
            if not _try_to_lock(held.fileno()):
                held.close()
                raise CassetteBusy(path)
            # Between opening and locking, the holder before us may have removed the file: then we hold a lock on
            # nothing, and the next recorder would make a new file.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(held.fileno()), self._file.stat()):
                    return held
            held.close()


def make_private_folder(folder: Path) -> None:
    """Create `folder` and what is missing above it, open to their owner only.

    Raises:
        OSError: the system refuses.

    """
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _try_to_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
