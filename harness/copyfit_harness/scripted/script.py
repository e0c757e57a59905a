"""Script: the answers of a stand-in, each given once, with a check that a run neither overran nor left any."""

from collections.abc import Iterable
from types import TracebackType
from typing import Generic, Self, TypeVar

from copyfit_harness.errors import ScriptEnded, ScriptUnplayed

Answer = TypeVar("Answer")


class Script(Generic[Answer]):
    """Hands out `answers` in order; its ``with`` block, or `finish`, checks that the run took all of them.

    A request too many is remembered, so that it is raised at the end even where the caller swallowed it.
    """

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)
        self._taken = 0
        self._overrun: ScriptEnded | None = None

    @property
    def left(self) -> int:
        """How many answers are still to come."""
        return len(self._answers) - self._taken

    def take(self, asked: str) -> Answer:
        """Return the next answer; `asked` names the request in the error.

        Raises:
            ScriptEnded: every answer has been given.

        """
        if not self.left:
            ended = ScriptEnded(asked, len(self._answers))
            self._overrun = self._overrun or ended
            raise ended
        self._taken += 1
        return self._answers[self._taken - 1]

    def finish(self) -> None:
        """Check that the script was played to its end and no further.

        Raises:
            ScriptEnded: more was asked for, whether or not the caller took notice.
            ScriptUnplayed: answers are left.

        """
        if self._overrun is not None:
            raise self._overrun
        if self.left:
            raise ScriptUnplayed(self.left, len(self._answers))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
