"""Events come out of AWS's frames, however the bytes are cut, and a damaged frame never gives one."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from struct import pack
from uuid import UUID
from zlib import crc32

import pytest
import yaml
from botocore.eventstream import EventStreamBuffer, ParserError
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.aws_event_stream import (
    MAX_HEADERS_BYTES,
    MAX_PAYLOAD_BYTES,
    AwsEvent,
    EventStreamParser,
    HeaderValue,
    encode_event,
)
from copyfit_adapters.errors import BrokenFrame

CASSETTES = Path(__file__).parents[2].parent / "shared" / "public_cassettes"

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UUID_1 = UUID("00112233-4455-6677-8899-aabbccddeeff")

TIMES = st.datetimes(timezones=st.just(UTC)).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)
LONGS = st.integers(-(2**63), 2**63 - 1)
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES: st.SearchStrategy[HeaderValue] = st.one_of(
    st.booleans(), st.integers(-200, 200), LONGS, st.binary(max_size=12), WORDS, TIMES, st.uuids()
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
EVENTS = st.builds(AwsEvent, st.dictionaries(NAMES, VALUES, max_size=5), st.binary(max_size=40))
PLACES = st.lists(st.integers(min_value=0), max_size=8)

DELTA = encode_event({":message-type": "event", ":event-type": "delta"}, b'{"text":"Hi"}')


def parse(*pieces: bytes) -> list[AwsEvent]:
    parser = EventStreamParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    parser.close()
    return events


def parse_to_the_break(*pieces: bytes) -> tuple[list[AwsEvent], tuple[str, int] | None]:
    """Return what came before the break, and the break."""
    parser = EventStreamParser()
    events: list[AwsEvent] = []
    try:
        for piece in pieces:
            events += parser.feed(piece)
        parser.close()
    except BrokenFrame as e:
        return events, (e.reason, e.offset)
    return events, None


def in_pieces(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def prelude(total: int, headers: int) -> bytes:
    lengths = pack(">II", total, headers)
    return lengths + pack(">I", crc32(lengths))


def framed(headers: bytes, payload: bytes = b"") -> bytes:
    """Frame header bytes that may be damaged, with right lengths and checksums."""
    checked = prelude(16 + len(headers) + len(payload), len(headers)) + headers + payload
    return checked + pack(">I", crc32(checked))


def as_botocore_says(event: AwsEvent) -> tuple[dict[str, object], bytes]:
    """Give a time as milliseconds and a UUID as its bytes, as botocore does."""

    def plain(value: HeaderValue) -> object:
        if isinstance(value, datetime):
            return (value - EPOCH) // timedelta(milliseconds=1)
        return value.bytes if isinstance(value, UUID) else value

    return {name: plain(value) for name, value in event.headers.items()}, event.payload


def read_by_botocore(data: bytes) -> list[tuple[dict[str, object], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [(message.headers, message.payload) for message in buffer]


@given(st.lists(EVENTS, max_size=4), PLACES)
def test_what_was_written_is_read_however_it_is_cut(events: list[AwsEvent], places: list[int]) -> None:
    data = b"".join(encode_event(event.headers, event.payload) for event in events)
    read = parse(*in_pieces(data, places))
    assert read == events
    assert [[type(value) for value in event.headers.values()] for event in read] == [
        [type(value) for value in event.headers.values()] for event in events
    ]


@given(st.lists(EVENTS, max_size=4))
def test_botocore_reads_in_what_is_written_the_same_events(events: list[AwsEvent]) -> None:
    data = b"".join(encode_event(event.headers, event.payload) for event in events)
    assert read_by_botocore(data) == [as_botocore_says(event) for event in events]


@pytest.mark.skipif(not CASSETTES.is_dir(), reason="the shared recordings are not beside this checkout")
def test_what_bedrock_really_sent_is_read_as_botocore_reads_it_and_written_back_to_the_byte() -> None:
    texts = [path.read_text() for path in CASSETTES.rglob("*.yaml")]
    streams = [
        entry["response"]["body"]["string"]
        for text in texts
        if "application/vnd.amazon.eventstream" in text
        for entry in yaml.safe_load(text)["interactions"]
    ]
    assert streams
    for stream in streams:
        events = parse(stream)
        assert [as_botocore_says(event) for event in events] == read_by_botocore(stream)
        assert {event.message_type for event in events} == {"event"}
        assert b"".join(encode_event(event.headers, event.payload) for event in events) == stream


KINDS: list[tuple[bytes, HeaderValue]] = [
    (b"\0", True),
    (b"\1", False),
    (b"\2\xff", -1),
    (b"\3\x7f\xff", 32767),
    (b"\3\x00\x05", 5),
    (b"\4\x80\0\0\0", -(2**31)),
    (b"\5\x7f" + b"\xff" * 7, 2**63 - 1),
    (b"\6\0\2\xff\0", b"\xff\0"),
    (b"\6\0\0", b""),
    (b"\6\xff\xff" + b"x" * 65535, b"x" * 65535),
    (b"\7\0\2\xc3\xa9", "é"),
    (b"\7\0\0", ""),
    (b"\x08\0\0\0\0\0\0\x03\xe9", EPOCH + timedelta(milliseconds=1001)),
    (b"\x08" + b"\xff" * 8, EPOCH - timedelta(milliseconds=1)),
    (b"\x09\0\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", UUID_1),
]


@pytest.mark.parametrize(("written", "value"), KINDS, ids=[f"{raw[0]} {str(value)[:12]}" for raw, value in KINDS])
def test_every_type_of_header_is_read_as_the_specification_and_botocore_say(
    written: bytes, value: HeaderValue
) -> None:
    data = framed(b"\2\xc3\xa9" + written + b"\1z\0", b"p")
    event = AwsEvent({"é": value, "z": True}, b"p")
    assert parse(data) == [event]
    assert read_by_botocore(data) == [as_botocore_says(event)]


def test_the_headers_say_what_kind_of_message_it_is() -> None:
    (delta,) = parse(DELTA)
    assert (delta.message_type, delta.event_type, delta.exception_type) == ("event", "delta", "")
    thrown = AwsEvent({":message-type": "exception", ":exception-type": "throttlingException"})
    assert (thrown.message_type, thrown.event_type, thrown.exception_type) == (
        "exception",
        "",
        "throttlingException",
    )
    error = AwsEvent({":message-type": "error", ":error-code": "InternalError", ":error-message": "no luck"})
    assert (error.message_type, error.error_code, error.error_message) == ("error", "InternalError", "no luck")
    assert AwsEvent({":message-type": b"event"}).message_type == ""


def test_a_flipped_bit_anywhere_is_caught_and_gives_no_event() -> None:
    for bit in range(8 * len(DELTA)):
        damaged = bytearray(DELTA)
        damaged[bit // 8] ^= 1 << bit % 8
        events, broken = parse_to_the_break(DELTA, bytes(damaged), DELTA)
        assert events == parse(DELTA), bit
        assert broken is not None, bit
        assert broken[1] == len(DELTA), bit


def test_a_flipped_bit_in_the_lengths_is_caught_before_the_rest_comes() -> None:
    for bit in range(8 * 12):
        damaged = bytearray(DELTA[:12])
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BrokenFrame):
            EventStreamParser().feed(bytes(damaged))


@given(st.lists(EVENTS, min_size=1, max_size=3), st.data())
def test_a_damaged_stream_breaks_at_one_place_however_it_is_cut(
    events: list[AwsEvent], data: st.DataObject
) -> None:
    stream = bytearray(b"".join(encode_event(event.headers, event.payload) for event in events))
    stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    read, broken = parse_to_the_break(bytes(stream))
    assert broken is not None
    assert read == events[: len(read)]
    assert broken[1] == sum(len(encode_event(event.headers, event.payload)) for event in read)
    assert parse_to_the_break(*in_pieces(bytes(stream), data.draw(PLACES))) == (read, broken)


@given(st.binary(max_size=60), PLACES)
def test_the_cutting_of_garbage_changes_nothing(data: bytes, places: list[int]) -> None:
    assert parse_to_the_break(*in_pieces(data, places)) == parse_to_the_break(data)


@pytest.mark.parametrize("length", [1, 11, 12, 13, len(DELTA) - 4, len(DELTA) - 1])
def test_a_stream_that_ends_in_a_frame_says_so(length: int) -> None:
    parser = EventStreamParser()
    assert parser.feed(DELTA) == parse(DELTA)
    assert not parser.incomplete
    assert parser.feed(DELTA[:length]) == []
    assert parser.incomplete
    with pytest.raises(BrokenFrame, match=f"ended {length} bytes into it") as caught:
        parser.close()
    assert caught.value.offset == len(DELTA)


def test_events_before_a_broken_frame_come_first_and_every_later_call_raises() -> None:
    parser = EventStreamParser()
    assert parser.feed(DELTA + b"x" * 12) == parse(DELTA)
    for call in (lambda: parser.feed(b""), lambda: parser.feed(DELTA), parser.close):
        with pytest.raises(BrokenFrame) as caught:
            call()
        assert caught.value.offset == len(DELTA)


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        (b"\5ab", "5 bytes announced, 2 left"),
        (b"\1a", "1 bytes announced, 0 left"),
        (b"\1a\4\0\0", "4 bytes announced, 2 left"),
        (b"\1a\7\0", "2 bytes announced, 1 left"),
        (b"\1a\7\0\x09text", "9 bytes announced, 4 left"),
        (b"\1a\x09" + b"x" * 15, "16 bytes announced, 15 left"),
        (b"\1a\x0a", "no header type 10"),
        (b"\0\0", "a name is empty"),
        (b"\1a\0\1a\1", "'a' stands there twice"),
        (b"\1\xff\0", "utf-8"),
        (b"\1a\7\0\1\xff", "utf-8"),
        (b"\1a\x08\x7f" + b"\xff" * 7, "no time between the years"),
    ],
    ids=lambda case: case if isinstance(case, str) else None,
)
def test_damaged_headers_are_refused_though_the_checksums_are_right(headers: bytes, reason: str) -> None:
    with pytest.raises(BrokenFrame, match=reason):
        EventStreamParser().feed(framed(headers))


@pytest.mark.parametrize(
    ("total", "headers"),
    [(0, 0), (15, 0), (16, 1), (20, 2**32 - 1), (MAX_HEADERS_BYTES + 17, MAX_HEADERS_BYTES + 1)],
)
def test_impossible_lengths_are_refused_before_what_they_announce_comes(total: int, headers: int) -> None:
    with pytest.raises(BrokenFrame):
        EventStreamParser().feed(prelude(total, headers))


@pytest.mark.parametrize(
    ("headers", "payload"), [(MAX_HEADERS_BYTES, 0), (0, MAX_PAYLOAD_BYTES)], ids=["headers", "payload"]
)
def test_the_limits_are_those_of_botocore(headers: int, payload: int) -> None:
    largest = prelude(16 + headers + payload, headers)
    assert EventStreamParser().feed(largest) == []
    assert read_by_botocore(largest) == []
    too_large = prelude(17 + headers + payload, headers + bool(headers))
    with pytest.raises(BrokenFrame, match="are more than"):
        EventStreamParser().feed(too_large)
    with pytest.raises(ParserError):
        read_by_botocore(too_large)


@pytest.mark.parametrize(
    "headers",
    [
        {"": "x"},
        {"n" * 256: "x"},
        {"n": "é" * 16384},
        {"n": b"x" * 32768},
        {"n": 2**63},
        {"n": -(2**63) - 1},
        {f"n{i}": "x" * 32767 for i in range(4)},
    ],
    ids=["empty name", "long name", "long text", "long bytes", "large", "small", "many headers"],
)
def test_what_the_format_cannot_hold_is_not_written(headers: dict[str, HeaderValue]) -> None:
    with pytest.raises(ValueError, match=r"must|holds"):
        encode_event(headers)


def test_a_time_without_a_time_zone_is_not_written() -> None:
    with pytest.raises(TypeError):
        encode_event({"n": datetime(2026, 1, 1)})  # noqa: DTZ001


def test_a_payload_past_the_limit_is_not_written() -> None:
    with pytest.raises(ValueError, match="payload"):
        encode_event({}, bytes(MAX_PAYLOAD_BYTES + 1))
