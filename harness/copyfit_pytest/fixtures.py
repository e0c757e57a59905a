"""The fixtures: `recorder`, and two that a project overrides to set its own rules."""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from copyfit_pytest import LEFT_WITH

if TYPE_CHECKING:
    from copyfit_harness.cassettes.matching import Loosening
    from copyfit_harness.transport.recorder import Recorder
    from copyfit_harness.wire.secrets import Redaction

_LONGEST_NAME = 100


@pytest.fixture
def recorder(
    request: pytest.FixtureRequest, copyfit_loosenings: "Sequence[Loosening]", copyfit_redaction: "Redaction"
) -> "Iterator[Recorder]":
    """Open the cassette of this test, and save and check it when the test is over.

    Give ``recorder.transport()`` to an httpx or httpx2 client. A mismatch that the client swallowed and exchanges
    that were never asked for fail the test in its teardown.
    """
    from copyfit_harness.transport.recorder import Recorder, RecordMode

    mode = RecordMode(request.config.getoption("--copyfit-record"))
    opened = Recorder(
        _cassette_path(request), mode=mode, loosenings=copyfit_loosenings, redaction=copyfit_redaction
    )
    yield opened
    error = request.node.stash.get(LEFT_WITH, None)
    opened.__exit__(type(error) if error else None, error, None)


@pytest.fixture
def copyfit_loosenings() -> "Sequence[Loosening]":
    """Return the differences that matching overlooks; none, until a project or a module overrides this."""
    return ()


@pytest.fixture
def copyfit_redaction() -> "Redaction":
    """Return the rules of what never reaches a cassette; override it to add names of your own."""
    from copyfit_harness.wire.secrets import DEFAULT_REDACTION

    return DEFAULT_REDACTION


def _cassette_path(request: pytest.FixtureRequest) -> Path:
    """Return where the cassette is: in the folder, under the name that the marker or else the node id gives."""
    node = request.node
    marker = node.get_closest_marker("copyfit_cassette")
    if marker is None:
        module, *names = node.nodeid.split("::")
        return _folder(request.config) / Path(module).with_suffix("") / f"{_file_name('.'.join(names))}.yaml"
    if len(marker.args) != 1 or marker.kwargs:
        raise pytest.UsageError(f'{node.nodeid}: write copyfit_cassette("folder/name.yaml"), with one path.')
    return _folder(request.config) / str(marker.args[0])


def _folder(config: pytest.Config) -> Path:
    """Return the folder of the cassettes: one from the command line is meant from where the user stands."""
    given = config.getoption("--copyfit-cassettes")
    if given:
        return config.invocation_params.dir / str(given)
    return config.rootpath / str(config.getini("copyfit_cassettes"))


def _file_name(name: str) -> str:
    """Return `name` with the brackets of parameters and whatever a file system may refuse replaced by dashes."""
    plain = name.replace("[", "-").replace("]", "")
    safe = re.sub(r"[^\w.-]+", "-", plain)
    if safe == plain and len(safe) <= _LONGEST_NAME:
        return safe
    # Two parameters may differ in nothing but the replaced characters.
    return f"{safe[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:8]}"
