"""Undoing content codings chunk by chunk."""

import gzip
import sys
import zlib
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_harness.errors import BodyUnreadable
from copyfit_harness.wire.coding import decoded_pieces


def cut(data: bytes, edges: list[int]) -> list[bytes]:
    points = sorted({0, len(data), *(edge % (len(data) + 1) for edge in edges)})
    return [data[low:high] for low, high in pairwise(points)]


def bare_deflate(data: bytes) -> bytes:
    squeezer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeezer.compress(data) + squeezer.flush()


SQUEEZED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
}


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=6), st.sampled_from(sorted(SQUEEZED)))
def test_the_pieces_are_as_many_as_the_chunks_and_join_to_the_text(
    data: bytes, edges: list[int], coding: str
) -> None:
    chunks = cut(SQUEEZED[coding](data), edges)
    pieces = decoded_pieces(chunks, coding)
    assert b"".join(pieces) == data
    assert len(pieces) == len(chunks)


def test_deflate_without_its_framing_is_understood_too() -> None:
    assert decoded_pieces([bare_deflate(b"text" * 50)], "deflate") == (b"text" * 50,)


def test_a_piece_holds_what_its_chunk_made_known() -> None:
    squeezer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    events = (b"data: one\n\n", b"data: two\n\n")
    chunks = [squeezer.compress(event) + squeezer.flush(zlib.Z_SYNC_FLUSH) for event in events]
    chunks.append(squeezer.flush())
    assert decoded_pieces(chunks, "gzip") == (b"data: one\n\n", b"data: two\n\n", b"")


def test_several_codings_are_undone_from_the_last_to_the_first() -> None:
    assert decoded_pieces([gzip.compress(zlib.compress(b"x"))], "deflate, gzip, identity") == (b"x",)


def test_a_body_that_was_cut_off_gives_what_came() -> None:
    squeezer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    first = squeezer.compress(b"so far") + squeezer.flush(zlib.Z_SYNC_FLUSH)
    assert decoded_pieces([first], "gzip") == (b"so far",)


def test_an_empty_body_needs_no_decoder() -> None:
    assert decoded_pieces([b"", b""], "br") == (b"", b"")
    assert decoded_pieces([], "unheard-of") == ()


def test_a_body_that_contradicts_its_coding_is_refused() -> None:
    with pytest.raises(BodyUnreadable, match="gzip cannot be decoded"):
        decoded_pieces([b"plain text"], "gzip")


def test_an_unknown_coding_is_refused() -> None:
    with pytest.raises(BodyUnreadable, match=r"compress cannot be decoded .*no decoder for it is known"):
        decoded_pieces([b"x"], "compress")


def test_a_coding_whose_library_is_not_installed_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BodyUnreadable, match="none of brotli, brotlicffi is installed"):
        decoded_pieces([b"x"], "br")


@pytest.mark.parametrize(
    ("coding", "module", "wrapped"),
    [("br", "brotlicffi", False), ("zstd", "backports.zstd", False), ("zstd", "zstandard", True)],
)
def test_whichever_library_is_there_is_used(
    monkeypatch: pytest.MonkeyPatch, coding: str, module: str, wrapped: bool
) -> None:
    # The libraries are optional; what is checked is that each is called by its own interface.
    class Upper:
        def decompress(self, data: bytes) -> bytes:
            return data.upper()

        process = decompress

    class Wrapping:
        def decompressobj(self) -> Upper:
            return Upper()

    for name in (
        "brotli",
        "brotlicffi",
        "compression",
        "compression.zstd",
        "backports",
        "backports.zstd",
        "zstandard",
    ):
        monkeypatch.setitem(sys.modules, name, None)
    stand_in = ModuleType(module)
    decompressor = Wrapping if wrapped else Upper
    stand_in.__dict__.update(
        Decompressor=decompressor, ZstdDecompressor=decompressor, error=ValueError, ZstdError=ValueError
    )
    if "." in module:
        monkeypatch.setitem(sys.modules, module.partition(".")[0], ModuleType(module.partition(".")[0]))
    monkeypatch.setitem(sys.modules, module, stand_in)
    assert decoded_pieces([b"a", b"b"], coding) == (b"A", b"B")
