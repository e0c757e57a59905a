"""Events of the AWS binary event stream, out of bytes that arrive in any pieces, and back into bytes.

Follows the Amazon Event Stream Specification of Smithy 2.0 (`application/vnd.amazon.eventstream`). The integers of
a frame are big-endian; it holds:

    total length    4 bytes, of the whole frame
    headers length  4 bytes
    checksum        4 bytes, CRC32 of the 8 bytes before
    headers         name length (1 byte), name, type (1 byte), value; one after another
    payload
    checksum        4 bytes, CRC32 of all the bytes of the frame before
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from struct import Struct
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias
from uuid import UUID
from zlib import crc32

from copyfit_adapters.errors import BrokenFrame

HeaderValue: TypeAlias = bool | int | bytes | str | datetime | UUID
"""What a header may hold; a `datetime` has a time zone and counts in whole milliseconds."""

MAX_HEADERS_BYTES = 128 * 1024
"""Bytes; the specification's limit. It binds services only; like botocore, the parser holds them to it."""

MAX_PAYLOAD_BYTES = 24 * 1024 * 1024
"""Bytes; as `MAX_HEADERS_BYTES`."""

MAX_NAME_BYTES = 255
MAX_VALUE_BYTES = 2**15 - 1
"""Bytes of a text or of raw bytes; the specification's limit, kept in writing. Any length that comes is read."""

_PRELUDE = Struct(">III")
_CHECKED_PRELUDE = Struct(">II")
_CHECKSUM = Struct(">I")
_VALUE_LENGTH = Struct(">H")
_LONG = Struct(">q")
_OVERHEAD: Final = _PRELUDE.size + _CHECKSUM.size

_TRUE, _FALSE, _BYTES, _TEXT, _TIME, _UUID = 0, 1, 6, 7, 8, 9
_INTEGERS: Final = MappingProxyType({2: Struct(">b"), 3: Struct(">h"), 4: Struct(">i"), 5: _LONG})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class AwsEvent:
    """One frame: its headers by name and its payload.

    A header that its kind of message does not have, or that is no text, reads as the empty text.
    """

    headers: Mapping[str, HeaderValue]
    payload: bytes = b""

    @property
    def message_type(self) -> str:
        """The kind of message: `event`, `exception` (a failure that the service's model names) or `error`."""
        return self._text(":message-type")

    @property
    def event_type(self) -> str:
        """The name of an `event`, such as `contentBlockDelta`."""
        return self._text(":event-type")

    @property
    def exception_type(self) -> str:
        """The name of an `exception`, such as `throttlingException`; its payload says more."""
        return self._text(":exception-type")

    @property
    def error_code(self) -> str:
        """The name of an `error`."""
        return self._text(":error-code")

    @property
    def error_message(self) -> str:
        """What an `error` says to a reader."""
        return self._text(":error-message")

    def _text(self, name: str) -> str:
        value = self.headers.get(name)
        return value if isinstance(value, str) else ""


