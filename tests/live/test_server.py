"""What the local real provider promises: to start soon, to answer as its variant says, to refuse, to go away."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from copyfit_harness.local_provider import LocalProvider, LocalProviderOptions, ModelVariant

pytestmark = pytest.mark.live

JSON = dict[str, Any]

ASK: list[JSON] = [{"role": "user", "content": "Find the failing test."}]


def tool(name: str, *, required: list[str] | None = None, **properties: JSON) -> JSON:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": f"{name}.", "parameters": parameters}}


def one_of(*values: str) -> JSON:
    return {"type": "string", "enum": list(values)}


CLOSED_TOOLS = [
    tool("read_file", path=one_of("a.py", "b.py", "notes.md"), part=one_of("head", "tail")),
    tool("run_tests", suite=one_of("unit", "live")),
    tool("finish"),
]
OPEN_TOOLS = [
    tool("write_file", path={"type": "string"}, body={"type": "string"}, append={"type": "boolean"}),
    tool("seek", line={"type": "integer"}, ratio={"type": "number"}),
    tool(
        "tag", required=["labels"], labels={"type": "array", "items": {"type": "string"}}, note={"type": "string"}
    ),
    tool("configure", values={"type": "object"}),
]


@pytest.fixture
def plain(plain_provider: LocalProvider) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=plain_provider.base_url, timeout=60.0, trust_env=False) as client:
        yield client


@pytest.fixture
def tools(tools_provider: LocalProvider) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=tools_provider.base_url, timeout=60.0, trust_env=False) as client:
        yield client


def answer(client: httpx.Client, messages: list[JSON], **settings: object) -> JSON:
    response = client.post("/chat/completions", json={"model": "any", "messages": messages} | settings)
    assert response.status_code == 200, response.text
    body: JSON = response.json()
    return body


def events(client: httpx.Client, messages: list[JSON], **settings: object) -> list[str]:
    """Return the data of each server-sent event of a streamed answer."""
    request = {"model": "any", "messages": messages, "stream": True} | settings
    with client.stream("POST", "/chat/completions", json=request) as response:
        assert response.status_code == 200
        return [line.removeprefix("data: ") for line in response.iter_lines() if line]


def chunks(client: httpx.Client, messages: list[JSON], **settings: object) -> list[JSON]:
    *data, end = events(client, messages, **settings)
    assert end == "[DONE]"
    return [json.loads(text) for text in data]


def the_call(message: JSON) -> tuple[str, JSON]:
    """Return the name and the arguments of the one call of `message`, which says nothing besides."""
    assert not message.get("content")
    (call,) = message["tool_calls"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def check_call(name: str, arguments: JSON, offered: list[JSON]) -> None:
    (parameters,) = [entry["function"]["parameters"] for entry in offered if entry["function"]["name"] == name]
    jsonschema.validate(arguments, parameters)


def outcome(body: JSON) -> tuple[object, ...]:
    """Return what a repeat of a request must give again: all but ids, times and timings."""
    choice = body["choices"][0]
    calls = [call["function"] for call in choice["message"].get("tool_calls", [])]
    return choice["message"].get("content"), calls, choice["finish_reason"], body["usage"]


def runs(process_id: int) -> bool:
    """Tell whether a process is alive; one that has ended and waits for its parent (Z) is not."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process_id}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


