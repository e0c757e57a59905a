"""What a failed command says and returns."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from copyfit.errors import CopyfitError, ProviderError, SettingsError
from copyfit_harness.errors import CassetteBusy, CassetteMissing, EnvironmentLacks, HarnessError


class Exit(IntEnum):
    """The exit codes of every verb."""

    GOOD = 0
    VERDICT_FAILED = 1
    MISUSE = 2
    ENVIRONMENT = 3
    INTERRUPTED = 130


def exit_for(error: Exception) -> Exit:
    """Return the exit code that `error` stands for."""
    if isinstance(error, SettingsError):
        return Exit.MISUSE
    if isinstance(error, CassetteMissing | CassetteBusy | EnvironmentLacks | ProviderError | OSError):
        return Exit.ENVIRONMENT
    return Exit.VERDICT_FAILED


@contextmanager
def sentences_for_errors() -> Iterator[None]:
    """Turn an error that a user can act on into its sentence on stderr and an exit code."""
    try:
        yield
    except (CopyfitError, HarnessError, OSError) as error:
        print(f"copyfit: {error}", file=sys.stderr)
        raise SystemExit(exit_for(error)) from error
    except KeyboardInterrupt as interrupt:
        print("copyfit: interrupted; nothing half-done was kept.", file=sys.stderr)
        raise SystemExit(Exit.INTERRUPTED) from interrupt
