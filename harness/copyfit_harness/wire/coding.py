"""Undo the content coding of a body (gzip, deflate, br, zstd) piece by piece, so that its edges survive.

What is written to disk has to be searched for secrets and read by people, and compressed bytes allow neither.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from copyfit_harness.errors import BodyUnreadable


@dataclass(frozen=True, slots=True)
class _Decoder:
    """Decode piece by piece with `feed`, take what is left with `finish`; both raise `error` on a bad body."""

    feed: Callable[[bytes], bytes]
    error: type[Exception]
    finish: Callable[[], bytes] = bytes


def decoded_pieces(chunks: Sequence[bytes], codings: str) -> tuple[bytes, ...]:
    """Return `chunks` with the codings of a ``Content-Encoding`` header undone, one piece for each chunk.

    A piece is empty where a chunk held only framing. A body that was cut off gives what was decodable.

    Raises:
        BodyUnreadable: the body contradicts its coding, or no decoder for the coding is installed.

    """
    pieces = tuple(chunks)
    for coding in reversed([name.strip().lower() for name in codings.split(",")]):
        if coding not in ("", "identity"):
            pieces = _undo(pieces, coding)
    return pieces


def _undo(chunks: tuple[bytes, ...], coding: str) -> tuple[bytes, ...]:
    first = next((chunk for chunk in chunks if chunk), b"")
    if not first:
        return chunks
    decoder = _decoder(coding, first)
    try:
        pieces = [decoder.feed(chunk) for chunk in chunks]
        pieces[-1] += decoder.finish()
    except decoder.error as error:
        raise BodyUnreadable(coding, str(error)) from error
    return tuple(pieces)


def _decoder(coding: str, first: bytes) -> _Decoder:
    if coding in ("gzip", "x-gzip"):
        return _inflate(16 + zlib.MAX_WBITS)
    if coding == "deflate":
        # RFC 9110 means zlib's framing; some servers send bare deflate, whose first byte is not zlib's method 8.
        return _inflate(zlib.MAX_WBITS if first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
    if coding == "br":
        brotli = _first_installed(coding, "brotli", "brotlicffi")
        return _Decoder(brotli.Decompressor().process, brotli.error)
    if coding == "zstd":
        zstd = _first_installed(coding, "compression.zstd", "backports.zstd", "zstandard")
        decompressor = zstd.ZstdDecompressor()
        if zstd.__name__ == "zstandard":
            decompressor = decompressor.decompressobj()
        return _Decoder(decompressor.decompress, zstd.ZstdError)
    raise BodyUnreadable(coding, "no decoder for it is known")


def _inflate(window: int) -> _Decoder:
    inflater = zlib.decompressobj(window)
    return _Decoder(inflater.decompress, zlib.error, inflater.flush)


def _first_installed(coding: str, *modules: str) -> Any:
    for name in modules:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise BodyUnreadable(coding, f"none of {', '.join(modules)} is installed")
