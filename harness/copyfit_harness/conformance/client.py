"""The tests that the client of any wire protocol must pass, over either HTTP family that is installed."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar

import anyio
import pytest
from pydantic import SecretStr

from copyfit.errors import AuthFailed, ContextOverflow, CopyfitError, SettingsError, StreamBroken
from copyfit.ports.provider import ProviderModelClient
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import ImagePart, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished, StreamEvent, TextDelta
from copyfit_adapters.errors import UnencodableInput

KEY = "k-a1b2c3"
_ELSEWHERE = "http://127.0.0.1:8080/v1"


class Server:
    """Answers with what `answer` returns, and keeps the requests; `http` is an open client of it."""

    def __init__(self, family: Any, answer: Callable[[], Any]) -> None:
        self.requests: list[Any] = []
        self._answer = answer
        self.http = family.AsyncClient(transport=family.MockTransport(self))

    def __call__(self, request: Any) -> Any:
        """Keep `request` and answer it."""
        self.requests.append(request)
        return self._answer()


def pieces(family: Any, *parts: bytes | Exception, then: Callable[[], Any] | None = None) -> Any:
    """Return a body that comes in `parts`, and after them does `then`; it knows whether it was `closed`."""

    class Body(family.AsyncByteStream):  # type: ignore[misc]
        closed = False
        exhausted = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for part in parts:
                if isinstance(part, Exception):
                    raise part
                yield part
            if then is not None:
                await then()
            self.exhausted = True

        async def aclose(self) -> None:
            self.closed = True

    return Body()


async def collect(events: AsyncIterator[StreamEvent], seen: list[StreamEvent] | None = None) -> list[StreamEvent]:
    """Return what `events` gives; `seen` is a list to put it in."""
    kept = [] if seen is None else seen
    async for event in events:
        kept.append(event)
    return kept


class ClientConformance:
    """Subclass it, and say how the client is made and what its server says.

    `open_client` takes the options of `ClientOptions` and returns a client of the model ``m1``. `readback` reads a
    request body. `hello` is an input with a system text that the protocol carries without any loss, `answer` the
    server's whole answer ``Hello.`` to it, as the value that is sent as JSON, and `frames` the same answer as a
    stream whose first piece gives the text ``Hel`` and whose last ends it. `overflow` is a body that refuses with
    status 500 for length, `overflow_frame` the same in a stream, and `error` makes of a text the JSON value that
    refuses with those words. `provider` is the client's own; `complete_url` and `stream_url` are where requests
    go, `accepts` the kind of stream that is asked for, `elsewhere_path` what is added to another address,
    `key_header` and `key_value` how the `KEY` travels, `variable` the variable that holds it, and `shown` the
    client's repr. `marks_end` says whether a stream's last piece tells that it is the last.

    Functions are given as a `staticmethod`. A promise that a protocol does not make, such as that a missing key is
    told at once, is taken out by setting its test to None, beside a test of what holds instead.
    """

    open_client: ClassVar[Callable[..., Any]]
    readback: ClassVar[Callable[..., ModelInput]]
    hello: ClassVar[ModelInput]
    answer: ClassVar[Any]
    frames: ClassVar[list[bytes]]
    overflow: ClassVar[bytes]
    overflow_frame: ClassVar[bytes]
    error: ClassVar[Callable[..., Any]] = staticmethod(lambda text: {"error": {"message": text}})
    provider: ClassVar[str]
    complete_url: ClassVar[str]
    stream_url: ClassVar[str]
    elsewhere_path: ClassVar[str]
    accepts: ClassVar[str] = "text/event-stream"
    marks_end: ClassVar[bool] = True
    key_header: ClassVar[str]
    key_value: ClassVar[str]
    variable: ClassVar[str]
    shown: ClassVar[str]

    @pytest.fixture(params=["httpx", "httpx2"])
    def family(self, request: pytest.FixtureRequest) -> Any:
        return pytest.importorskip(request.param, reason=f"{request.param} is not installed")

    def client_of(self, server: Server, **options: Any) -> Any:
        return type(self).open_client(**{"api_key": KEY, "http": server.http} | options)

    @pytest.mark.anyio
    async def test_complete_sends_the_input_exactly_and_returns_the_answer(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        output = await self.client_of(server).complete(self.hello)
        assert output.message.content == "Hello."
        (sent,) = server.requests
        assert (sent.method, str(sent.url)) == ("POST", self.complete_url)
        assert sent.headers[self.key_header] == self.key_value
        assert sent.headers["content-type"] == "application/json"
        assert sent.headers["accept"] == "application/json"
        assert type(self).readback(sent.read()) == self.hello

    @pytest.mark.anyio
    async def test_stream_yields_the_pieces_and_finished_last(self, family: Any) -> None:
        body = pieces(family, *self.frames)
        server = Server(family, lambda: family.Response(200, stream=body))
        *deltas, last = await collect(self.client_of(server).stream(self.hello))
        assert deltas[0] == TextDelta("Hel")
        assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello."
        assert isinstance(last, Finished)
        assert last.output.message.content == "Hello."
        (sent,) = server.requests
        assert str(sent.url) == self.stream_url
        assert sent.headers["accept"] == self.accepts
        assert type(self).readback(sent.read()) == self.hello
        assert body.closed
        assert body.exhausted, "what follows the answer's end was not read, so the connection cannot be used again"

    @pytest.mark.anyio
    async def test_a_server_that_lingers_after_the_end_does_not_hold_the_answer_back(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not self.marks_end:
            pytest.skip("this protocol ends a stream by closing it")
        monkeypatch.setattr("copyfit_adapters.connection.DRAIN_SECONDS", 0.01)
        body = pieces(family, *self.frames, then=anyio.sleep_forever)
        server = Server(family, lambda: family.Response(200, stream=body))
        with anyio.fail_after(5):
            events = await collect(self.client_of(server).stream(self.hello))
        assert isinstance(events[-1], Finished)
        assert body.closed

    @pytest.mark.anyio
    async def test_an_overflow_is_raised_from_either_way_and_sent_once(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(500, content=self.overflow))
        with pytest.raises(ContextOverflow):
            await self.client_of(server).complete(self.hello)
        with pytest.raises(ContextOverflow):
            await collect(self.client_of(server).stream(self.hello))
        assert len(server.requests) == 2

    @pytest.mark.anyio
    async def test_an_overflow_in_mid_stream_comes_after_the_pieces_before_it(self, family: Any) -> None:
        body = pieces(family, self.frames[0] + self.overflow_frame)
        server = Server(family, lambda: family.Response(200, stream=body))
        seen: list[StreamEvent] = []
        with pytest.raises(ContextOverflow) as caught:
            await collect(self.client_of(server).stream(self.hello), seen)
        assert seen == [TextDelta("Hel")]
        assert (caught.value.provider, caught.value.model) == (self.provider, "m1")
        assert body.closed

    @pytest.mark.anyio
    @pytest.mark.parametrize("how", ["ends", "breaks"])
    async def test_a_stream_that_stops_short_is_broken_and_keeps_what_arrived(self, family: Any, how: str) -> None:
        rest = [family.ReadError("gone")] if how == "breaks" else []
        body = pieces(family, self.frames[0], *rest)
        server = Server(family, lambda: family.Response(200, stream=body))
        with pytest.raises(StreamBroken) as caught:
            await collect(self.client_of(server).stream(self.hello))
        assert caught.value.arrived == "Hel"
        assert (caught.value.__cause__ is not None) == (how == "breaks")

    @pytest.mark.anyio
    @pytest.mark.parametrize("way", ["closed early", "cancelled"])
    async def test_leaving_a_stream_early_closes_the_response(self, family: Any, way: str) -> None:
        body = pieces(family, self.frames[0], then=anyio.sleep_forever)
        server = Server(family, lambda: family.Response(200, stream=body))
        stream = self.client_of(server).stream(self.hello)
        assert await anext(stream) == TextDelta("Hel")
        if way == "closed early":
            await stream.aclose()
        else:
            with anyio.move_on_after(0.01):
                await anext(stream)
        assert body.closed

    @pytest.mark.anyio
    async def test_an_input_without_a_wire_form_is_never_sent(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        with pytest.raises(UnencodableInput):
            await self.client_of(server).complete(ModelInput("", (UserMessage(content=(ImagePart(),)),)))
        assert server.requests == []

    @pytest.mark.anyio
    async def test_retries_and_their_number_are_the_clients(self, family: Any) -> None:
        answers = [family.Response(503, headers={"retry-after": "0"}), family.Response(200, json=self.answer)]
        server = Server(family, lambda: answers.pop(0))
        assert (await self.client_of(server).complete(self.hello)).message.content == "Hello."
        server = Server(family, lambda: family.Response(503))
        with pytest.raises(CopyfitError):
            await self.client_of(server, max_retries=0).complete(self.hello)
        assert len(server.requests) == 1

    @pytest.mark.anyio
    @pytest.mark.parametrize("status", [200, 400, 401, 500])
    async def test_neither_key_nor_request_is_in_any_error(self, family: Any, status: int) -> None:
        said = type(self).error(f"the key {KEY} is no good")
        server = Server(family, lambda: family.Response(status, json=said))
        client = self.client_of(server, max_retries=0)
        for call in (client.complete(self.hello), collect(client.stream(self.hello))):
            with pytest.raises(CopyfitError) as caught:
                await call
            if status != 200:
                assert "is no good" in str(caught.value)
            assert KEY not in str(caught.value) + repr(caught.value) + repr(vars(caught.value))
            assert self.hello.system not in str(caught.value)

    @pytest.mark.parametrize("given", [KEY, SecretStr(KEY), f" {KEY}\n"], ids=["text", "secret", "with blanks"])
    def test_the_key_is_in_no_representation(self, given: str | SecretStr) -> None:
        client = type(self).open_client(api_key=given)
        assert repr(client) == self.shown
        assert not [shown for shown in _representations(client) if KEY in shown]

    @pytest.mark.anyio
    async def test_the_key_comes_from_the_environment_for_its_home_alone(
        self, family: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(self.variable, KEY)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert server.requests[0].headers[self.key_header] == self.key_value
        with pytest.raises(AuthFailed, match=self.variable):
            self.client_of(server, api_key=None, base_url=_ELSEWHERE)

    def test_an_option_that_is_none_is_refused(self) -> None:
        with pytest.raises(TypeError, match="max_retrys"):
            type(self).open_client(api_key=KEY, max_retrys=0)

    def test_a_missing_key_is_told_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(self.variable, raising=False)
        with pytest.raises(AuthFailed, match=f"set {self.variable}"):
            type(self).open_client()

    @pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
    def test_a_key_that_no_header_can_carry_is_refused_unseen(self, key: str) -> None:
        with pytest.raises(AuthFailed) as caught:
            type(self).open_client(api_key=key)
        assert key not in str(caught.value)

    @pytest.mark.anyio
    async def test_a_server_without_keys_gets_none(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        client = self.client_of(server, api_key="", base_url=f"{_ELSEWHERE}/", provider="a-server")
        await client.complete(self.hello)
        assert self.key_header not in server.requests[0].headers
        assert str(server.requests[0].url) == _ELSEWHERE + self.elsewhere_path
        assert client.provider == "a-server"

    @pytest.mark.parametrize(
        "base_url",
        ["host/v1", "ftp://host/v1", "https://", "", "http://h:port", "http://[::1/v1", "https://h/?a=1"],
    )
    def test_an_address_that_is_none_is_refused(self, base_url: str) -> None:
        with pytest.raises(SettingsError, match="base_url"):
            type(self).open_client(base_url=base_url, api_key=KEY)

    def test_an_address_that_is_not_given_is_that_of_the_home(self) -> None:
        assert repr(type(self).open_client(base_url=None, api_key=KEY)) == self.shown

    @pytest.mark.anyio
    async def test_the_client_is_a_provider_port_and_leaves_a_given_http_client_open(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        limits = ModelLimits(context_tokens=8)
        async with self.client_of(server, limits=limits) as client:
            port: ProviderModelClient = client
            assert (port.provider, port.model, port.limits) == (self.provider, "m1", limits)
            assert (await port.complete(self.hello)).finish_reason == "stop"
        assert not server.http.is_closed


def _representations(client: Any) -> Iterator[str]:
    """Yield what a debugger shows of `client`, and of what it holds that is of the packages of its classes."""
    packages = {kind.__module__.partition(".")[0] for kind in type(client).__mro__} - {"builtins", "abc", "typing"}
    waiting, met = [client], {id(client)}
    while waiting:
        held = waiting.pop()
        inner = getattr(held, "__dict__", {})
        yield repr(held) + repr(inner)
        for value in inner.values():
            if type(value).__module__.partition(".")[0] in packages and id(value) not in met:
                met.add(id(value))
                waiting.append(value)
