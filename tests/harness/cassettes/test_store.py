"""Cassette files: what is written, what is read back, and what is refused."""

import errno
import os
import stat
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copyfit_harness.cassettes.format import Cassette
from copyfit_harness.cassettes.store import cassette_text, load_cassette, save_cassette
from copyfit_harness.errors import CassetteMissing, CassetteUnreadable, CassetteUnwritable, EnvironmentLacks
from copyfit_harness.wire.exchange import Ending, EndingKind, Exchange, WireRequest, WireResponse

# Everything that YAML's writers are known to trip over, mixed with ordinary text.
AWKWARD = "\x85\u2028\u2029\ufeff\u00a0\ufffe\x00\x07\x1b\x7f\t\r\n\n  #:-?|>&*!%@`\"'\\{}[],=~😀中é"
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(AWKWARD))
LINES = st.lists(st.sampled_from(["", " ", "data: {}", "\t", "  x", "x  ", "---", "...", "# c", "😀"])).map(
    "\n".join
)
WORDS = st.sampled_from(
    ["null", "true", "1", "1e3", "2026-11-30", "=", "<<", "~", "0x1f", "y", "- a", "a: b", "%x"]
)
BODY = st.binary() | (TEXT | LINES | WORDS).map(str.encode)
NAME = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1)
HEADERS = st.dictionaries(NAME, TEXT, max_size=3).map(lambda pairs: tuple(pairs.items()))
ENDINGS = st.sampled_from([EndingKind.COMPLETE, EndingKind.CLIENT_STOPPED]).map(Ending) | st.builds(
    Ending, st.just(EndingKind.BROKE_OFF), NAME, TEXT
)


@st.composite
def responses(draw: st.DrawFn) -> WireResponse:
    body = draw(BODY)
    edges = sorted(draw(st.lists(st.integers(0, len(body)), max_size=5)))
    points = [0, *edges, len(body)]
    chunks = tuple(body[low:high] for low, high in pairwise(points))
    seconds = st.floats(0, 100, allow_nan=False)
    delays = draw(st.none() | st.lists(seconds, min_size=len(chunks), max_size=len(chunks)).map(tuple))
    return WireResponse(draw(st.integers(100, 999)), draw(TEXT), draw(HEADERS), chunks, delays, draw(ENDINGS))


EXCHANGES = st.builds(
    Exchange,
    st.builds(WireRequest, st.sampled_from(["GET", "POST"]), st.just("https://h/v1"), HEADERS, BODY),
    responses(),
)
CASSETTES = st.builds(Cassette, st.lists(EXCHANGES, max_size=3).map(tuple), TEXT)

PLAIN = Cassette((Exchange(WireRequest("POST", "https://h/v1", (), b"{}"), WireResponse(200, chunks=(b"ok",))),))


@given(CASSETTES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_saved_cassette_reads_back_whatever_its_bytes(tmp_path: Path, cassette: Cassette) -> None:
    save_cassette(tmp_path / "c.yaml", cassette)
    back = load_cassette(tmp_path / "c.yaml")
    assert back.exchanges == cassette.exchanges
    assert back.description == cassette.description


@given(CASSETTES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_machine_without_libyaml_writes_and_reads_the_same(tmp_path: Path, cassette: Cassette) -> None:
    fast = yaml.load(cassette_text(cassette), Loader=yaml.CSafeLoader)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(yaml, "CSafeLoader")
        patch.delattr(yaml, "CSafeDumper")
        save_cassette(tmp_path / "c.yaml", cassette)
        assert load_cassette(tmp_path / "c.yaml").exchanges == cassette.exchanges
    slow = yaml.safe_load(cassette_text(cassette))
    assert slow["interactions"] == fast["interactions"]


def test_the_text_is_for_people() -> None:
    prompt = '{"messages":[{"role":"user","content":"' + "Größe, 中文, 😀 " * 30 + '"}]}'
    stream = 'data: {"delta":"été 😀"}\n\ndata: [DONE]\n\n'
    request = WireRequest("POST", "https://h/v1", (), prompt.encode())
    text = cassette_text(Cassette((Exchange(request, WireResponse(200, chunks=(stream.encode(),))),)))
    lines = [line.strip() for line in text.splitlines()]
    assert f"body: '{prompt}'" in lines
    assert 'data: {"delta":"été 😀"}' in lines
    assert "data: [DONE]" in lines


def test_the_file_and_its_new_folders_are_open_to_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "newer" / "c.yaml"
    save_cassette(path, PLAIN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_saving_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("old")
    save_cassette(path, PLAIN)
    assert load_cassette(path).exchanges == PLAIN.exchanges
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "write", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("old")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    elif call == "replace":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        original = os.fdopen

        def full(*args: Any, **kwargs: Any) -> Any:
            file = original(*args, **kwargs)

            class Full:
                def __enter__(self) -> "Full":
                    return self

                def __exit__(self, *leaving: object) -> None:
                    file.close()

                write = fail

            return Full()

        monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(CassetteUnwritable, match="No space left on device") as caught:
        save_cassette(path, PLAIN)
    assert caught.value.path == path
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CassetteUnwritable):
        save_cassette(tmp_path / "file" / "c.yaml", PLAIN)


def test_an_absent_file_is_missing_and_not_unreadable(tmp_path: Path) -> None:
    with pytest.raises(CassetteMissing, match="record it first"):
        load_cassette(tmp_path / "c.yaml")


GOOD = cassette_text(Cassette(PLAIN.exchanges * 2))

UNREADABLE = {
    "not YAML": (b"interactions: [\n- {", r"it is not YAML in line 2"),
    "not UTF-8": (GOOD.encode().replace(b"ok", b"\xff\xfe"), r"byte \d+ is not UTF-8"),
    "empty": (b"\n \n", "it is empty"),
    "not a cassette": (b"name: something else\n", "version: field required"),
    "a later version": (GOOD.replace("format: 1", "format: 7").encode(), "it has format 7 of copyfit's facts"),
    "cut off within": (GOOD.encode()[: len(GOOD) // 2], "."),
    "cut off between": (GOOD.encode()[: GOOD.rindex("- request:")], "counts 2 exchanges and it holds 1"),
    "a forbidden character": (
        GOOD.replace("ok", "\x07").encode(),
        "it is not YAML.*a character that YAML forbids",
    ),
    "a tag that runs code": (b"!!python/object/apply:os.getcwd []", "it is not YAML in line 1"),
    "nested without end": (b"[" * 5000, "."),
}


@pytest.mark.parametrize(("content", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_damaged_file_is_unreadable_and_stays_as_it_is(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(content)
    with pytest.raises(CassetteUnreadable, match=reason) as caught:
        load_cassette(path)
    assert str(caught.value).startswith(f"The cassette {path} cannot be read (")
    assert str(caught.value).endswith("restore it, or delete it and record it again.")
    assert caught.value.__cause__ is not None or content.strip() == b""
    assert path.read_bytes() == content


def test_without_pyyaml_the_package_to_install_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for use in (lambda: load_cassette(tmp_path / "c.yaml"), lambda: save_cassette(tmp_path / "c.yaml", PLAIN)):
        with pytest.raises(EnvironmentLacks, match=r"pip install 'copyfit\[harness\]'"):
            use()


def test_a_folder_in_the_place_of_the_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(CassetteUnreadable, match="Is a directory"):
        load_cassette(tmp_path)
