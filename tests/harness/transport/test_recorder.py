"""The recorder against a real loopback server, for both families, sync and async."""

import json
from pathlib import Path
from typing import Any

import pytest

from copyfit_harness.cassettes.matching import Loosening, ignoring
from copyfit_harness.cassettes.store import load_cassette
from copyfit_harness.errors import (
    CassetteEmpty,
    CassetteMismatch,
    CassetteMissing,
    CassetteUnplayed,
    CassetteUnreadable,
    RecorderClosed,
    RecordingStopsHere,
)
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.wire.exchange import EndingKind

# Cut inside a line, inside a JSON text, and inside the two bytes of an é and the four of an emoji.
EDGES = (b'data: {"a":"caf\xc3', b"\xa9 \xf0\x9f", b'\x98\x80"}\n', b"\ndata: [DO", b"NE]\n\n")


def record(client: Any, server: Any, path: Path, body: bytes = b"{}", **options: Any) -> Any:
    with Recorder(path, mode=RecordMode.ALL) as recorder:
        return client.post(recorder.transport(), server.url, body, **options)


def replay(client: Any, server: Any, path: Path, body: bytes = b"{}", **options: Any) -> Any:
    with Recorder(path) as recorder:
        return client.post(recorder.transport(), server.url, body, **options)


def send_and_fail(
    client: Any, recorder: Recorder, url: str, body: bytes = b"{}", error: type[BaseException] = ZeroDivisionError
) -> None:
    with recorder:
        client.post(recorder.transport(), url, body)
        raise error


class TestChunks:
    def test_replay_hands_out_the_chunks_with_the_edges_of_the_network(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES, pause=0.02)
        live = record(client, server, tmp_path / "c.yaml")
        played = replay(client, server, tmp_path / "c.yaml")
        assert live.chunks == list(EDGES)
        assert played.chunks == list(EDGES)
        assert played.status == 200
        assert played.headers["content-type"] == "text/event-stream"
        assert len(server.received) == 1

    def test_chunks_pass_through_live_while_they_are_recorded(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES, pause=0.1)
        live = record(client, server, tmp_path / "c.yaml")
        assert live.arrived[-1] - live.arrived[0] > 0.3

    def test_a_recording_of_one_family_plays_for_the_other(self, client: Any, server: Any, tmp_path: Path) -> None:
        import httpx
        import httpx2

        server.will_say(*EDGES, pause=0.01)
        record(client, server, tmp_path / "c.yaml")
        for family in (httpx, httpx2):
            with (
                Recorder(tmp_path / "c.yaml") as recorder,
                family.Client(transport=recorder.transport()) as other,
                other.stream("POST", server.url, json={}) as response,
            ):
                assert list(response.iter_raw()) == list(EDGES)
                assert isinstance(response, family.Response)

    def test_a_timed_recording_is_played_at_its_own_pace_and_only_if_asked_to(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES, pause=0.05)
        with Recorder(tmp_path / "c.yaml", mode=RecordMode.ALL, timed=True) as recorder:
            client.post(recorder.transport(), server.url)
        with Recorder(tmp_path / "c.yaml", timed=True) as recorder:
            slow = client.post(recorder.transport(), server.url)
        assert slow.chunks == list(EDGES)
        assert slow.arrived[-1] - slow.arrived[0] > 0.15
        fast = replay(client, server, tmp_path / "c.yaml")
        assert fast.arrived[-1] - fast.arrived[0] < 0.05