class TestLife:
    def test_from_nothing_it_is_ready_in_under_30_seconds(self, tmp_path: Path) -> None:
        began = time.monotonic()
        with LocalProvider.start(cache_dir=tmp_path / "nothing-here-yet") as provider:
            took = time.monotonic() - began
            assert httpx.get(f"{provider.base_url}/models", trust_env=False).status_code == 200
        assert took < 30.0

    def test_stopping_leaves_no_process_and_frees_the_port(self, model_folder: Path) -> None:
        with LocalProvider.start(cache_dir=model_folder) as provider:
            assert runs(provider.process_id)
        assert not runs(provider.process_id)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{provider.base_url}/models", trust_env=False)

    def test_a_port_that_was_asked_for_is_used_and_can_be_used_again(self, model_folder: Path) -> None:
        with LocalProvider.start(cache_dir=model_folder) as first:
            port = httpx.URL(first.base_url).port
            assert port is not None
            httpx.get(f"{first.base_url}/models", trust_env=False)
        with LocalProvider.start(cache_dir=model_folder, port=port) as second:
            assert second.base_url == first.base_url

    @pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    def test_a_parent_that_dies_takes_the_server_along(self, model_folder: Path, ending: signal.Signals) -> None:
        program = (
            "import sys, time; from pathlib import Path; "
            "from copyfit_harness.local_provider import LocalProvider; "
            "provider = LocalProvider.start(cache_dir=Path(sys.argv[1])); "
            "print(provider.process_id, flush=True); time.sleep(60)"
        )
        parent = subprocess.Popen(
            [sys.executable, "-c", program, str(model_folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with parent:
            assert parent.stdout is not None
            process_id = int(parent.stdout.readline())
            assert runs(process_id)
            parent.send_signal(ending)
        deadline = time.monotonic() + 10.0
        while runs(process_id) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not runs(process_id)

    def test_it_says_what_it_is(self, tools_provider: LocalProvider, tools: httpx.Client) -> None:
        (listed,) = tools.get("/models").json()["data"]
        assert listed["id"] == tools_provider.model == "copyfit-tiny-tools"
        assert listed["meta"]["n_ctx"] == 4096
        assert listed["meta"]["n_ctx_train"] >= 32_768
        assert tools_provider.description.startswith("llama.cpp server of xllamacpp 20")

    def test_pages_of_other_origins_may_not_read_answers(self, plain: httpx.Client) -> None:
        allowed = plain.get("/models", headers={"Origin": "http://elsewhere.example"}).headers
        assert not allowed.get("access-control-allow-origin")


class TestProse:
    def test_replies_end_by_themselves_at_a_readable_length(self, plain: httpx.Client) -> None:
        bodies = [answer(plain, ASK, seed=seed, temperature=1) for seed in range(30)]
        lengths = [body["usage"]["completion_tokens"] for body in bodies]
        assert {body["choices"][0]["finish_reason"] for body in bodies} == {"stop"}
        assert 10 <= statistics.median(lengths) <= 150
        assert min(lengths) >= 2

    def test_prose_is_words(self, plain: httpx.Client) -> None:
        text = answer(plain, ASK, seed=1)["choices"][0]["message"]["content"]
        assert all(word.isascii() and word.isalpha() for word in text.split())

    def test_a_stream_carries_the_same_text_and_usage(self, plain: httpx.Client) -> None:
        whole = answer(plain, ASK, seed=3)
        streamed = chunks(plain, ASK, seed=3, stream_options={"include_usage": True})
        deltas = [choice["delta"] for chunk in streamed for choice in chunk["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas) == whole["choices"][0]["message"]["content"]
        assert streamed[-1]["usage"] == whole["usage"]

    @pytest.mark.parametrize("seed", range(3))
    def test_offered_tools_do_not_make_the_plain_model_call(self, plain: httpx.Client, seed: int) -> None:
        message = answer(plain, ASK, tools=CLOSED_TOOLS, seed=seed)["choices"][0]["message"]
        assert message["content"].strip()
        assert "tool_calls" not in message

    @pytest.mark.parametrize("seed", range(3))
    def test_the_model_of_calls_answers_prose_without_tools(self, tools: httpx.Client, seed: int) -> None:
        choice = answer(tools, ASK, seed=seed)["choices"][0]
        assert choice["finish_reason"] == "stop"
        assert choice["message"]["content"].strip()


class TestCalls:
    @pytest.mark.parametrize("seed", range(20))
    def test_offered_tools_bring_exactly_one_valid_call(self, tools: httpx.Client, seed: int) -> None:
        offered = CLOSED_TOOLS if seed % 2 else OPEN_TOOLS
        choice = answer(tools, ASK, tools=offered, seed=seed, temperature=1)["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        check_call(*the_call(choice["message"]), offered)

    def test_the_calls_are_not_always_the_same(self, tools: httpx.Client) -> None:
        names = {
            the_call(answer(tools, ASK, tools=CLOSED_TOOLS, seed=seed)["choices"][0]["message"])[0]
            for seed in range(12)
        }
        assert len(names) > 1

    @pytest.mark.parametrize("seed", range(3))
    def test_a_stream_brings_exactly_one_valid_call(self, tools: httpx.Client, seed: int) -> None:
        streamed = chunks(tools, ASK, tools=OPEN_TOOLS, seed=seed)
        parts = [part for chunk in streamed for part in chunk["choices"][0]["delta"].get("tool_calls", [])]
        assert {part["index"] for part in parts} == {0}
        (name,) = [part["function"]["name"] for part in parts if "name" in part["function"]]
        check_call(name, json.loads("".join(part["function"].get("arguments", "") for part in parts)), OPEN_TOOLS)
        assert streamed[-1]["choices"][0]["finish_reason"] == "tool_calls"

    @pytest.mark.parametrize(
        "sampling", [{"temperature": 0}, {"temperature": 2}, {"top_k": 0, "top_p": 1, "min_p": 0}]
    )
    def test_sampling_settings_do_not_spoil_a_call(self, tools: httpx.Client, sampling: JSON) -> None:
        choice = answer(tools, ASK, tools=OPEN_TOOLS, seed=5, **sampling)["choices"][0]
        check_call(*the_call(choice["message"]), OPEN_TOOLS)

    def test_a_required_call_is_made(self, tools: httpx.Client) -> None:
        choice = answer(tools, ASK, tools=CLOSED_TOOLS, tool_choice="required", seed=1)["choices"][0]
        check_call(*the_call(choice["message"]), CLOSED_TOOLS)


class TestConversations:
    CONVERSATION: tuple[JSON, ...] = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "First."},
        {"role": "user", "content": [{"type": "text", "text": "Second."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "one", "type": "function", "function": {"name": "finish", "arguments": "{}"}},
                {
                    "id": "two",
                    "type": "function",
                    "function": {"name": "run_tests", "arguments": '{"suite": "live"}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "two", "content": '说"好"\n'},
        {"role": "tool", "tool_call_id": "one", "content": "done"},
        {"role": "user", "content": "Third."},
        {"role": "assistant", "content": "Fourth."},
        {"role": "developer", "content": "Late."},
        {"role": "user", "content": "Fifth."},
    )

    def prompt(self, client: httpx.Client, messages: list[JSON], **settings: object) -> str:
        response = client.post(client.base_url.join("/apply-template"), json={"messages": messages} | settings)
        assert response.status_code == 200, response.text
        prompt: str = response.json()["prompt"]
        return prompt

    def test_every_kind_of_message_is_rendered_in_its_place(self, tools: httpx.Client) -> None:
        offered = [{"type": "function", "function": {"name": "finish"}}]
        front, rest = self.prompt(tools, list(self.CONVERSATION), tools=offered).split("[/AVAILABLE_TOOLS]")
        assert front.startswith("[AVAILABLE_TOOLS][{")
        assert rest == (
            "[SYSTEM_PROMPT]Be brief.[/SYSTEM_PROMPT][INST]First.[/INST][INST]Second.[/INST]"
            '[TOOL_CALLS][{"name": "finish", "arguments": {}}, '
            '{"name": "run_tests", "arguments": {"suite": "live"}}]</s>'
            '[TOOL_RESULTS]{"content": "说\\"好\\"\\n", "call": 2}[/TOOL_RESULTS]'
            '[TOOL_RESULTS]{"content": "done", "call": 1}[/TOOL_RESULTS]'
            "[INST]Third.[/INST]Fourth.</s>[SYSTEM_PROMPT]Late.[/SYSTEM_PROMPT][INST]Fifth.[/INST]"
        )

    def test_a_longer_conversation_begins_with_the_shorter_one(self, tools: httpx.Client) -> None:
        # A last message of the assistant is not history: the server takes it for the beginning of the answer.
        ends = [end for end, message in enumerate(self.CONVERSATION, start=1) if message["role"] != "assistant"]
        prompts = [self.prompt(tools, list(self.CONVERSATION[:end]), tools=CLOSED_TOOLS) for end in ends]
        assert len(prompts) == 8
        assert all(longer.startswith(shorter) for shorter, longer in pairwise(prompts))

    def test_ten_steps_with_long_mixed_results_bring_ten_calls(self, model_folder: Path) -> None:
        options = LocalProviderOptions(variant=ModelVariant.TOOLS, context_tokens=16_384, prompt_cache=True)
        result = (
            "The module is not covered. 本轮检查发现配置文件里有问题。" + json.dumps({"path": "src/a.py"})
        ) * 30
        messages = list(self.CONVERSATION)
        sizes: list[int] = []
        with (
            LocalProvider.start(options, cache_dir=model_folder) as provider,
            httpx.Client(base_url=provider.base_url, timeout=60.0, trust_env=False) as client,
        ):
            for _ in range(10):
                body = answer(client, messages, tools=CLOSED_TOOLS, seed=42, temperature=1)
                message = body["choices"][0]["message"]
                check_call(*the_call(message), CLOSED_TOOLS)
                cached = body["usage"]["prompt_tokens_details"]["cached_tokens"]
                assert cached >= (sizes[-1] if sizes else 0)
                sizes.append(body["usage"]["prompt_tokens"])
                call_id = message["tool_calls"][0]["id"]
                messages += [message, {"role": "tool", "tool_call_id": call_id, "content": result}]
        assert sizes[-1] - sizes[0] > 9 * 800

    def test_a_seed_gives_the_same_answers_from_another_process(self, model_folder: Path) -> None:
        requests: list[JSON] = [{"tools": CLOSED_TOOLS}, {}, {"tools": OPEN_TOOLS}]
        seen = []
        for _ in range(2):
            options = LocalProviderOptions(variant=ModelVariant.TOOLS)
            with (
                LocalProvider.start(options, cache_dir=model_folder) as provider,
                httpx.Client(base_url=provider.base_url, timeout=60.0, trust_env=False) as client,
            ):
                seen.append(
                    [outcome(answer(client, ASK, seed=42, temperature=1, **settings)) for settings in requests]
                )
        assert seen[0] == seen[1]


class TestLimits:
    @pytest.mark.parametrize("stream", [False, True])
    def test_a_prompt_over_the_window_is_refused_with_both_counts(self, plain: httpx.Client, stream: bool) -> None:
        messages = [{"role": "user", "content": "word " * 5000}]
        response = plain.post("/chat/completions", json={"messages": messages, "stream": stream})
        error = response.json()["error"]
        assert response.status_code == 400
        assert error["type"] == "exceed_context_size_error"
        assert error["n_prompt_tokens"] > error["n_ctx"] == 4096

    def test_the_counting_route_says_what_the_answer_is_charged(self, tools: httpx.Client) -> None:
        counted = tools.post(
            "/chat/completions/input_tokens", json={"messages": ASK, "tools": CLOSED_TOOLS}
        ).json()
        charged = answer(tools, ASK, tools=CLOSED_TOOLS, max_tokens=1)["usage"]["prompt_tokens"]
        assert counted["input_tokens"] == charged

    def test_two_streams_that_share_a_pool_overflow_in_the_middle(self, model_folder: Path) -> None:
        options = LocalProviderOptions(context_tokens=1024, slots=2, shared_kv=True)
        messages = [{"role": "user", "content": "word " * 300}]
        with (
            LocalProvider.start(options, cache_dir=model_folder) as provider,
            httpx.Client(base_url=provider.base_url, timeout=60.0, trust_env=False) as client,
            ThreadPoolExecutor(2) as both,
        ):
            waiting = [both.submit(events, client, messages, ignore_eos=True, max_tokens=900) for _ in range(2)]
            streams = [future.result() for future in waiting]
        for data in streams:
            assert len(data) > 10
            assert json.loads(data[-1])["error"]["message"] == "Context size has been exceeded."
