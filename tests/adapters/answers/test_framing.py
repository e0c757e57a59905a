"""Each framing gives the same frames however its bytes are cut, and tells its streams from other bodies."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit_adapters.answers.framing import AwsFraming, Frame, Framing, LineFraming, SseFraming
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.errors import BrokenFrame, OversizedEvent

WHOLE = b'{"choices": []}'


def aws(payload: bytes, **headers: str) -> bytes:
    return encode_event({f":{name.replace('_', '-')}": value for name, value in headers.items()}, payload)


DELTA = aws(b'{"text":"Hi"}', message_type="event", event_type="contentBlockDelta")
SSE = 'data: {"a": "é"}\r\n\r\nevent: error\ndata: one\ndata: two\n\n: ping\n\ndata: [DONE]\n\n'.encode()
LINES = '{"a": "é"}\n\r\n{"b": 1}\r\nnot json\n'.encode()
AWS = DELTA + aws(b"{}", message_type="exception", exception_type="throttlingException")

STREAMS: list[tuple[Callable[[], Framing], bytes, list[Frame]]] = [
    (
        SseFraming,
        SSE,
        [Frame('{"a": "é"}', "message"), Frame("one\ntwo", "error", is_error=True), Frame("[DONE]", "message")],
    ),
    (LineFraming, LINES, [Frame('{"a": "é"}'), Frame('{"b": 1}'), Frame("not json")]),
    (
        AwsFraming,
        AWS,
        [
            Frame('{"text":"Hi"}', "contentBlockDelta"),
            Frame('{"code": "throttlingException", "status": 429}', "throttlingException", is_error=True),
        ],
    ),
]
EACH = pytest.mark.parametrize(("framing", "data", "frames"), STREAMS, ids=["sse", "lines", "aws"])


@EACH
def test_whole_frames_come_at_once(framing: Callable[[], Framing], data: bytes, frames: list[Frame]) -> None:
    open_framing = framing()
    assert open_framing.feed(data) == frames
    assert open_framing.close() == []


@EACH
@given(places=st.lists(st.integers(0, 400), max_size=8))
def test_bytes_cut_anywhere_give_the_same_frames(
    framing: Callable[[], Framing], data: bytes, frames: list[Frame], places: list[int]
) -> None:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    open_framing = framing()
    cut = [frame for start, end in pairwise(edges) for frame in open_framing.feed(data[start:end])]
    assert [*cut, *open_framing.close()] == frames


@EACH
def test_a_frame_is_given_out_when_its_last_byte_comes(
    framing: Callable[[], Framing], data: bytes, frames: list[Frame]
) -> None:
    open_framing = framing()
    assert open_framing.feed(b"") == []
    assert [frame for byte in data[:-1] for frame in open_framing.feed(bytes([byte]))] == frames[:-1]
    assert open_framing.feed(data[-1:]) == frames[-1:]


@pytest.mark.parametrize(
    ("framing", "cut", "left"),
    [
        (SseFraming, b'data: {"a": 1}', [Frame('{"a": 1}', "message")]),
        (SseFraming, b"event: error\ndata: so far\n", [Frame("so far", "error", is_error=True)]),
        (SseFraming, b": ping", []),
        (LineFraming, b'{"a": 1}', [Frame('{"a": 1}')]),
        (LineFraming, b'{"a":', [Frame('{"a":')]),
        (LineFraming, b"  \r", []),
        (AwsFraming, DELTA[:-1], []),
    ],
)
def test_what_the_end_cut_off_is_given_out_where_it_can_be_read(
    framing: Callable[[], Framing], cut: bytes, left: list[Frame]
) -> None:
    open_framing = framing()
    assert open_framing.feed(cut) == []
    assert open_framing.close() == left


@pytest.mark.parametrize(
    "head", [b"d", b"data: {", b"event: x", b": ping", b"id: 1", b"retry: 9", b"\xef\xbb\xbf"]
)
def test_server_sent_events_begin_with_a_field_a_comment_or_a_mark(head: bytes) -> None:
    assert SseFraming().begins(head)


@pytest.mark.parametrize("body", [WHOLE, b"[]", b"<html>", b"ERROR: no", b"[DONE]"])
def test_a_whole_body_begins_as_no_server_sent_events(body: bytes) -> None:
    assert not SseFraming().begins(body)


@given(st.integers(0, len(DELTA)))
def test_every_aws_stream_begins_as_one_and_no_text_does(length: int) -> None:
    assert AwsFraming().begins(DELTA[: max(length, 1)])
    assert not AwsFraming().begins(WHOLE)
    assert LineFraming().begins(WHOLE)


@pytest.mark.parametrize("pieces", [[WHOLE], [b"", b"{", WHOLE[1:]], [b"<html>" * 9]])
def test_a_body_that_is_no_aws_stream_gives_no_frames_and_no_error(pieces: list[bytes]) -> None:
    framing = AwsFraming()
    assert [frame for piece in pieces for frame in framing.feed(piece)] == []
    assert framing.close() == []


@pytest.mark.parametrize(
    ("payload", "headers", "said"),
    [
        (
            b'{"message":"Too many"}',
            {"exception_type": "throttlingException"},
            {"code": "throttlingException", "status": 429, "message": "Too many"},
        ),
        (b"plain words", {"exception_type": "e"}, {"code": "e", "message": "plain words"}),
        (b'["a list"]', {"exception_type": "e"}, {"code": "e", "message": '["a list"]'}),
        (
            b"",
            {"error_code": "E1", "error_message": "it broke"},
            {"code": "E1", "status": 500, "message": "it broke"},
        ),
        (b'{"code":"own","message":"m"}', {"exception_type": "e"}, {"code": "own", "message": "m"}),
        (
            b'{"message":"m","originalMessage":"too long"}',
            {"exception_type": "e"},
            {"code": "e", "message": "m", "originalMessage": "too long", "details": "too long"},
        ),
    ],
    ids=["object", "words", "list", "error", "a code of its own", "the model's own words"],
)
def test_an_aws_exception_is_an_error_that_names_its_type(
    payload: bytes, headers: dict[str, str], said: dict[str, Any]
) -> None:
    kind = "exception" if "exception_type" in headers else "error"
    (frame,) = AwsFraming().feed(aws(payload, message_type=kind, **headers))
    assert frame.is_error
    assert frame.kind == (headers.get("exception_type") or headers["error_code"])
    assert json.loads(frame.data) == said


@pytest.mark.parametrize("stream", ["ConverseStreamOutput", "ResponseStream"])
def test_each_exception_that_a_stream_of_bedrock_may_hold_has_its_status(stream: str) -> None:
    import botocore.session

    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    members = service.shape_for(stream).members
    exceptions = {name: member for name, member in members.items() if member.metadata.get("exception")}
    assert len(exceptions) >= 5
    for name, member in exceptions.items():
        (frame,) = AwsFraming().feed(aws(b"{}", message_type="exception", exception_type=name))
        assert json.loads(frame.data)["status"] == member.metadata["error"]["httpStatusCode"]


def test_a_damaged_aws_frame_is_told_after_what_came_before_it() -> None:
    framing = AwsFraming()
    damaged = DELTA[:-1] + bytes([DELTA[-1] ^ 1])
    assert len(framing.feed(DELTA + damaged)) == 1
    with pytest.raises(BrokenFrame):
        framing.feed(b"")


@pytest.mark.parametrize("framing", [SseFraming, LineFraming])
def test_a_frame_without_end_is_refused(framing: Callable[[], Framing]) -> None:
    open_framing = framing()
    for _ in range(16):
        assert open_framing.feed(b"x" * 1024 * 1024) == []
    with pytest.raises(OversizedEvent):
        open_framing.feed(b"x")


@pytest.mark.parametrize("framing", [SseFraming, LineFraming])
def test_bytes_that_are_no_utf_8_stay_one_frame(framing: Callable[[], Framing]) -> None:
    (frame,) = framing().feed(b"data: \xff\n\n")
    assert "\ufffd" in frame.data
