"""Tell listeners what happens, without letting one that fails harm the run."""

import logging
from collections.abc import Callable
from typing import Final, ParamSpec

Said = ParamSpec("Said")

_log: Final = logging.getLogger("copyfit")


def tell(listener: Callable[Said, object] | None, *said: Said.args, **named: Said.kwargs) -> None:
    """Call `listener`, if there is one; what it raises is logged by its type alone, for it may quote the run."""
    if listener is None:
        return
    try:
        listener(*said, **named)
    except Exception as error:  # noqa: BLE001 - foreign code that only watches
        _log.warning("copyfit.listener_failed: %s; the run goes on.", type(error).__name__)
