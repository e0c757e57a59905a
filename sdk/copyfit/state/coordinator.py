"""Run the commands that change state, and capture it, strictly one after the other."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from copyfit.state.view import StateProvider, StateView, capture

Result = TypeVar("Result")


class StateCoordinator:
    """Lets one command or capture through at a time, in the order in which they came.

    `revision` counts the commands, failed ones too: what a command did before it failed is done.
    """

    def __init__(self, providers: Sequence[StateProvider]) -> None:
        self._providers = tuple(providers)
        self._lock = asyncio.Lock()
        self._revision = 0

    @property
    def revision(self) -> int:
        """How many commands have run."""
        return self._revision

    async def run(self, command: Callable[[], Awaitable[Result]]) -> Result:
        """Return what `command` returns, once everything that came before it is done; its error is raised."""
        async with self._lock:
            try:
                return await command()
            finally:
                self._revision += 1

    async def capture(self) -> StateView:
        """Return a view of all components, taken while no command runs.

        Raises:
            StateError: two providers have one id, or a component kept changing.

        """
        async with self._lock:
            return await capture(self._providers, revision=self._revision)
