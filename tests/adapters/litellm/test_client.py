"""The client keeps the provider port's promises on both of litellm's ways, over either HTTP family."""

import importlib
import json
import threading
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from copyfit.errors import (
    AuthFailed,
    BadRequest,
    ContextOverflow,
    CopyfitError,
    MalformedReply,
    RateLimited,
    SettingsError,
    StreamBroken,
    Unavailable,
)
from copyfit.ports.provider import ProviderModelClient
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import AssistantMessage, ImagePart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import Finished, FinishReason, TextDelta, ToolCallDelta, Usage
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.errors import UnencodableInput
from copyfit_adapters.litellm.client import LiteLLMClient
from copyfit_adapters.openai_chat.readback import readback
from copyfit_harness.conformance.client import KEY, Server, collect, pieces

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("litellm"),
    # litellm's own use of pydantic
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

HELLO = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
ANSWER = {
    "id": "r1",
    "model": "m1-2026",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}
OVERFLOW = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
OPENAI, DEEPSEEK = "openai/m1", "deepseek/m1"


def frame(**fields: Any) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return frame(id="r1", choices=[{"index": 0, "delta": fields, "finish_reason": finish}])


FRAMES = [delta(content="Hel"), delta(content="lo."), delta("stop")]
DONE = b"data: [DONE]\n\n"
USAGE = frame(id="r1", choices=[], usage=ANSWER["usage"])


