"""Read and write cassette files: whole or not at all, and readable by people."""

import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from copyfit_harness.cassettes.format import Cassette, cassette_of, document
from copyfit_harness.cassettes.lock import make_private_folder
from copyfit_harness.errors import CassetteMissing, CassetteUnreadable, CassetteUnwritable, EnvironmentLacks

_NEVER_FOLD = 2**31 - 1
_NEEDS_ESCAPES = re.compile(
    "[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_ESCAPED_ASTRAL = re.compile(r"\\U00[01]")
_READ_BY_PEOPLE = 4_000_000
"""Characters; a longer file is written fast rather than pretty (the slow emitter takes about 0.8 s for 1 MB)."""


def load_cassette(path: Path) -> Cassette:
    """Return the cassette at `path`.

    Raises:
        CassetteMissing: there is no such file.
        CassetteUnreadable: there is one, and it is not a whole, known cassette.
        EnvironmentLacks: PyYAML is not installed.

    """
    yaml = _yaml()
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError as error:
        raise CassetteMissing(path) from error
    except OSError as error:
        raise CassetteUnreadable(path, error.strerror or "the system refuses it") from error
    except UnicodeDecodeError as error:
        raise CassetteUnreadable(path, f"byte {error.start} is not UTF-8") from error
    if not text.strip():
        raise CassetteUnreadable(path, "it is empty")
    try:
        return cassette_of(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        raise CassetteUnreadable(path, _where_yaml_fails(error)) from error
    except ValueError as error:
        raise CassetteUnreadable(path, str(error)) from error
    except RecursionError as error:
        raise CassetteUnreadable(path, "it is nested too deep") from error


def save_cassette(path: Path, cassette: Cassette) -> None:
    """Replace the file at `path` by `cassette`, or leave it as it was; new folders are open to their owner only.

    Raises:
        CassetteUnwritable: the disk is full, or the system refuses for another reason.
        EnvironmentLacks: PyYAML is not installed.

    """
    text = cassette_text(cassette)
    try:
        make_private_folder(path.parent)
        # mkstemp makes the file readable by its owner only, and renaming within a folder is atomic.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise CassetteUnwritable(path, error.strerror or str(error)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise CassetteUnwritable(path, error.strerror or str(error)) from error
    finally:
        # After the renaming there is nothing left by this name.
        with suppress(FileNotFoundError):
            os.unlink(name)


def cassette_text(cassette: Cassette) -> str:
    """Return the text of the file for `cassette`: one scalar on one line or as a block, UTF-8 shown as itself."""
    yaml = _yaml()
    value = document(cassette)
    text = _dumped(value, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    if _ESCAPED_ASTRAL.search(text) and len(text) <= _READ_BY_PEOPLE:
        # libyaml writes every emoji as an escape and folds the whole stream around it into one line.
        text = _dumped(value, yaml.SafeDumper)
    return text


def _yaml() -> Any:
    try:
        import yaml
    except ImportError as error:
        raise EnvironmentLacks(
            "Cassettes are YAML, and PyYAML is not installed", "Install it with: pip install 'copyfit[harness]'."
        ) from error
    return yaml


def _dumped(value: dict[str, Any], base: Any) -> str:
    dumper: Any = type("CassetteDumper", (base,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _represent_text)
    text: str = _yaml().dump(value, Dumper=dumper, allow_unicode=True, width=_NEVER_FOLD, sort_keys=False)
    return text


def _represent_text(dumper: Any, text: str) -> Any:
    # Left to itself, PyYAML writes next-line and line-separator characters as they are, and reads line feeds back.
    style = '"' if _NEEDS_ESCAPES.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _where_yaml_fails(error: Exception) -> str:
    """Say where a file stops being YAML; PyYAML's own message would quote the line, prompts and all."""
    mark = getattr(error, "problem_mark", None)
    place = f" in line {mark.line + 1}" if mark else ""
    return f"it is not YAML{place}: {getattr(error, 'problem', None) or 'a character that YAML forbids'}"
