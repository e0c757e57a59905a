"""Sending works over either HTTP family, retries what may pass, and never hides or repeats what must not be."""

import importlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from copyfit.errors import AuthFailed, BadRequest, ContextOverflow, RateLimited, SettingsError, Unavailable
from copyfit_adapters.http import HttpSender, Timeouts
from copyfit_adapters.overflow.refusal import Asked

URL = "https://acme.test/v1/chat/completions"
pytestmark = pytest.mark.anyio


@pytest.fixture(params=["httpx", "httpx2"])
def family(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


class Server:
    """Answers from a script of responses and exceptions, and keeps what it was asked and how long one waited."""

    def __init__(self, family: Any, *script: Any) -> None:
        self.family = family
        self.script = list(script)
        self.requests: list[Any] = []
        self.waits: list[float] = []

    async def __call__(self, request: Any) -> Any:
        self.requests.append(request)
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def sender(self, **options: Any) -> HttpSender:
        client = self.family.AsyncClient(transport=self.family.MockTransport(self))
        asked = Asked(provider="acme", model="m1", secrets=("hunter2-hunter2",))
        return HttpSender(asked, http=client, sleep=self.sleep, **options)


def body_stream(family: Any, produce: Callable[[], AsyncIterator[bytes]]) -> Any:
    """Return a response stream of `family` that yields from `produce` and remembers being closed."""

    class Body(family.AsyncByteStream):  # type: ignore[misc]
        closed = False

        def __aiter__(self) -> AsyncIterator[bytes]:
            return produce()

        async def aclose(self) -> None:
            self.closed = True

    return Body()


async def test_a_good_answer_comes_back_whole(family: Any) -> None:
    server = Server(family, family.Response(200, headers={"X-Id": "7"}, content=b"fine"))
    reply = await server.sender().post(URL, {"authorization": "Bearer k"}, b"\xff body")
    assert (reply.status, reply.headers["x-id"], reply.body) == (200, "7", b"fine")
    assert server.requests[0].read() == b"\xff body"
    assert server.requests[0].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (429, {"retry-after": "7"}, [7.0, 7.0]),
        (503, {"retry-after-ms": "250"}, [0.25, 0.25]),
        (500, {}, [0.5, 1.0]),
        (429, {}, [0.5, 1.0]),
    ],
)
async def test_what_may_pass_is_sent_again_after_the_wait_that_was_asked_for(
    family: Any, status: int, headers: dict[str, str], waits: list[float]
) -> None:
    refused = [family.Response(status, headers=headers) for _ in range(2)]
    server = Server(family, *refused, family.Response(200, content=b"at last"))
    assert (await server.sender().post(URL, {}, b"x")).body == b"at last"
    assert server.waits == waits
    assert [request.read() for request in server.requests] == [b"x"] * 3


async def test_after_the_last_try_the_error_is_raised(family: Any) -> None:
    server = Server(family, *(family.Response(429, headers={"retry-after": "1"}) for _ in range(3)))
    with pytest.raises(RateLimited) as caught:
        await server.sender().post(URL, {}, b"x")
    assert caught.value.retry_after == 1.0
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, b'{"error":{"code":500,"message":"Context size has been exceeded."}}', ContextOverflow),
        (429, b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}', RateLimited),
        (400, b'{"error":{"message":"no"}}', BadRequest),
        (401, b"", AuthFailed),
        (501, b"", Unavailable),
        (301, b"", BadRequest),
    ],
    ids=["overflow", "quota", "bad request", "key", "not implemented", "redirect"],
)
async def test_what_another_try_cannot_change_is_sent_once(
    family: Any, status: int, body: bytes, error: type[Exception]
) -> None:
    server = Server(family, family.Response(status, content=body))
    with pytest.raises(error):
        await server.sender().post(URL, {}, b"x")
    assert (len(server.requests), server.waits) == (1, [])


async def test_a_wait_of_more_than_a_minute_is_the_callers_to_take(family: Any) -> None:
    server = Server(family, family.Response(429, headers={"retry-after": "3600"}))
    with pytest.raises(RateLimited) as caught:
        await server.sender().post(URL, {}, b"x")
    assert caught.value.retry_after == 3600.0
    assert server.waits == []


async def test_retries_can_be_switched_off(family: Any) -> None:
    server = Server(family, family.Response(503))
    with pytest.raises(Unavailable):
        await server.sender(max_retries=0).post(URL, {}, b"x")
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["ConnectError", "ConnectTimeout", "RemoteProtocolError"])
async def test_a_missing_or_dropped_connection_is_tried_again_and_then_typed(family: Any, name: str) -> None:
    """Case: OVF-03."""
    failure = getattr(family, name)
    server = Server(family, failure("no"), family.Response(200, content=b"ok"))
    assert (await server.sender().post(URL, {}, b"x")).body == b"ok"
    assert server.waits == [0.5]
    server = Server(family, *(failure("no route for hunter2-hunter2") for _ in range(3)))
    with pytest.raises(Unavailable, match=f"acme.test.*{name}") as caught:
        await server.sender().post(URL, {}, b"x")
    assert isinstance(caught.value.__cause__, failure)
    assert caught.value.retryable
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["ReadTimeout", "ReadError", "DecodingError"])
async def test_a_request_that_may_have_arrived_is_not_sent_again(family: Any, name: str) -> None:
    server = Server(family, getattr(family, name)("late"))
    with pytest.raises(Unavailable) as caught:
        await server.sender().post(URL, {}, b"x")
    assert type(caught.value.__cause__).__name__ == name
    assert len(server.requests) == 1