@pytest.fixture(params=["httpx", "httpx2"])
def family(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


@pytest.fixture(params=[OPENAI, DEEPSEEK])
def model(request: pytest.FixtureRequest) -> str:
    """Return a model that litellm reaches through the openai SDK, and one that it reaches through its handler."""
    return str(request.param)


def client_of(server: Server, model: str, **options: Any) -> LiteLLMClient:
    return LiteLLMClient(model, **{"api_key": KEY, "http": server.http} | options)


def streaming(family: Any, *parts: bytes | Exception, **named: Any) -> tuple[Server, Any]:
    body = pieces(family, *parts, **named)
    headers = {"content-type": "text/event-stream"}
    return Server(family, lambda: family.Response(200, headers=headers, stream=body)), body


async def test_complete_sends_the_input_exactly_and_returns_the_answer(family: Any, model: str) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    output = await client_of(server, model).complete(HELLO)
    assert output.message == AssistantMessage(content="Hello.")
    assert output.finish_reason is FinishReason.STOP
    assert (output.usage.input_tokens, output.usage.output_tokens, output.usage.cached_input_tokens) == (9, 2, 4)
    (sent,) = server.requests
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert readback(sent.read()) == HELLO
    assert json.loads(sent.read())["model"] == "m1"


async def test_stream_yields_the_pieces_and_finished_last(family: Any, model: str) -> None:
    server, body = streaming(family, *FRAMES, USAGE, DONE)
    *deltas, last = await collect(client_of(server, model).stream(HELLO))
    assert deltas == [TextDelta("Hel"), TextDelta("lo.")]
    assert isinstance(last, Finished)
    assert last.output.message == AssistantMessage(content="Hello.")
    assert (last.output.usage.input_tokens, last.output.usage.output_tokens) == (9, 2)
    (sent,) = server.requests
    assert readback(sent.read()) == HELLO
    assert json.loads(sent.read())["stream_options"] == {"include_usage": True}
    assert body.closed


async def test_tokens_that_the_provider_did_not_report_are_not_reported(family: Any, model: str) -> None:
    silent = {name: value for name, value in ANSWER.items() if name != "usage"}
    server = Server(family, lambda: family.Response(200, json=silent))
    assert (await client_of(server, model).complete(HELLO)).usage == Usage()
    server, _ = streaming(family, *FRAMES, DONE)
    last = (await collect(client_of(server, model).stream(HELLO)))[-1]
    assert isinstance(last, Finished)
    assert last.output.usage == Usage()


async def test_parallel_calls_and_their_results_travel_exactly(family: Any, model: str) -> None:
    arguments = ['{"n": 12345678901234567890,"x":1.0}', '{"city":"Oslo"}']
    calls = [
        {"id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": text}}
        for index, text in enumerate(arguments)
    ]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    answer = ANSWER | {"choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]}
    server = Server(family, lambda: family.Response(200, json=answer))
    client = client_of(server, model)
    output = await client.complete(HELLO)
    expected = tuple(ToolCall(id=f"c{index}", name="f", arguments=text) for index, text in enumerate(arguments))
    assert output.message.tool_calls == expected
    assert output.finish_reason is FinishReason.TOOL_CALLS
    results = (ToolMessage(call_id="c0", content="a"), ToolMessage(call_id="c1", content="b"))
    longer = ModelInput(
        HELLO.system, (*HELLO.messages, output.message, *results), (ToolSpec(name="f"),), HELLO.settings
    )
    await client.complete(longer)
    assert readback(server.requests[1].read()) == longer


async def test_streamed_calls_are_put_together(family: Any, model: str) -> None:
    def piece(index: int, **function: str) -> dict[str, Any]:
        named = {"id": f"c{index}", "type": "function"} if "name" in function else {}
        return {"index": index, **named, "function": function}

    server, _ = streaming(
        family,
        delta(tool_calls=[piece(0, name="f", arguments="")]),
        delta(tool_calls=[piece(0, arguments='{"a"')]),
        delta(tool_calls=[piece(0, arguments=": 1.0}")]),
        delta(tool_calls=[piece(1, name="g", arguments="{}")]),
        delta("tool_calls"),
        DONE,
    )
    *deltas, last = await collect(client_of(server, model).stream(HELLO))
    assert isinstance(last, Finished)
    calls = (ToolCall(id="c0", name="f", arguments='{"a": 1.0}'), ToolCall(id="c1", name="g"))
    assert last.output.message.tool_calls == calls
    given = [event for event in deltas if isinstance(event, ToolCallDelta)]
    assert "".join(event.arguments for event in given if event.index == 0) == '{"a": 1.0}'


async def test_an_overflow_is_raised_from_either_way_and_sent_once(family: Any, model: str) -> None:
    server = Server(family, lambda: family.Response(500, json=OVERFLOW))
    with pytest.raises(ContextOverflow) as caught:
        await client_of(server, model).complete(HELLO)
    assert (caught.value.status, caught.value.model) == (500, model)
    assert caught.value.__cause__ is not None
    with pytest.raises(ContextOverflow):
        await collect(client_of(server, model).stream(HELLO))
    assert len(server.requests) == 2


async def test_an_overflow_that_litellm_does_not_know_says_its_numbers(family: Any) -> None:
    said = "This model's maximum prompt length is 131072 but the request contains 200001 tokens."
    server = Server(family, lambda: family.Response(400, json={"error": {"message": said, "type": "x"}}))
    with pytest.raises(ContextOverflow) as caught:
        await client_of(server, "xai/m1").complete(HELLO)
    assert (caught.value.limit_tokens, caught.value.requested_tokens) == (131_072, 200_001)
    assert type(caught.value.__cause__).__name__ == "BadRequestError"


async def test_an_overflow_in_mid_stream_comes_after_the_pieces_before_it(family: Any, model: str) -> None:
    server, body = streaming(family, FRAMES[0] + frame(**OVERFLOW))
    seen: list[Any] = []
    with pytest.raises(ContextOverflow):
        await collect(client_of(server, model).stream(HELLO), seen)
    assert seen == [TextDelta("Hel")]
    assert body.closed


@pytest.mark.parametrize("how", ["ends", "breaks"])
async def test_a_stream_that_stops_short_is_broken_and_keeps_what_arrived(
    family: Any, model: str, how: str
) -> None:
    rest = [family.ReadError("gone")] if how == "breaks" else []
    server, body = streaming(family, FRAMES[0], *rest)
    with pytest.raises(StreamBroken) as caught:
        await collect(client_of(server, model).stream(HELLO))
    assert (caught.value.arrived, caught.value.retryable) == ("Hel", True)
    assert body.closed


async def test_leaving_a_stream_early_closes_the_response(family: Any, model: str) -> None:
    server, body = streaming(family, FRAMES[0], then=anyio.sleep_forever)
    stream = client_of(server, model).stream(HELLO)
    assert await anext(stream) == TextDelta("Hel")
    await stream.aclose()  # type: ignore[attr-defined]
    assert body.closed


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, BadRequest), (401, AuthFailed), (429, RateLimited), (500, Unavailable), (503, Unavailable)],
)
async def test_an_error_is_typed_by_the_answers_status_and_sent_once(
    family: Any, model: str, status: int, kind: type[CopyfitError]
) -> None:
    answer = family.Response(status, json={"error": {"message": "no good"}}, headers={"retry-after": "7"})
    server = Server(family, lambda: answer)
    with pytest.raises(kind, match="no good") as caught:
        await client_of(server, model).complete(HELLO)
    assert vars(caught.value)["status"] == status
    assert vars(caught.value)["retry_after"] == 7
    assert len(server.requests) == 1


