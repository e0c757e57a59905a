import asyncio
import logging

import pytest

from copyfit.runtime.listeners import tell


def test_a_listener_is_told() -> None:
    heard: list[tuple[int, str]] = []
    tell(lambda number, word: heard.append((number, word)), 1, "one")
    tell(None)
    assert heard == [(1, "one")]


def test_a_listener_that_fails_is_logged_without_what_it_said(caplog: pytest.LogCaptureFixture) -> None:
    def deaf(word: str) -> None:
        raise LookupError(word)

    with caplog.at_level(logging.WARNING, "copyfit"):
        tell(deaf, "the user's secret")
    assert "LookupError" in caplog.text
    assert "secret" not in caplog.text


def test_a_cancellation_is_no_failure_of_a_listener() -> None:
    def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        tell(cancelled)