class EventStreamParser:
    """Turns the bytes of an AWS event stream into events; feed it pieces cut anywhere, then close it.

    An event is given out when its whole frame has come and both checksums are right. No memory is taken for a
    frame before its bytes come. A broken frame ends the stream, as the specification asks: from then on every call
    raises.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._offset = 0

    @property
    def incomplete(self) -> bool:
        """Whether bytes have come that are no event yet; at the end of the stream, they never will be."""
        return bool(self._data)

    def feed(self, data: bytes) -> list[AwsEvent]:
        """Take the next bytes and return the events that they complete, in order.

        Events that came before a broken frame are given out first; the next call raises.

        Raises:
            BrokenFrame: the frame that comes next is damaged.

        """
        self._data += data
        events: list[AwsEvent] = []
        try:
            while (event := self._next()) is not None:
                events.append(event)
        except BrokenFrame:
            if not events:
                raise
        return events

    def close(self) -> None:
        """Check that the stream ended where a frame ends.

        Raises:
            BrokenFrame: it ended inside a frame, or the frame that comes next is damaged.

        """
        self._next()
        if self.incomplete:
            self._refuse(f"the stream ended {len(self._data)} bytes into it")

    def _next(self) -> AwsEvent | None:
        if len(self._data) < _PRELUDE.size:
            return None
        total, headers_length, checksum = _PRELUDE.unpack_from(self._data)
        self._check_prelude(total, headers_length, checksum)
        if len(self._data) < total:
            return None
        frame = bytes(self._data[:total])
        end = total - _CHECKSUM.size
        if _CHECKSUM.unpack_from(frame, end)[0] != crc32(frame[:end]):
            self._refuse("its checksum is wrong")
        headers_end = _PRELUDE.size + headers_length
        try:
            headers = _read_headers(frame[_PRELUDE.size : headers_end])
        except ValueError as e:
            raise BrokenFrame(f"its headers are damaged ({e})", self._offset) from e
        del self._data[:total]
        self._offset += total
        return AwsEvent(headers, frame[headers_end:end])

    def _check_prelude(self, total: int, headers_length: int, checksum: int) -> None:
        if checksum != crc32(self._data[: _CHECKED_PRELUDE.size]):
            self._refuse("the checksum of its lengths is wrong")
        payload_length = total - headers_length - _OVERHEAD
        if payload_length < 0:
            self._refuse(f"{total} bytes have no room for {headers_length} bytes of headers")
        if headers_length > MAX_HEADERS_BYTES:
            self._refuse(f"{headers_length} bytes of headers are more than {MAX_HEADERS_BYTES}")
        if payload_length > MAX_PAYLOAD_BYTES:
            self._refuse(f"{payload_length} bytes of payload are more than {MAX_PAYLOAD_BYTES}")

    def _refuse(self, reason: str) -> NoReturn:
        raise BrokenFrame(reason, self._offset)


def encode_event(headers: Mapping[str, HeaderValue], payload: bytes = b"") -> bytes:
    """Write one frame: what `EventStreamParser` reads back as an event with these headers and this payload.

    An integer takes the shortest type that holds it.

    Raises:
        ValueError: a header, all the headers, or the payload are longer or larger than the format allows.
        TypeError: a time has no time zone.

    """
    written = b"".join(_write_name(name) + _write_value(name, value) for name, value in headers.items())
    if len(written) > MAX_HEADERS_BYTES:
        raise ValueError(f"The headers take {len(written)} bytes; a frame holds {MAX_HEADERS_BYTES}.")
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"The payload takes {len(payload)} bytes; a frame holds {MAX_PAYLOAD_BYTES}.")
    lengths = _CHECKED_PRELUDE.pack(len(written) + len(payload) + _OVERHEAD, len(written))
    checked = lengths + _CHECKSUM.pack(crc32(lengths)) + written + payload
    return checked + _CHECKSUM.pack(crc32(checked))


class _HeaderBytes:
    """The bytes of a frame's headers, taken from the front; asking for more than there are raises `ValueError`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, length: int) -> bytes:
        taken = self._data[self._at : self._at + length]
        if len(taken) < length:
            raise ValueError(f"{length} bytes announced, {len(taken)} left")
        self._at += length
        return taken

    def number(self, form: Struct) -> int:
        value: int = form.unpack(self.take(form.size))[0]
        return value


def _read_headers(data: bytes) -> Mapping[str, HeaderValue]:
    headers: dict[str, HeaderValue] = {}
    left = _HeaderBytes(data)
    while left:
        name = left.take(left.take(1)[0]).decode()
        if not name or name in headers:
            raise ValueError(f"{name!r} stands there twice" if name else "a name is empty")
        headers[name] = _read_value(left)
    return MappingProxyType(headers)


def _read_value(left: _HeaderBytes) -> HeaderValue:
    kind = left.take(1)[0]
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE
    if kind in _INTEGERS:
        return left.number(_INTEGERS[kind])
    if kind == _BYTES:
        return left.take(left.number(_VALUE_LENGTH))
    if kind == _TEXT:
        return left.take(left.number(_VALUE_LENGTH)).decode()
    if kind == _TIME:
        return _time(left.number(_LONG))
    if kind == _UUID:
        return UUID(bytes=left.take(16))
    raise ValueError(f"there is no header type {kind}")


def _time(milliseconds: int) -> datetime:
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError as e:
        raise ValueError(f"{milliseconds} milliseconds are no time between the years 1 and 9999") from e


def _write_name(name: str) -> bytes:
    raw = name.encode()
    if not 0 < len(raw) <= MAX_NAME_BYTES:
        raise ValueError(f"The header name {name!r} takes {len(raw)} bytes; it must take 1 to {MAX_NAME_BYTES}.")
    return bytes([len(raw)]) + raw


def _write_value(name: str, value: HeaderValue) -> bytes:
    match value:
        case bool():
            return bytes([_TRUE if value else _FALSE])
        case int():
            return _write_integer(name, value)
        case datetime():
            return bytes([_TIME]) + _LONG.pack((value - _EPOCH) // _MILLISECOND)
        case UUID():
            return bytes([_UUID]) + value.bytes
        case bytes() | str():
            kind, raw = (_TEXT, value.encode()) if isinstance(value, str) else (_BYTES, value)
    if len(raw) > MAX_VALUE_BYTES:
        raise ValueError(f"The header {name!r} takes {len(raw)} bytes; it must take {MAX_VALUE_BYTES} or fewer.")
    return bytes([kind]) + _VALUE_LENGTH.pack(len(raw)) + raw


def _write_integer(name: str, value: int) -> bytes:
    for kind, form in _INTEGERS.items():
        if value.bit_length() < 8 * form.size or value == -(1 << (8 * form.size - 1)):
            return bytes([kind]) + form.pack(value)
    raise ValueError(f"The header {name!r} holds {value}; it must fit in 64 bits with a sign.")