@pytest.mark.parametrize("error", ["ConnectError", "ReadTimeout", "RemoteProtocolError"])
async def test_no_answer_is_told_as_such_and_sent_once(family: Any, model: str, error: str) -> None:
    def gone() -> Any:
        raise getattr(family, error)("gone")

    server = Server(family, gone)
    with pytest.raises(Unavailable, match=error) as caught:
        await client_of(server, model).complete(HELLO)
    assert (caught.value.status, caught.value.retryable) == (None, True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", b'{"choices":[]}'])
async def test_what_is_no_answer_is_malformed(family: Any, model: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    server = Server(family, lambda: family.Response(200, content=body, headers=headers))
    with pytest.raises(MalformedReply):
        await client_of(server, model).complete(HELLO)


@pytest.mark.parametrize("status", [200, 400, 401, 500])
async def test_neither_key_nor_request_is_in_any_error(family: Any, model: str, status: int) -> None:
    import traceback

    server = Server(
        family, lambda: family.Response(status, json={"error": {"message": f"the key {KEY} is no good"}})
    )
    client = client_of(server, model)
    for call in (client.complete(HELLO), collect(client.stream(HELLO))):
        with pytest.raises(CopyfitError) as caught:
            await call
        error = caught.value
        shown = str(error) + repr(error) + repr(vars(error)) + "".join(traceback.format_exception_only(error))
        assert KEY not in shown + repr(error.__cause__) + str(error.__cause__)
        assert HELLO.system not in str(error)


@pytest.mark.parametrize("given", [KEY, SecretStr(KEY), f" {KEY}\n"])
def test_no_secret_is_in_a_representation(given: Any) -> None:
    options = {"aws_secret_access_key": "s-d4e5f6", "api_version": "v1"}
    client = LiteLLMClient(OPENAI, api_key=given, options=options)
    assert repr(client) == "LiteLLMClient('openai/m1', provider='openai')"
    for secret in (KEY, "s-d4e5f6"):
        assert secret not in repr(vars(client))


async def test_a_key_out_of_the_environment_goes_to_its_home_alone(
    family: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    await client_of(server, model, api_key=None).complete(HELLO)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(AuthFailed, match="pass api_key"):
        client_of(server, model, api_key=None, base_url="http://127.0.0.1:8080/v1")
    elsewhere = client_of(server, model, api_key="", base_url="http://127.0.0.1:8080/v1", provider="a-server")
    await elsewhere.complete(HELLO)
    assert elsewhere.provider == "a-server"
    assert KEY not in " ".join(server.requests[1].headers.values())
    assert str(server.requests[1].url) == "http://127.0.0.1:8080/v1/chat/completions"


async def test_a_missing_key_is_told_before_anything_is_sent(
    family: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    server = Server(family, lambda: family.Response(401, json={"error": {"message": "Invalid API Key"}}))
    with pytest.raises(AuthFailed):
        await client_of(server, model, api_key=None).complete(HELLO)


async def test_the_key_of_openai_is_sent_to_no_other_provider(
    family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("MOONSHOT_API_KEY", raising=False)
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    with pytest.raises(AuthFailed, match="no API key for moonshot"):
        await client_of(server, "moonshot/m1", api_key=None).complete(HELLO)
    assert server.requests == []


async def test_an_input_that_litellm_or_its_provider_has_no_form_for_is_never_sent(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    unsaid = ModelInput("", (UserMessage(content=(ImagePart(),)),))
    seeded = ModelInput("", HELLO.messages, settings=ModelSettings(seed=7))
    forged = ModelInput("", HELLO.messages, settings=ModelSettings(extra={"litellm": {"api_base": "http://h"}}))
    for model_input in (unsaid, seeded, forged):
        with pytest.raises(UnencodableInput):
            await client_of(server, "anthropic/m1").complete(model_input)
    assert server.requests == []


async def test_options_travel_and_those_that_are_the_clients_are_refused(family: Any) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    options = {"extra_headers": {"x-mine": "1"}, "drop_params": True}
    seeded = ModelInput(
        "", HELLO.messages, settings=ModelSettings(seed=7, extra={"litellm": {"frequency_penalty": 0.5}})
    )
    await client_of(server, DEEPSEEK, options=options).complete(seeded)
    assert server.requests[0].headers["x-mine"] == "1"
    assert readback(server.requests[0].read()).settings.extra == {"openai-chat": {"frequency_penalty": 0.5}}
    for name in ("num_retries", "client", "api_key", "fallbacks", "custom_llm_provider"):
        with pytest.raises(SettingsError, match=name):
            LiteLLMClient(DEEPSEEK, options={name: 1})


async def test_calls_that_run_at_the_same_time_do_not_mix(family: Any, model: str) -> None:
    def echo(request: Any) -> Any:
        said = json.loads(request.read())["messages"][0]["content"]
        message = {"role": "assistant", "content": f"re {said}"}
        return family.Response(200, json={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    client = LiteLLMClient(model, api_key=KEY, http=family.AsyncClient(transport=family.MockTransport(echo)))
    answers: dict[int, str] = {}

    async def ask(number: int) -> None:
        output = await client.complete(ModelInput("", (UserMessage(content=f"n{number}"),)))
        answers[number] = output.message.text

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(ask, number)
    assert answers == {number: f"re n{number}" for number in range(12)}


async def test_the_client_is_a_provider_port_and_leaves_a_given_http_client_open(family: Any, model: str) -> None:
    server = Server(family, lambda: family.Response(200, json=ANSWER))
    limits = ModelLimits(context_tokens=8)
    async with client_of(server, model, limits=limits) as client:
        port: ProviderModelClient = client
        assert (port.provider, port.model, port.limits) == (model.partition("/")[0], model, limits)
        assert (await port.complete(HELLO)).finish_reason == "stop"
    assert not server.http.is_closed


def test_limits_come_out_of_litellms_table_unless_given() -> None:
    assert LiteLLMClient("gpt-4").limits == ModelLimits(context_tokens=8192, max_output_tokens=4096)
    assert LiteLLMClient("gpt-4").provider == "litellm"
    assert LiteLLMClient("groq/nobody-knows-it").limits is None


@pytest.mark.parametrize("base_url", ["host/v1", "ftp://h", "http://h:port", "http://h/?a=1"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(SettingsError, match="base_url"):
        LiteLLMClient(OPENAI, api_key=KEY, base_url=base_url)


async def test_a_request_that_is_given_up_does_not_wait_for_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = threading.Event()
    monkeypatch.setattr("copyfit_adapters.litellm.client.load", lambda: imported.wait(30))
    try:
        with anyio.fail_after(10), anyio.move_on_after(0.05) as given_up:
            await LiteLLMClient(OPENAI, api_key=KEY).complete(HELLO)
        assert given_up.cancelled_caught
    finally:
        imported.set()
