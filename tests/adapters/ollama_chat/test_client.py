"""The client keeps the provider port's promises over either HTTP family, and its key to itself."""

import json
from typing import Any

import pytest

from copyfit.errors import ContextOverflow, SettingsError
from copyfit.shapes.budgets import ModelLimits
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.ollama_chat.client import OllamaChatClient
from copyfit_adapters.ollama_chat.readback import readback
from copyfit_harness.conformance.client import KEY, ClientConformance, Server

OVERFLOW = (
    b'{"error":"the prompt is longer than the context length currently available to the model; shorten the '
    b'prompt, adjust the context length in settings, or use a model with a longer context length"}'
)


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the machine's own user has set."""
    for variable in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


class TestOllamaChatClient(ClientConformance):
    open_client = staticmethod(lambda **options: OllamaChatClient("m1", **options))
    readback = staticmethod(readback)
    hello = ModelInput("Be brief.", (UserMessage(content="hi"),), settings=ModelSettings(max_output_tokens=5))
    answer = {"message": {"content": "Hello."}, "done": True, "done_reason": "stop"}
    frames = [
        b'{"message":{"role":"assistant","content":"Hel"},"done":false}\n',
        b'{"message":{"content":"lo."},"done":false}\n',
        b'{"message":{"content":""},"done":true,"done_reason":"stop"}\n',
    ]
    overflow = OVERFLOW
    overflow_frame = OVERFLOW + b"\n"
    provider = "ollama"
    complete_url = stream_url = "http://127.0.0.1:11434/api/chat"
    elsewhere_path = "/chat"
    accepts = "application/x-ndjson"
    key_header, key_value = "authorization", f"Bearer {KEY}"
    variable = "OLLAMA_API_KEY"
    shown = "OllamaChatClient('m1', provider='ollama', host='127.0.0.1')"

    # At home a key is no must; the test below says what happens instead.
    test_a_missing_key_is_told_at_once = None  # type: ignore[assignment]

    @pytest.mark.anyio
    async def test_at_home_nothing_is_sent_where_there_is_no_key(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert "authorization" not in server.requests[0].headers

    @pytest.mark.anyio
    async def test_the_server_is_told_not_to_cut_unless_it_may(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server).complete(self.hello)
        await self.client_of(server, may_cut=True).complete(self.hello)
        strict, lax = (json.loads(request.read()) for request in server.requests)
        assert (strict["truncate"], strict["shift"]) == (False, False)
        assert not {"truncate", "shift"} & lax.keys()

    @pytest.mark.anyio
    async def test_the_window_travels_and_is_the_limit_unless_another_is_given(self, family: Any) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        client = self.client_of(server, num_ctx=8192)
        await client.complete(self.hello)
        sent = server.requests[0].read()
        assert json.loads(sent)["options"] == {"num_predict": 5, "num_ctx": 8192}
        assert readback(sent) == self.hello
        assert client.limits == ModelLimits(context_tokens=8192)
        limits = ModelLimits(context_tokens=4096, max_output_tokens=512)
        assert self.client_of(server, num_ctx=8192, limits=limits).limits == limits
        assert self.client_of(server).limits is None

    @pytest.mark.parametrize(
        ("num_ctx", "limits"), [(0, None), (-1, None), (4096, ModelLimits(context_tokens=4097))]
    )
    def test_a_window_below_the_limit_is_refused(self, num_ctx: int, limits: ModelLimits | None) -> None:
        with pytest.raises(SettingsError, match="num_ctx"):
            OllamaChatClient("m1", num_ctx=num_ctx, limits=limits)

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("named", "url"),
        [
            ("gpu-box", "http://gpu-box:11434/api/chat"),
            ("gpu-box:8080/", "http://gpu-box:8080/api/chat"),
            ("http://gpu-box", "http://gpu-box/api/chat"),
            ("https://ollama.com", "https://ollama.com/api/chat"),
            ("https://h:1/behind/", "https://h:1/behind/api/chat"),
            ("[::1]", "http://[::1]:11434/api/chat"),
            ("", "http://127.0.0.1:11434/api/chat"),
        ],
    )
    async def test_ollama_host_names_the_home_and_its_key_goes_there(
        self, family: Any, monkeypatch: pytest.MonkeyPatch, named: str, url: str
    ) -> None:
        monkeypatch.setenv("OLLAMA_HOST", named)
        monkeypatch.setenv("OLLAMA_API_KEY", KEY)
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None).complete(self.hello)
        assert str(server.requests[0].url) == url
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"

    @pytest.mark.anyio
    @pytest.mark.parametrize("base_url", ["http://localhost:11434/api", "http://[::1]:11434/api/"])
    async def test_this_machine_by_another_name_needs_no_key(self, family: Any, base_url: str) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer))
        await self.client_of(server, api_key=None, base_url=base_url).complete(self.hello)
        assert "authorization" not in server.requests[0].headers

    @pytest.mark.parametrize("named", ["ftp://h", "http://", "h:port", "http://h?a=1", "http://[::1"])
    def test_a_host_that_is_none_is_refused(self, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
        monkeypatch.setenv("OLLAMA_HOST", named)
        with pytest.raises(SettingsError, match="OLLAMA_HOST"):
            OllamaChatClient("m1")

    def test_a_password_in_the_host_is_refused_unseen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OLLAMA_HOST", "http://ann:hunter2@h")
        with pytest.raises(SettingsError) as caught:
            OllamaChatClient("m1")
        assert "hunter2" not in str(caught.value) + repr(vars(caught.value))

    @pytest.mark.anyio
    async def test_a_refused_prompt_is_an_overflow_that_names_the_window_where_the_server_does(
        self, family: Any
    ) -> None:
        said = "request (302 tokens) exceeds the available context size (256 tokens), try increasing it"
        server = Server(family, lambda: family.Response(400, json={"error": said}))
        with pytest.raises(ContextOverflow) as caught:
            await self.client_of(server).complete(self.hello)
        assert (caught.value.limit_tokens, caught.value.requested_tokens) == (256, 302)

    @pytest.mark.anyio
    async def test_the_window_that_is_open_is_asked_of_the_server(self, family: Any) -> None:
        running = {
            "models": [{"name": "m0:latest", "context_length": 4096}, {"name": "m1", "context_length": 8192}]
        }
        server = Server(family, lambda: family.Response(200, json=running))
        assert await self.client_of(server).fetch_limits() == ModelLimits(context_tokens=8192)
        assert str(server.requests[0].url) == "http://127.0.0.1:11434/api/ps"
        server = Server(family, lambda: family.Response(200, json={"models": []}))
        assert await self.client_of(server).fetch_limits() is None

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        ("told", "is_cut"),
        [
            ({"prompt_eval_count": 4096, "eval_count": 9, "done_reason": "stop"}, True),
            ({"prompt_eval_count": 4095, "eval_count": 1, "done_reason": "length"}, True),
            ({"prompt_eval_count": 4095, "eval_count": 9, "done_reason": "stop"}, False),
            ({"prompt_eval_count": 2048, "eval_count": 2048, "done_reason": "length"}, False),
            ({"done_reason": "stop"}, False),
        ],
        ids=str,
    )
    async def test_an_input_that_fills_the_window_was_cut_in_silence(
        self, family: Any, told: dict[str, Any], is_cut: bool
    ) -> None:
        server = Server(family, lambda: family.Response(200, json=self.answer | told))

        async def streamed(**options: Any) -> Any:
            return [event async for event in self.client_of(server, **options).stream(self.hello)]

        windows = ({"num_ctx": 4096}, {"limits": ModelLimits(context_tokens=4096)})
        for options in windows:
            for ask in (self.client_of(server, **options).complete(self.hello), streamed(**options)):
                if not is_cut:
                    await ask
                    continue
                with pytest.raises(ContextOverflow, match="ollama cut the input to its window of 4096") as caught:
                    await ask
                assert (caught.value.limit_tokens, caught.value.requested_tokens) == (4096, None)

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "options",
        [
            {"num_ctx": 4096, "may_cut": True},
            {"num_ctx": 8192, "limits": ModelLimits(context_tokens=4096)},
            {},
        ],
        ids=str,
    )
    async def test_an_answer_stands_where_the_window_is_larger_or_unknown_or_the_server_may_cut(
        self, family: Any, options: dict[str, Any]
    ) -> None:
        full = self.answer | {"prompt_eval_count": 4096, "eval_count": 9}
        server = Server(family, lambda: family.Response(200, json=full))
        assert (await self.client_of(server, **options).complete(self.hello)).usage.input_tokens == 4096