class TestEndings:
    def test_a_client_that_stops_early_is_recorded_as_such_and_replays_up_to_there(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES, pause=0.02)
        record(client, server, tmp_path / "c.yaml", stop_after=2)
        (exchange,) = load_cassette(tmp_path / "c.yaml").exchanges
        assert exchange.response.ending.kind is EndingKind.CLIENT_STOPPED
        assert exchange.response.chunks == EDGES[:2]
        assert replay(client, server, tmp_path / "c.yaml", stop_after=2).chunks == list(EDGES[:2])

    def test_reading_on_where_the_recording_client_stopped_is_an_error_even_if_swallowed(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES, pause=0.02)
        record(client, server, tmp_path / "c.yaml", stop_after=2)
        with pytest.raises(RecordingStopsHere, match=r"2 chunk\(s\)"):
            replay(client, server, tmp_path / "c.yaml")

    def test_a_response_that_nobody_read_is_recorded_without_chunks(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES)
        record(client, server, tmp_path / "c.yaml", stop_after=0)
        (exchange,) = load_cassette(tmp_path / "c.yaml").exchanges
        assert exchange.response.chunks == ()
        assert exchange.response.ending.kind is EndingKind.CLIENT_STOPPED

    def test_a_server_that_breaks_off_breaks_off_again_after_the_same_chunks(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(*EDGES[:2], pause=0.02, breaks=True)
        live = record(client, server, tmp_path / "c.yaml")
        played = replay(client, server, tmp_path / "c.yaml")
        for answer in (live, played):
            assert answer.chunks == list(EDGES[:2])
            assert type(answer.error) is client.family.RemoteProtocolError
        assert str(played.error) == str(live.error)
        assert "incomplete chunked read" in str(played.error)

    def test_a_refused_connection_is_raised_and_not_recorded(self, client: Any, tmp_path: Path) -> None:
        recorder = Recorder(tmp_path / "c.yaml", mode=RecordMode.ONCE)
        answer = client.post(recorder.transport(), "http://127.0.0.1:1/v1")
        assert type(answer.error) is client.family.ConnectError
        assert recorder.exchanges == ()
        with pytest.raises(CassetteEmpty, match="1 request"):
            recorder.close()
        assert list(tmp_path.iterdir()) == []


class TestMatching:
    def test_equal_requests_are_played_in_recorded_order(self, client: Any, server: Any, tmp_path: Path) -> None:
        for text in (b"one", b"two", b"three"):
            server.will_say(text)
        bodies = (b'{"x":1}', b'{"x":2}', b'{"x":1}')
        with Recorder(tmp_path / "c.yaml", mode=RecordMode.ALL) as recorder:
            assert [client.post(recorder.transport(), server.url, body).body for body in bodies] == [
                b"one",
                b"two",
                b"three",
            ]
        with Recorder(tmp_path / "c.yaml") as recorder:
            # Another order of different requests, and another spelling of the same JSON.
            again = (b'{"x": 2}', b'{"x":1}', b'{ "x" : 1 }')
            assert [client.post(recorder.transport(), server.url, body).body for body in again] == [
                b"two",
                b"one",
                b"three",
            ]

    def test_a_changed_request_fails_with_the_path_that_differs(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        body = {"model": "m", "messages": [{"role": "user", "content": "word " * 400 + "red" + " word" * 400}]}
        record(client, server, tmp_path / "c.yaml", json.dumps(body).encode())
        body["messages"][0]["content"] = body["messages"][0]["content"].replace("red", "blue")  # type: ignore[index]
        with pytest.raises(CassetteMismatch) as caught:
            replay(client, server, tmp_path / "c.yaml", json.dumps(body).encode())
        assert caught.value.paths == ("messages[0].content",)
        assert "word red word" in caught.value.report
        assert "word blue word" in caught.value.report
        assert len(caught.value.report) < 900
        assert len(server.received) == 1

    def test_one_call_more_than_recorded_is_a_mismatch_that_says_so(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        recorder = Recorder(tmp_path / "c.yaml")
        client.post(recorder.transport(), server.url)
        answer = client.post(recorder.transport(), server.url)
        assert isinstance(answer.error, CassetteMismatch)
        with pytest.raises(CassetteMismatch, match="once more"):
            recorder.close()

    def test_a_loosening_lets_one_member_differ_and_changes_nothing_in_the_file(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml", b'{"user":"u-1","x":1}')
        before = (tmp_path / "c.yaml").read_bytes()
        loosening = ignoring("user", reason="the framework draws it at random")
        with Recorder(tmp_path / "c.yaml", loosenings=[loosening]) as recorder:
            assert client.post(recorder.transport(), server.url, b'{"user":"u-2","x":1}').body == b"ok"
        assert (tmp_path / "c.yaml").read_bytes() == before
        with (
            pytest.raises(CassetteMismatch, match="draws it at random"),
            Recorder(tmp_path / "c.yaml", loosenings=[loosening]) as recorder,
        ):
            client.post(recorder.transport(), server.url, b'{"user":"u-2","x":2}')

    def test_exchanges_hold_the_requests_as_they_were_sent(self, client: Any, server: Any, tmp_path: Path) -> None:
        server.will_say(b"ok")
        body = b'{ "key" : "sk-live-abcdefgh12345678" }'
        for mode in (RecordMode.ALL, RecordMode.NONE):
            with Recorder(tmp_path / "c.yaml", mode=mode) as recorder:
                client.post(recorder.transport(), server.url, body)
                (exchange,) = recorder.exchanges
            assert exchange.request.body == body
            assert exchange.request.url == server.url
            assert exchange.response.body == b"ok"
            assert exchange.response.ending.kind is EndingKind.COMPLETE


class TestModes:
    def test_none_without_a_cassette_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CassetteMissing):
            Recorder(tmp_path / "c.yaml")

    def test_once_records_the_first_time_and_plays_the_second(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        for _ in range(2):
            with Recorder(tmp_path / "c.yaml", mode=RecordMode.ONCE) as recorder:
                assert client.post(recorder.transport(), server.url).body == b"ok"
        assert len(server.received) == 1

    def test_new_plays_the_known_and_records_the_rest_behind_it(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"old")
        server.will_say(b"new")
        record(client, server, tmp_path / "c.yaml", b'{"x":1}')
        with Recorder(tmp_path / "c.yaml", mode=RecordMode.NEW) as recorder:
            assert client.post(recorder.transport(), server.url, b'{"x":2}').body == b"new"
            assert client.post(recorder.transport(), server.url, b'{"x":1}').body == b"old"
        recorded = load_cassette(tmp_path / "c.yaml").exchanges
        assert [exchange.response.body for exchange in recorded] == [b"old", b"new"]
        assert len(server.received) == 2

    def test_all_replaces_what_was_there(self, client: Any, server: Any, tmp_path: Path) -> None:
        server.will_say(b"old")
        server.will_say(b"new")
        record(client, server, tmp_path / "c.yaml", b'{"x":1}')
        record(client, server, tmp_path / "c.yaml", b'{"x":2}')
        recorded = load_cassette(tmp_path / "c.yaml").exchanges
        assert [exchange.response.body for exchange in recorded] == [b"new"]

    def test_a_recording_through_which_nothing_came_fails_and_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "c.yaml"
        path.write_text("old")
        with pytest.raises(CassetteEmpty, match="Nothing came through"):
            Recorder(path, mode=RecordMode.ALL).close()
        assert path.read_text() == "old"

    @pytest.mark.parametrize("mode", [RecordMode.NONE, RecordMode.ONCE, RecordMode.NEW])
    def test_a_cassette_that_cannot_be_read_is_never_taken_for_absent(
        self, tmp_path: Path, mode: RecordMode
    ) -> None:
        path = tmp_path / "c.yaml"
        path.write_text("interactions: [")
        with pytest.raises(CassetteUnreadable):
            Recorder(path, mode=mode)
        assert path.read_text() == "interactions: ["
        assert list(tmp_path.iterdir()) == [path]

    def test_a_recorder_that_cannot_open_leaves_no_lock_behind(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        broken = Loosening("broken", "fails", lambda request: 1 // 0)  # type: ignore[arg-type,return-value]
        with pytest.raises(ZeroDivisionError):
            Recorder(tmp_path / "c.yaml", mode=RecordMode.NEW, loosenings=[broken])
        assert list(tmp_path.iterdir()) == [tmp_path / "c.yaml"]

    def test_a_request_after_the_end_is_refused(self, client: Any, server: Any, tmp_path: Path) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        recorder = Recorder(tmp_path / "c.yaml")
        transport = recorder.transport()
        client.post(transport, server.url)
        recorder.close()
        assert isinstance(client.post(transport, server.url).error, RecorderClosed)


class TestTheEndOfARun:
    def test_an_exchange_that_was_never_asked_for_fails_and_is_named(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(CassetteUnplayed) as caught:
            Recorder(tmp_path / "c.yaml").close()
        assert caught.value.positions == (0,)
        assert "/v1/chat" in str(caught.value)

    def test_unplayed_exchanges_do_not_hide_the_exception_that_ended_the_run(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(ZeroDivisionError), Recorder(tmp_path / "c.yaml"):
            raise ZeroDivisionError

    def test_a_mismatch_that_the_client_swallowed_is_raised_at_the_end(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(CassetteMismatch) as caught, Recorder(tmp_path / "c.yaml") as recorder:
            assert client.post(recorder.transport(), server.url, b'{"other":1}').error is not None
        assert caught.value.paths == ("other",)

    def test_a_mismatch_takes_the_place_of_an_error_that_wraps_it(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(CassetteMismatch) as caught:
            self.wrap_what_goes_wrong(client, Recorder(tmp_path / "c.yaml"), server.url)
        assert caught.value.paths == ("other",)
        assert caught.value.__cause__ is None

    def wrap_what_goes_wrong(self, client: Any, recorder: Recorder, url: str) -> None:
        with recorder:
            answer = client.post(recorder.transport(), url, b'{"other":1}')
            raise ConnectionError("Connection error.") from answer.error

    def test_a_mismatch_that_was_swallowed_is_chained_to_the_failure_that_came_of_it(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(CassetteMismatch) as caught:
            send_and_fail(client, Recorder(tmp_path / "c.yaml"), server.url, b'{"other":1}')
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    @pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_an_interruption_goes_before_a_mismatch(
        self, client: Any, server: Any, tmp_path: Path, interruption: type[BaseException]
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        with pytest.raises(interruption):
            send_and_fail(client, Recorder(tmp_path / "c.yaml"), server.url, b'{"other":1}', interruption)

    def test_closing_twice_checks_once(self, client: Any, server: Any, tmp_path: Path) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        recorder = Recorder(tmp_path / "c.yaml")
        with pytest.raises(CassetteUnplayed):
            recorder.close()
        recorder.close()

    def test_an_interrupted_recording_does_not_replace_a_cassette(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        record(client, server, tmp_path / "c.yaml")
        before = (tmp_path / "c.yaml").read_bytes()
        recorder = Recorder(tmp_path / "c.yaml", mode=RecordMode.ALL)
        with pytest.raises(KeyboardInterrupt) as caught:
            send_and_fail(client, recorder, server.url, b'{"new":1}', KeyboardInterrupt)
        assert (tmp_path / "c.yaml").read_bytes() == before
        assert "was left as it was" in caught.value.__notes__[0]

    def test_what_was_recorded_is_saved_though_the_run_failed(
        self, client: Any, server: Any, tmp_path: Path
    ) -> None:
        server.will_say(b"ok")
        recorder = Recorder(tmp_path / "c.yaml", mode=RecordMode.ONCE, description="the test's own server")
        with pytest.raises(ZeroDivisionError):
            send_and_fail(client, recorder, server.url)
        cassette = load_cassette(tmp_path / "c.yaml")
        assert len(cassette.exchanges) == 1
        assert cassette.description == "the test's own server"
