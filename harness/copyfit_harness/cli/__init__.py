"""The `copyfit` command."""

import sys
from io import TextIOWrapper

_EXTRA = frozenset({"typer", "rich", "yaml"})
"""What the extra `harness` brings for the command."""


def main() -> None:
    """Run the command and exit.

    The codes: 0 good, 1 a verdict failed, 2 misuse, 3 the environment lacks something, 130 interrupted.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        # A path may hold what the output's encoding cannot: an escape says more than a traceback.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from copyfit_harness.cli.app import app

        app()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRA:
            raise
        print(f"The copyfit command needs {package}: pip install 'copyfit[harness]'", file=sys.stderr)
        raise SystemExit(3) from error
    except KeyboardInterrupt as interrupt:
        # While the command is still being loaded; what it does once it runs, it says itself.
        print("copyfit: interrupted before it began.", file=sys.stderr)
        raise SystemExit(130) from interrupt