class Mismatch(Exception):
    """Stands for an error that a recorder raises inside the transport."""


async def test_an_error_of_the_harness_passes_untouched_and_unrepeated(family: Any) -> None:
    raised = Mismatch("never recorded")
    server = Server(family, raised)
    with pytest.raises(Mismatch) as caught:
        await server.sender().post(URL, {}, b"x")
    assert caught.value is raised
    assert len(server.requests) == 1


async def test_a_broken_error_body_leaves_its_status(family: Any) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b'{"error":'
        raise family.ReadError("gone")

    server = Server(family, family.Response(404, stream=body_stream(family, broken)))
    with pytest.raises(BadRequest) as caught:
        await server.sender().post(URL, {}, b"x")
    assert caught.value.status == 404


async def test_pieces_of_a_stream_keep_their_edges_and_the_response_is_closed(family: Any) -> None:
    async def produce() -> AsyncIterator[bytes]:
        for piece in (b"a", b"bc", b"d"):
            yield piece

    body = body_stream(family, produce)
    server = Server(family, family.Response(200, stream=body))
    assert [piece async for piece in server.sender().stream(URL, {}, b"x")] == [b"a", b"bc", b"d"]
    assert body.closed


async def test_a_stream_that_is_refused_is_retried_and_typed_like_any_other(family: Any) -> None:
    overflow = family.Response(400, content=b'{"error":{"message":"prompt is too long"}}')
    server = Server(family, family.Response(503), overflow)
    with pytest.raises(ContextOverflow):
        await anext(server.sender().stream(URL, {}, b"x"))
    assert len(server.requests) == 2


async def test_a_stream_that_breaks_is_unavailable_with_its_cause(family: Any) -> None:
    async def produce() -> AsyncIterator[bytes]:
        yield b"a"
        raise family.ReadError("gone")

    body = body_stream(family, produce)
    stream = Server(family, family.Response(200, stream=body)).sender().stream(URL, {}, b"x")
    assert await anext(stream) == b"a"
    with pytest.raises(Unavailable) as caught:
        await anext(stream)
    assert isinstance(caught.value.__cause__, family.ReadError)
    assert body.closed


@pytest.mark.parametrize("way", ["closed early", "cancelled"])
async def test_leaving_a_stream_closes_its_response(family: Any, way: str) -> None:
    async def produce() -> AsyncIterator[bytes]:
        yield b"a"
        await anyio.sleep_forever()

    body = body_stream(family, produce)
    stream = Server(family, family.Response(200, stream=body)).sender().stream(URL, {}, b"x")
    assert await anext(stream) == b"a"
    if way == "closed early":
        await stream.aclose()
    else:
        with anyio.move_on_after(0.01):
            await anext(stream)
    assert body.closed


async def test_cancelling_a_whole_answer_closes_its_response(family: Any) -> None:
    async def produce() -> AsyncIterator[bytes]:
        yield b"a"
        await anyio.sleep_forever()

    body = body_stream(family, produce)
    with anyio.move_on_after(0.01) as scope:
        await Server(family, family.Response(200, stream=body)).sender().post(URL, {}, b"x")
    assert scope.cancelled_caught
    assert body.closed


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"connect": 10.0, "read": 600.0, "write": 600.0, "pool": 10.0}),
        ({"timeouts": Timeouts(connect=1, read=2)}, {"connect": 1, "read": 2, "write": 2, "pool": 1}),
        ({"timeouts": None}, {"connect": 5.0, "read": 5.0, "write": 5.0, "pool": 5.0}),
    ],
    ids=["default", "given", "the client's own"],
)
async def test_timeouts_are_sent_with_each_request(
    family: Any, options: dict[str, Any], expected: dict[str, float]
) -> None:
    server = Server(family, family.Response(200))
    await server.sender(**options).post(URL, {}, b"x")
    assert server.requests[0].extensions["timeout"] == expected


async def test_a_given_client_stays_open(family: Any) -> None:
    client = family.AsyncClient(transport=family.MockTransport(lambda request: family.Response(200)))
    sender = HttpSender(Asked(provider="acme"), http=client)
    await sender.post(URL, {}, b"x")
    await sender.aclose()
    assert not client.is_closed


async def test_a_client_that_was_opened_here_is_closed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    opened: list[httpx.AsyncClient] = []

    class Local(httpx.AsyncClient):
        def __init__(self) -> None:
            super().__init__(transport=httpx.MockTransport(lambda request: httpx.Response(200)))
            opened.append(self)

    monkeypatch.setattr(httpx, "AsyncClient", Local)
    sender = HttpSender(Asked(provider="acme"))
    await sender.post(URL, {}, b"x")
    await sender.post(URL, {}, b"x")
    await sender.aclose()
    await sender.aclose()
    assert [client.is_closed for client in opened] == [True]


async def test_a_client_of_a_users_own_class_is_known_by_the_family_it_comes_from(family: Any) -> None:
    class Tuned(family.AsyncClient):  # type: ignore[misc]
        pass

    def fail(request: Any) -> Any:
        raise family.ReadTimeout("late")

    client = Tuned(transport=family.MockTransport(fail))
    with pytest.raises(Unavailable):
        await HttpSender(Asked(provider="acme"), http=client).post(URL, {}, b"x")


async def test_fewer_than_no_retries_are_refused() -> None:
    with pytest.raises(SettingsError, match="0 or more"):
        HttpSender(Asked(provider="acme"), max_retries=-1)
