"""`copyfit demo`: the recorded agent run, its table, and the proof."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from copyfit import Mode, Settings
from copyfit_harness.cli.exits import Exit
from copyfit_harness.errors import CassetteMismatch, NotExact
from copyfit_harness.proof.exact import Finding
from copyfit_harness.scenarios.demo import DemoRun, Phase, SentInput, TurnRow
from copyfit_harness.scenarios.recordings import cassette_in, demo_folder, record
from copyfit_harness.transport.recorder import Recorder
from copyfit_harness.wire.difference import describe

_SHOWN_DIFFERENCES = 3


def run_demo(
    *,
    mode: str | None,
    record_anew: bool,
    cassettes: Path | None,
    traces: Path | None,
    port: int,
    as_json: bool,
) -> None:
    """Run the demo, print what happened, and exit with 1 if any request was not exact.

    Raises:
        HarnessError: the cassette is missing, cannot be read or does not fit, or it could not be recorded.
        SettingsError: a setting has an unknown value.

    """
    settings = Settings.from_environment(mode=mode, trace_dir=traces)
    folder = cassettes or demo_folder()
    trace_dir = settings.trace.directory
    console = Console(stderr=as_json)
    table = _table(settings.mode, recording=record_anew)
    with Live(table, console=console, transient=True) if console.is_terminal else nullcontext():
        if record_anew:
            run = record(settings.mode, folder, trace_dir=trace_dir, port=port, on_row=_row_printer(table))
        else:
            run = _replay(settings.mode, folder, trace_dir, _row_printer(table))
    findings = list(run.findings())
    if as_json:
        print(json.dumps(_document(run, findings), indent=2))
    else:
        console.print(table)
        _print_verdict(console, run, findings)
    if any(not finding.is_exact for _, finding in findings):
        raise SystemExit(Exit.VERDICT_FAILED)


def _replay(mode: Mode, folder: Path, trace_dir: Path, on_row: Callable[[TurnRow], None]) -> DemoRun:
    recorder = Recorder(cassette_in(folder, mode))
    run = DemoRun(mode=mode, recorder=recorder, trace_dir=trace_dir, on_row=on_row)
    try:
        with recorder:
            asyncio.run(run.run())
    except CassetteMismatch as error:
        sentence = f"turn {run.current_turn}: the request is not the recorded one.\n{error.report}"
        raise NotExact(sentence, error.paths) from error
    return run


def _table(mode: Mode, *, recording: bool) -> Table:
    title = f"copyfit demo, {mode} mode, {'recording' if recording else 'replayed'}"
    caption = "input tokens; full: share of the input limit before cutting; cached: as the server reported"
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("turn", "estimate", "reported", "full", "cached"):
        table.add_column(name, justify="right", no_wrap=True)
    # Where the terminal is narrow, these give way, and no number loses a digit.
    table.add_column("cut", overflow="fold")
    table.add_column("called", overflow="fold")
    return table


def _row_printer(table: Table) -> Callable[[TurnRow], None]:
    def add(row: TurnRow) -> None:
        table.add_row(
            str(row.turn),
            f"{row.estimated:,}",
            "-" if row.reported is None else f"{row.reported:,}",
            f"{row.pressure_percent} %",
            "-" if not row.reported or row.cached is None else f"{100 * row.cached // row.reported} %",
            "\n".join(_cuts(row)) or "-",
            "\n".join(row.calls) or "-",
        )

    return add


def _cuts(row: TurnRow) -> Iterator[str]:
    if row.overflow is not None:
        asked, limit = row.overflow.requested_tokens, row.overflow.limit_tokens
        yield f"refused {asked:,}/{limit:,}" if asked and limit else "refused as too long"
    if row.projected:
        yield f"{row.projected} tool bodies" if row.projected > 1 else "1 tool body"
    if row.summarized:
        yield f"{row.summarized} messages folded"


def _print_verdict(console: Console, run: DemoRun, findings: Sequence[tuple[SentInput, Finding]]) -> None:
    passed = ", ".join(phase for phase in Phase if phase in run.phases)
    console.print(f"Passed through: {passed}.", highlight=False)
    traces = run.traces()
    written = f"{len(traces)} private files" if traces else "none could be written"
    console.print(f"Traces: {written} in {run.trace_dir}.", highlight=False, soft_wrap=True)
    for sent, finding in findings:
        if not finding.is_exact:
            console.print(f"turn {sent.turn}, {sent.sender}: not exact", style="red")
            console.print(finding.problem or _differences(finding), markup=False, highlight=False)
    exact = sum(finding.is_exact for _, finding in findings)
    good = exact == len(findings)
    meaning = "the bytes on the wire read back as the assembled input" if good else "the others differ as shown"
    console.print(
        f"{exact} of {len(findings)} exact: {meaning}.",
        style="green" if good else "red",
        highlight=False,
        soft_wrap=True,
    )


def _differences(finding: Finding) -> str:
    shown = [
        describe(difference, expected_name="assembled", actual_name="on the wire")
        for difference in finding.differences[:_SHOWN_DIFFERENCES]
    ]
    more = len(finding.differences) - len(shown)
    return "\n".join([*shown, f"({more} more)"] if more else shown)


def _document(run: DemoRun, findings: Sequence[tuple[SentInput, Finding]]) -> dict[str, Any]:
    return {
        "mode": run.mode,
        "cassette": str(run.recorder.path),
        "traces": str(run.trace_dir),
        "phases": [phase for phase in Phase if phase in run.phases],
        "turns": [_turn(row) for row in run.rows],
        "requests": [
            {"turn": sent.turn, "sender": sent.sender, "exact": finding.is_exact, "paths": list(finding.paths)}
            for sent, finding in findings
        ],
        "exact": sum(finding.is_exact for _, finding in findings),
        "total": len(findings),
    }


def _turn(row: TurnRow) -> dict[str, Any]:
    return {
        "turn": row.turn,
        "estimatedTokens": row.estimated,
        "reportedTokens": row.reported,
        "cachedTokens": row.cached,
        "pressurePercent": row.pressure_percent,
        "projectedBodies": row.projected,
        "summarizedMessages": row.summarized,
        "refused": None
        if row.overflow is None
        else {"requestedTokens": row.overflow.requested_tokens, "limitTokens": row.overflow.limit_tokens},
        "calls": list(row.calls),
    }
