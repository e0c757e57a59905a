"""How a request finds its recording."""

import gzip
import json
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from copyfit_harness.cassettes.matching import Loosening, RequestIndex, ignoring
from copyfit_harness.wire.exchange import WireRequest
from copyfit_harness.wire.redact import storable_request
from copyfit_harness.wire.secrets import DEFAULT_REDACTION


def post(value: Any, *, url: str = "https://h/v1", **headers: str) -> WireRequest:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return WireRequest("POST", url, (("content-type", "application/json"), *headers.items()), body)


def index(*requests: WireRequest, loosenings: tuple[Loosening, ...] = ()) -> RequestIndex:
    return RequestIndex(requests, redaction=DEFAULT_REDACTION, loosenings=loosenings)


def test_a_request_is_found_by_method_url_and_canonical_body() -> None:
    recorded = index(post({"a": 1, "b": 2}), post({"a": 1}))
    assert recorded.take(post(b'{ "b": 2, "a": 1 }')) == 0
    assert recorded.take(post({"a": 1.0})) is None
    assert recorded.take(post({"a": 1}, url="https://h/v2")) is None
    assert recorded.take(replace(post({"a": 1}), method="PUT")) is None
    assert recorded.take(post({"a": 1}, other="header")) == 1


def test_a_repeat_is_played_in_recorded_order_however_it_is_spelled() -> None:
    recorded = index(post(b'{"a":1}'), post(b'{"b":1}'), post(b'{ "a": 1}'), post(b'{"a":1}'))
    assert [recorded.take(post(b'{ "a": 1}')) for _ in range(4)] == [0, 2, 3, None]
    assert recorded.unplayed() == (1,)
    assert recorded.recorded(post({"a": 1})) == (0, 2, 3)


def test_a_request_matches_the_recording_that_was_cleaned_of_its_secrets() -> None:
    sent = post({"api_key": "mine", "q": 1}, url="https://h/v1?key=mine")
    recorded = index(storable_request(sent, DEFAULT_REDACTION))
    assert recorded.take(post({"api_key": "another", "q": 1}, url="https://h/v1?key=theirs")) == 0


def test_a_recording_under_older_rules_still_matches() -> None:
    sent = post({"note": "sk-proj-abcdefgh0123456789"})
    assert index(sent).take(sent) == 0


def test_a_compressed_request_matches_its_text() -> None:
    sent = replace(post(gzip.compress(b'{"a":1}')), headers=(*post({}).headers, ("content-encoding", "gzip")))
    assert index(post({"a": 1})).take(sent) == 0


def test_a_loosening_is_applied_to_both_sides() -> None:
    loosening = ignoring("metadata.id", reason="drawn at random")
    recorded = index(post({"metadata": {"id": 1}, "q": 1}), loosenings=(loosening,))
    assert recorded.take(post({"metadata": {"id": 2}, "q": 2})) is None
    assert recorded.take(post({"metadata": {"id": 2}, "q": 1})) == 0


def test_a_loosening_may_look_at_headers() -> None:
    def tenant_into_url(request: WireRequest) -> WireRequest:
        return replace(request, url=request.url + dict(request.headers)["host"])

    loosening = Loosening("tenant", "the tenant decides", tenant_into_url)
    recorded = index(post({}, host="a"), loosenings=(loosening,))
    assert recorded.take(post({}, host="b")) is None
    assert recorded.take(post({}, host="a")) == 0


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a", {"m": [{"id": 1, "x": 1}, {"id": 2}], "k.k": 3}),
        ("m[*].id", {"a": 0, "m": [{"x": 1}, {}], "k.k": 3}),
        ("m[1]", {"a": 0, "m": [{"id": 1, "x": 1}], "k.k": 3}),
        ("m[*]", {"a": 0, "m": [], "k.k": 3}),
        ("m[9].id", {"a": 0, "m": [{"id": 1, "x": 1}, {"id": 2}], "k.k": 3}),
        ('["k.k"]', {"a": 0, "m": [{"id": 1, "x": 1}, {"id": 2}]}),
        ("a.b.c", {"a": 0, "m": [{"id": 1, "x": 1}, {"id": 2}], "k.k": 3}),
        ("nothing", {"a": 0, "m": [{"id": 1, "x": 1}, {"id": 2}], "k.k": 3}),
    ],
)
def test_ignoring_takes_away_what_the_path_names(path: str, left: Any) -> None:
    value = {"a": 0, "m": [{"id": 1, "x": 1}, {"id": 2}], "k.k": 3}
    loosened = ignoring(path, reason="r").normalize(post(value))
    assert json.loads(loosened.body) == left


def test_ignoring_leaves_a_body_alone_that_is_not_json() -> None:
    text = WireRequest("POST", "https://h/", (("content-type", "text/plain"),), b"a=1")
    assert ignoring("a", reason="r").normalize(text) == text


@pytest.mark.parametrize("path", ["", "a[", "a[x]", "[-1]"])
def test_a_malformed_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        ignoring(path, reason="r")


@pytest.mark.parametrize(("name", "reason"), [("", "r"), ("n", " ")])
def test_a_loosening_without_a_name_or_a_reason_is_refused(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match="needs a name and a reason"):
        Loosening(name, reason, lambda request: request)


def test_threads_never_take_the_same_exchange_twice() -> None:
    recorded = index(*(post({"n": number % 5}) for number in range(500)))
    taken: Counter[int | None] = Counter()

    def take_all() -> None:
        mine = [recorded.take(post({"n": number % 5})) for number in range(125)]
        taken.update(mine)

    threads = [threading.Thread(target=take_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == Counter(range(500))
    assert recorded.unplayed() == ()


def test_the_cost_of_a_look_up_does_not_grow_with_the_cassette() -> None:
    def seconds_for(size: int) -> float:
        requests = [post({"n": number, "text": "word " * 100}) for number in range(size)]
        recorded = index(*requests)
        best = 1.0
        for start in range(0, 100, 20):
            began = time.perf_counter()
            for request in requests[start : start + 20]:
                recorded.take(request)
            best = min(best, time.perf_counter() - began)
        return best

    assert seconds_for(2000) < 5 * seconds_for(100)
