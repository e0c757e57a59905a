"""What is said when no recording answers."""

import copy
import json
from pathlib import Path
from typing import Any

from copyfit_harness.cassettes.matching import ignoring
from copyfit_harness.cassettes.mismatch import mismatch, request_differences
from copyfit_harness.wire.exchange import WireRequest

PATH = Path("turn.yaml")
BASE: dict[str, Any] = {
    "model": "m-1",
    "messages": [
        {"role": "system", "content": "You are careful. " * 100},
        {"role": "user", "content": "Which city is the capital?"},
        {"role": "assistant", "content": "Of which country?"},
    ],
    "max_tokens": 256,
}


def post(value: Any, *, url: str = "https://h/v1?a=1", media: str = "application/json") -> WireRequest:
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return WireRequest("POST", url, (("content-type", media),), body)


def varied(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(BASE) | changes


def test_the_report_names_the_nearest_exchange_and_each_path_that_differs() -> None:
    sent = varied(max_tokens=256.0, temperature=0)
    sent["messages"][0]["content"] = BASE["messages"][0]["content"].replace("careful", "careless", 1)
    sent["messages"].insert(2, {"role": "user", "content": "Quick!"})
    recorded = [post({"model": "other"}), post(BASE), post({"messages": []})]
    error = mismatch(PATH, post(sent), recorded, unplayed=(1, 2))
    assert error.path == PATH
    assert error.paths == ("messages[0].content", "messages[2]", "max_tokens", "temperature")
    assert error.report.splitlines() == [
        f"No recorded exchange of turn.yaml is left for POST https://h/v1 ({len(post(sent).body)} bytes).",
        "Nearest is exchange 2 of 3, not played yet; 4 differences:",
        "~ messages[0].content: differs from code point 12 on (1700 against 1701 code points)",
        "    recorded: You are careful. You are careful. You are careful. Y…",
        "    sent:     You are careless. You are careful. You are careful. …",
        '+ messages[2]: only in sent: {"role": "user", "content": "Quick!"}',
        "~ max_tokens: is a number with a fraction where an integer was expected",
        "    recorded: 256",
        "    sent:     256.0",
        "+ temperature: only in sent: 0",
        "If the change is meant, record the cassette again (RecordMode.ALL, or --copyfit-record=all); to keep "
        "what is there and add this request, use RecordMode.NEW.",
    ]


def test_the_nearest_is_found_among_many_that_differ_in_one_text_each() -> None:
    recorded = [post(varied(messages=[{"role": "user", "content": f"Tell me of city {n}."}])) for n in range(300)]
    sent = post(varied(messages=[{"role": "user", "content": "Tell me of  city 217."}]))
    error = mismatch(PATH, sent, recorded)
    assert "Nearest is exchange 218 of 300, already played; 1 difference:" in error.report


def test_of_two_equally_near_the_one_that_was_not_played_is_shown() -> None:
    error = mismatch(PATH, post({"a": 3}), [post({"a": 1}), post({"a": 2})], unplayed=(1,))
    assert "Nearest is exchange 2 of 2, not played yet" in error.report


def test_a_request_that_comes_once_too_often_is_called_that() -> None:
    error = mismatch(PATH, post(BASE), [post(BASE), post({}), post(BASE)], same=(0, 2), unplayed=(1,))
    assert "recorded as exchange 1, 3 of 3, and this run sends it once more" in error.report
    assert error.paths == ()


def test_an_empty_cassette_is_called_that() -> None:
    assert "holds no exchange at all" in mismatch(PATH, post(BASE), []).report


def test_the_loosenings_in_force_are_listed_with_their_reasons() -> None:
    loosening = ignoring("user", reason="drawn at random")
    error = mismatch(PATH, post({"a": 1}), [post({"a": 2})], loosenings=(loosening,))
    assert "Compared with a loosening: ignoring user (drawn at random)." in error.report


def test_a_report_of_huge_bodies_stays_short_and_lists_all_paths_in_its_attribute() -> None:
    one = {f"k{number}": "x" * 5000 + str(number) for number in range(100)}
    other = {f"k{number}": "x" * 5000 + str(number + 1) for number in range(100)}
    error = mismatch(PATH, post(one), [post(other)])
    assert len(error.paths) == 100
    assert "… and 88 more" in error.report
    assert len(error.report) < 5000


def test_what_has_no_path_in_the_body_has_a_name_with_an_at_sign() -> None:
    recorded = post(b"plain", media="text/plain")
    sent = WireRequest("PUT", "https://h/v1?a=2", (("content-type", "application/json"),), b"[]")
    paths = [found.path for found in request_differences(recorded, sent)]
    assert paths == ["@method", "@url", "@content-type", "@body"]
    assert request_differences(recorded, recorded) == ()


def test_texts_and_bytes_are_compared_as_such() -> None:
    (text,) = request_differences(post(b"one", media="text/plain"), post(b"two", media="text/plain"))
    assert (text.path, text.expected, text.actual) == ("@body", "one", "two")
    (data,) = request_differences(post(b"\xff1", media="x/y"), post(b"\xff2", media="x/y"))
    assert (data.path, data.expected, data.actual) == ("@body", b"\xff1", b"\xff2")


def test_json_that_names_a_key_twice_is_compared_as_text() -> None:
    (found,) = request_differences(post(b'{"a":1,"a":2}'), post(b'{"a":1,"a":3}'))
    assert found.path == "@body"
