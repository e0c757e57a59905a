"""Where the record of each turn goes."""

from typing import Protocol

from copyfit.shapes.stages import TurnRecord


class TraceSink(Protocol):
    """Takes the record of every assembly; it must not raise, for a failing disk never fails a turn."""

    def write(self, record: TurnRecord) -> None:
        """Keep `record`."""
        ...
