"""Fit an agent's history into the model's window, send it, and prove what was sent."""

from pathlib import Path
from typing import Annotated

import typer

from copyfit import __version__
from copyfit_harness.cli.demo import run_demo
from copyfit_harness.cli.exits import sentences_for_errors
from copyfit_harness.cli.overflow import overflow

app = typer.Typer(name="copyfit", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"copyfit {__version__}")
        raise typer.Exit


@app.callback()
def copyfit(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Fit an agent's history into the model's window, send it, and prove what was sent."""


@app.command()
def demo(
    mode: Annotated[
        str | None,
        typer.Option(help="dynamic, shadow or legacy; default: SCIENCE_AGENT_CONTEXT_MODE, else dynamic."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Record anew from the local provider (needs the extra local).")
    ] = False,
    cassettes: Annotated[
        Path | None, typer.Option(help="The folder of the cassettes; default: those that come with copyfit.")
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(help="The folder of the traces; default: SCIENCE_AGENT_CONTEXT_TRACE_DIR, else .copyfit/."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The local provider's port while recording; 0: any.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False,
) -> None:
    """Run a recorded agent through a small window and prove every request: no key, no network, no server."""
    with sentences_for_errors():
        run_demo(mode=mode, record_anew=record, cassettes=cassettes, traces=traces, port=port, as_json=as_json)


app.command()(overflow)
