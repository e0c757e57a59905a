"""Notice that a model makes the same call again and again."""

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from copyfit.shapes.canonical import canonical_json

WARN_AT: Final = 10
FAIL_AT: Final = 20
"""The how-manieth equal call of a run is warned about, and failed (behaviour.md section 16.1)."""


class Repetition(Enum):
    """What becomes of a call, by how often it was made before."""

    FEW = "few"
    """It runs."""
    MANY = "many"
    """It is answered with a warning and not run."""
    ENDLESS = "endless"
    """It fails and is not run."""


class LoopGuard:
    """Counts the equal calls of one run: those of one tool whose arguments are the same JSON value.

    Raises:
        ValueError: `warn_at` is not at least 1, or `fail_at` is not above it.

    """

    def __init__(self, *, warn_at: int = WARN_AT, fail_at: int = FAIL_AT) -> None:
        if not 1 <= warn_at < fail_at:
            raise ValueError(f"warn_at is {warn_at} and fail_at {fail_at}; they must be 1 or more, and ascending.")
        self._warn_at = warn_at
        self._fail_at = fail_at
        self._made: Counter[tuple[str, bytes]] = Counter()

    def count(self, name: str, arguments: Mapping[str, Any]) -> tuple[int, Repetition]:
        """Count a call of the tool `name`, and return the how-manieth of its kind it is and what becomes of it."""
        key = (name, canonical_json(arguments))
        self._made[key] += 1
        made = self._made[key]
        if made >= self._fail_at:
            return made, Repetition.ENDLESS
        return made, Repetition.MANY if made >= self._warn_at else Repetition.FEW
