"""One writer at a time."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from copyfit_harness.cassettes.lock import WriterLock
from copyfit_harness.errors import CassetteBusy, CassetteUnwritable

HOLD = """
import sys
from pathlib import Path
from copyfit_harness.cassettes.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    first = WriterLock(path)
    with pytest.raises(CassetteBusy, match="give each worker its own cassette"):
        WriterLock(path)
    first.release()
    WriterLock(path).release()
    assert list(tmp_path.iterdir()) == []


def test_another_process_is_refused_and_its_death_gives_the_lock_up(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(CassetteBusy):
            WriterLock(path)
        holder.kill()
        holder.communicate()
    WriterLock(path).release()


def test_two_cassettes_in_one_folder_do_not_exclude_each_other(tmp_path: Path) -> None:
    locks = [WriterLock(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    for lock in locks:
        lock.release()


def test_many_threads_get_the_lock_one_after_the_other(tmp_path: Path) -> None:
    inside = 0
    most = 0
    entered = 0

    def enter() -> None:
        nonlocal inside, most, entered
        for _ in range(200):
            try:
                lock = WriterLock(tmp_path / "c.yaml")
            except CassetteBusy:
                continue
            inside += 1
            entered += 1
            most = max(most, inside)
            inside -= 1
            lock.release()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert entered > 0


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CassetteUnwritable, match="File exists"):
        WriterLock(tmp_path / "file" / "c.yaml")
