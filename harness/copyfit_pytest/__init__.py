"""The pytest plugin: a `recorder` fixture that replays cassettes, and a gate on the sockets.

Replay is the default, and the only mode where the variable ``CI`` is set: what a build server records, nobody
reviews. The gate is off until ``copyfit_block_network = true`` switches it on, because pytest loads this plugin in
every project that has copyfit installed, and a library must not change what another project's tests may do.

This module is loaded at every start of pytest, so it imports nothing but pytest; the rest comes when it is needed.
"""

import os
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["LEFT_WITH"]

LEFT_WITH: pytest.StashKey[BaseException | None] = pytest.StashKey()
"""Where a test item keeps the exception that ended its setup or its call, or None while all is well."""

_GATE: pytest.StashKey[Any] = pytest.StashKey()
_MODES = ("none", "once", "new", "all")
_FALSE = ("", "0", "false", "no", "off")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings."""
    group = parser.getgroup("copyfit", "recorded conversations with providers")
    group.addoption(
        "--copyfit-record",
        choices=_MODES,
        default="none",
        help="none: only replay (default). once: record where there is no cassette yet. new: also record requests "
        "that a cassette lacks. all: record everything again.",
    )
    group.addoption(
        "--copyfit-cassettes", metavar="DIR", help="folder of the cassettes (setting copyfit_cassettes)"
    )
    group.addoption(
        "--copyfit-block-network",
        action="store_true",
        help="refuse connections that leave this machine (setting copyfit_block_network)",
    )
    parser.addini(
        "copyfit_cassettes", "folder of the cassettes, from the root of the project", default="cassettes"
    )
    parser.addini(
        "copyfit_block_network", "refuse connections that leave this machine", type="bool", default=False
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, refuse to record on a build server, and make the fixtures known.

    Raises:
        pytest.UsageError: a mode that records was asked for while ``CI`` is set.

    """
    config.addinivalue_line(
        "markers",
        "copyfit_cassette(path): the cassette of this test, from the cassettes folder; without it, the one named "
        "after the test",
    )
    config.addinivalue_line(
        "markers", "copyfit_network(reason): let this test out to the network though copyfit_block_network is on"
    )
    mode = config.getoption("--copyfit-record")
    if mode != "none" and os.environ.get("CI", "").strip().lower() not in _FALSE:
        raise pytest.UsageError(
            f"--copyfit-record={mode} is refused where CI is set: record on your own machine, review the "
            "cassettes, and commit them."
        )
    config.pluginmanager.import_plugin("copyfit_pytest.fixtures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that is let out to the network without a reason.

    Raises:
        pytest.UsageError: there is one.

    """
    for item in items:
        marker = item.get_closest_marker("copyfit_network")
        if marker is not None and not str(marker.kwargs.get("reason", "")).strip():
            raise pytest.UsageError(f'{item.nodeid}: write copyfit_network(reason="..."), with the reason.')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Close the gate around a test and all its fixtures, if it is switched on and the test is not let out."""
    config = item.config
    switched_on = config.getoption("--copyfit-block-network") or config.getini("copyfit_block_network")
    try:
        if not switched_on or item.get_closest_marker("copyfit_network") is not None:
            return (yield)
        from copyfit_harness.transport.gate import SocketGate

        with SocketGate() as gate:
            item.stash[_GATE] = gate
            return (yield)
    except (KeyboardInterrupt, pytest.exit.Exception) as interruption:
        # No report is made of it, and the fixtures are torn down at the end of the session.
        item.stash[LEFT_WITH] = interruption
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    """Keep how a test's setup or call ended, which decides what its fixtures may complain about."""
    if call.when in ("setup", "call"):
        item.stash[LEFT_WITH] = call.excinfo.value if call.excinfo else None
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that wanted the network, though the code under test swallowed the refusal.

    Raises:
        LiveCallBlocked: an address outside this machine was asked for, and the test did not fail by itself.

    """
    result = yield
    gate = item.stash.get(_GATE, None)
    if gate is not None and gate.refused and item.stash.get(LEFT_WITH, None) is None:
        from copyfit_harness.errors import LiveCallBlocked

        raise LiveCallBlocked(
            ", ".join(dict.fromkeys(gate.refused)),
            "the test went on without it, so what it shows depends on the network",
        )
    return result
