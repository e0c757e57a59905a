"""Where the demo's cassettes are, and how they are made."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from copyfit import Mode, ProviderError
from copyfit_harness.errors import CassetteMissing, EnvironmentLacks
from copyfit_harness.local_provider.options import LocalProviderOptions, ModelVariant
from copyfit_harness.local_provider.provider import LocalProvider
from copyfit_harness.scenarios.demo import ORIGIN, DemoRun, Phase, TurnRow
from copyfit_harness.scenarios.field_agent import SERVER_WINDOW_TOKENS
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.transport.rehost import Rehost

MAX_TAKES = 12
"""Runs that a recording tries: the model calls tools at random, and not every run passes through every phase."""

_PACKAGE = Path(__file__).parents[1]
_IN_WHEEL = _PACKAGE / "_cassettes" / "demo"
_IN_CHECKOUT = _PACKAGE.parents[1] / "cassettes" / "demo"


def demo_folder() -> Path:
    """Return the folder of the demo's cassettes: in the installed wheel, or else in the checkout.

    Raises:
        CassetteMissing: neither is there.

    """
    for folder in (_IN_WHEEL, _IN_CHECKOUT):
        if folder.is_dir():
            return folder
    raise CassetteMissing(_IN_CHECKOUT)


def cassette_in(folder: Path, mode: Mode) -> Path:
    """Return the path of the cassette of `mode` in `folder`."""
    return folder / f"{mode}.yaml"


def record(
    mode: Mode,
    folder: Path,
    *,
    trace_dir: Path,
    port: int = 0,
    on_row: Callable[[TurnRow], None] = lambda row: None,
) -> DemoRun:
    """Record the demo's run in `mode` from the local provider into `folder`, and return the run that was kept.

    Runs are repeated until one passes through every phase (in dynamic mode; the other modes need not). Only that
    one is kept, and its turns are told to `on_row`.

    Raises:
        EnvironmentLacks: the local provider cannot be started, or no run passed through every phase.

    """
    options = LocalProviderOptions(
        variant=ModelVariant.TOOLS, context_tokens=SERVER_WINDOW_TOKENS, prompt_cache=True
    )
    with LocalProvider.start(options, port=port) as provider:
        folder.mkdir(parents=True, exist_ok=True)
        return _best_take(mode, folder, provider, trace_dir, on_row)


def _best_take(
    mode: Mode, folder: Path, provider: LocalProvider, trace_dir: Path, on_row: Callable[[TurnRow], None]
) -> DemoRun:
    wanted = frozenset(Phase) if mode is Mode.DYNAMIC else frozenset()
    last = ""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".take-") as takes:
        for number in range(MAX_TAKES):
            take = Path(takes) / f"{number}.yaml"
            try:
                run = _take(mode, take, provider, trace_dir)
            except ProviderError as error:
                # Random weights now and then make the server fail by itself; another take goes another way.
                last = str(error)
                continue
            if wanted <= run.phases:
                take.replace(cassette_in(folder, mode))
                for row in run.rows:
                    on_row(row)
                return run
            last = f"it did not reach: {', '.join(sorted(wanted - run.phases))}"
    raise EnvironmentLacks(f"None of {MAX_TAKES} runs passed through every phase; the last: {last}", "Try again.")


def _take(mode: Mode, cassette: Path, provider: LocalProvider, trace_dir: Path) -> DemoRun:
    import httpx

    # The server drops idle connections, and a client under a recorder does not retry: use each one once.
    once = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
    with Recorder(cassette, mode=RecordMode.ALL, description=provider.description) as recorder:
        run = DemoRun(
            mode=mode,
            recorder=recorder,
            trace_dir=trace_dir,
            inner=Rehost(ORIGIN, provider.base_url.removesuffix("/v1"), inner=once),
        )
        asyncio.run(run.run())
    return run
