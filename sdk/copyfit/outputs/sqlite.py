"""Keep tool outputs in a private SQLite file, which several processes may share and a crash does not harm."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from copyfit.errors import ToolOutputError
from copyfit.outputs.cutting import byte_length, count_lines
from copyfit.outputs.refs import check_ref, no_longer_available, ref_for
from copyfit.shapes.messages import OutputRef

_BUSY_SECONDS = 30.0
"""How long a writer waits for another process's write; one write takes milliseconds."""

_TABLE = """
CREATE TABLE IF NOT EXISTS outputs (
    session TEXT NOT NULL,
    ref TEXT NOT NULL,
    tool_name TEXT NOT NULL,
    lines INTEGER NOT NULL,
    body BLOB NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (session, ref)
)
"""


class SqliteToolOutputStore:
    """Keeps the whole tool outputs of one session in the file at `path`; satisfies `ToolOutputStore`.

    The file is made with mode 0600, its folder, if it is missing, with 0700. Each call opens a connection of its
    own, so the store may be used from any thread and in a forked process. The rollback journal is used, not a
    write-ahead log: outputs are written rarely, one at a time, and this way nothing is left beside the file and it
    may lie on a network disk.
    """

    def __init__(self, path: str | Path, *, session: str) -> None:
        self._path = Path(path)
        self._session = session

    def put(self, text: str, *, tool_name: str) -> OutputRef:
        """Keep `text` and return its ref; the same text of the same tool has the same ref.

        Raises:
            ToolOutputError: the file could not be written.

        """
        body = text.encode("utf-8", "surrogatepass")
        lines = count_lines(text)
        name = ref_for(text, session=self._session, tool_name=tool_name)
        with self._transaction(name) as database:
            salt = 0
            while not self._insert(database, name, tool_name, lines, body):
                salt += 1
                name = ref_for(text, session=self._session, tool_name=tool_name, salt=salt)
        return OutputRef(ref=name, bytes=len(body), lines=lines, tool_name=tool_name)

    def get(self, ref: str) -> str:
        """Return the whole text kept under `ref`.

        Raises:
            ToolOutputError: `ref` is malformed, nothing is kept under it, or the file could not be read.

        """
        return self._find(ref)[1]

    def describe(self, ref: str) -> OutputRef:
        """Return the size and the tool of the output kept under `ref`.

        Raises:
            ToolOutputError: `ref` is malformed, nothing is kept under it, or the file could not be read.

        """
        return self._find(ref)[0]

    def forget_session(self) -> None:
        """Drop every output of the session; those of other sessions stay.

        Raises:
            ToolOutputError: the file could not be written.

        """
        with self._transaction("") as database:
            database.execute("DELETE FROM outputs WHERE session = ?", (self._session,))

    def _insert(self, database: sqlite3.Connection, ref: str, tool_name: str, lines: int, body: bytes) -> bool:
        """Keep `body` under `ref` and return True, or return False if another body is kept there."""
        database.execute(
            "INSERT OR IGNORE INTO outputs (session, ref, tool_name, lines, body) VALUES (?, ?, ?, ?, ?)",
            (self._session, ref, tool_name, lines, body),
        )
        kept = database.execute(
            "SELECT body = ? FROM outputs WHERE session = ? AND ref = ?", (body, self._session, ref)
        ).fetchone()
        return bool(kept[0])

    def _find(self, ref: str) -> tuple[OutputRef, str]:
        check_ref(ref)
        if not self._path.exists():
            raise no_longer_available(ref)
        with self._transaction(ref) as database:
            row = database.execute(
                "SELECT tool_name, lines, body FROM outputs WHERE session = ? AND ref = ?", (self._session, ref)
            ).fetchone()
        if row is None:
            raise no_longer_available(ref)
        tool_name, lines, body = row
        text = bytes(body).decode("utf-8", "surrogatepass")
        return OutputRef(ref=ref, bytes=byte_length(text), lines=lines, tool_name=tool_name), text

    @contextmanager
    def _transaction(self, ref: str) -> Iterator[sqlite3.Connection]:
        try:
            self._make_file()
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as database, database:
                # Locked at once: two that upgrade from a shared lock would fail instead of waiting for each other.
                database.execute("BEGIN IMMEDIATE")
                database.execute(_TABLE)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise ToolOutputError(
                ref, f"The tool output store {self._path} cannot be used ({error}); check the file and its disk."
            ) from error

    def _make_file(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite would make the file with the process's umask; whoever makes it first makes it private.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
