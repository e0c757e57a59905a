"""The command starts, or says in one sentence why it did not."""

import sys
from typing import Any

import pytest

from copyfit_harness.cli import main


class Loading:
    """Stands for the module of the command, which fails while it is loaded."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "copyfit: interrupted before it began.\n"),
        (
            ModuleNotFoundError("No module named 'typer'", name="typer"),
            3,
            "The copyfit command needs typer: pip install 'copyfit[harness]'\n",
        ),
    ],
    ids=["interrupted", "extra missing"],
)
def test_what_stops_it_while_it_is_loaded_is_one_sentence(
    error: BaseException,
    code: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "copyfit_harness.cli.app", Loading(error))
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == code
    assert capsys.readouterr().err == sentence


def test_another_missing_module_is_not_explained_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        sys.modules,
        "copyfit_harness.cli.app",
        Loading(ModuleNotFoundError("No module named 'nobody'", name="nobody")),
    )
    with pytest.raises(ModuleNotFoundError, match="nobody"):
        main()
