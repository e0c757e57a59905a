"""A recorder that nobody closes says what was lost; one that was closed, or never opened, says nothing."""

import gc
import warnings
from pathlib import Path

import pytest

from copyfit_harness.errors import CassetteEmpty, CassetteMissing
from copyfit_harness.transport.recorder import Recorder, RecordMode


def test_a_recorder_that_was_never_closed_says_that_nothing_was_saved(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "turn.yaml", mode=RecordMode.ONCE)
    with pytest.warns(ResourceWarning, match=r"turn\.yaml was never closed: nothing was saved"):
        recorder.__del__()
    recorder._closed = True


def test_a_closed_recorder_and_one_that_could_not_open_say_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(CassetteMissing):
            Recorder(tmp_path / "absent.yaml")
        recorder = Recorder(tmp_path / "turn.yaml", mode=RecordMode.ONCE)
        with pytest.raises(CassetteEmpty):
            recorder.close()
        del recorder
        gc.collect()
