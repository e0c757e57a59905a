"""What the official SDKs, litellm and the HTTP libraries really raise is judged, driven against a loopback server.

Each call is answered once with its provider's overflow and once with its rate limit; the exception, and the
response that it carries, give the same verdict and the same numbers.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
import httpx
import httpx2
import ollama
import pytest
import requests
from anthropic import Anthropic
from botocore.config import Config
from cohere import ClientV2
from google import genai
from mistralai.client import Mistral
from openai import LengthFinishReasonError, OpenAI

from copyfit_adapters.litellm.loading import load
from copyfit_adapters.overflow import Kind, judge
from copyfit_adapters.overflow.sources import evidence_of


class Provider(NamedTuple):
    """One provider's overflow, with the window and the size that it says, and its rate limit with its kind."""

    overflow: Mapping[str, Any]
    limit: int | None
    requested: int | None
    near: Mapping[str, Any]
    near_kind: Kind


class Server(Protocol):
    """Answers every request with the same reply."""

    reply: Mapping[str, Any]
    url: str


def read_provider(line: str) -> tuple[str, Provider]:
    said = json.loads(line)
    kind = Kind(said["near_kind"])
    return said["provider"], Provider(said["overflow"], said["limit"], said["requested"], said["near"], kind)


REPLIES = Path(__file__).with_name("sdk_replies.jsonl").read_text("utf-8").splitlines()
PROVIDERS = dict(map(read_provider, REPLIES))
MESSAGES: Any = [{"role": "user", "content": "x"}]


def openai(url: str) -> None:
    with OpenAI(api_key="k", base_url=url, max_retries=0) as client:
        client.chat.completions.create(model="m", messages=MESSAGES)


def anthropic(url: str) -> None:
    with Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        client.messages.create(model="m", max_tokens=1, messages=MESSAGES)


def google_genai(url: str) -> None:
    client = genai.Client(api_key="k", http_options={"base_url": url, "retry_options": {"attempts": 1}})
    try:
        client.models.generate_content(model="m", contents="x")
    finally:
        client.close()


def mistralai(url: str) -> None:
    with Mistral(api_key="k", server_url=url) as client:
        client.chat.complete(model="m", messages=MESSAGES)


def cohere(url: str) -> None:
    ClientV2(api_key="k", base_url=url).chat(model="m", messages=MESSAGES, request_options={"max_retries": 0})


def ollama_chat(url: str) -> None:
    ollama.Client(host=url).chat(model="m", messages=MESSAGES)


def bedrock(url: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"max_attempts": 0}),
    )


def converse(url: str) -> None:
    bedrock(url).converse(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])


def converse_stream(url: str) -> None:
    list(
        bedrock(url).converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])[
            "stream"
        ]
    )


def with_httpx(url: str) -> None:
    httpx.post(url).raise_for_status()


def with_httpx2(url: str) -> None:
    httpx2.post(url).raise_for_status()


def with_requests(url: str) -> None:
    requests.post(url, timeout=5).raise_for_status()


def through_litellm(model: str) -> Callable[[str], None]:
    def call(url: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # litellm's own, which it reports as failures where they are errors
            load().completion(model=model, messages=MESSAGES, api_key="k", api_base=url, max_retries=0)

    return call


CALLS: list[tuple[str, Callable[[str], None], Provider]] = [
    ("openai", openai, PROVIDERS["openai"]),
    ("anthropic", anthropic, PROVIDERS["anthropic"]),
    ("google-genai", google_genai, PROVIDERS["gemini"]),
    ("mistralai", mistralai, PROVIDERS["mistral"]),
    ("cohere", cohere, PROVIDERS["cohere"]),
    ("ollama", ollama_chat, PROVIDERS["ollama"]),
    ("boto3", converse, PROVIDERS["bedrock"]),
    ("boto3-event-stream", converse_stream, PROVIDERS["bedrock_stream"]),
    ("httpx", with_httpx, PROVIDERS["openai"]),
    ("httpx2", with_httpx2, PROVIDERS["openai"]),
    ("requests", with_requests, PROVIDERS["openai"]),
    ("litellm-openai", through_litellm("openai/m"), PROVIDERS["openai"]),
    ("litellm-anthropic", through_litellm("anthropic/m"), PROVIDERS["anthropic"]),
    ("litellm-gemini", through_litellm("gemini/m"), PROVIDERS["gemini"]),
    ("litellm-mistral", through_litellm("mistral/m"), PROVIDERS["mistral"]),
    ("litellm-ollama", through_litellm("ollama_chat/m"), PROVIDERS["ollama"]),
]


PROVIDER_OF = {call: provider for _, call, provider in CALLS}
every_call = pytest.mark.parametrize(
    ("call", "provider"), [pytest.param(call, provider, id=name) for name, call, provider in CALLS]
)


def failure_of(call: Callable[[str], None], url: str) -> Exception:
    try:
        call(url)
    except Exception as failure:  # noqa: BLE001 - each library raises a class of its own
        return failure
    raise AssertionError("the call went through")


def raised(call: Callable[[str], None], server: Server, reply: Mapping[str, Any]) -> Exception:
    server.reply = reply
    return failure_of(call, server.url)


def kind_of(source: object) -> Kind | None:
    verdict = judge(source)
    return verdict.kind if verdict else None


@every_call
def test_an_overflow_is_known_by_the_exception(
    call: Callable[[str], None], provider: Provider, server: Server
) -> None:
    verdict = judge(raised(call, server, provider.overflow))
    assert verdict is not None
    assert verdict.kind is Kind.CONTEXT_OVERFLOW
    assert (verdict.limit_tokens, verdict.requested_tokens) == (provider.limit, provider.requested)


@every_call
def test_a_rate_limit_is_known_by_the_exception(
    call: Callable[[str], None], provider: Provider, server: Server
) -> None:
    assert kind_of(raised(call, server, provider.near)) is provider.near_kind


@pytest.mark.parametrize(
    "call", [openai, anthropic, google_genai, with_httpx, with_httpx2, with_requests, converse]
)
def test_the_response_that_an_exception_carries_is_judged_as_well(
    call: Callable[[str], None], server: Server
) -> None:
    provider = PROVIDER_OF[call]
    for reply, kind in ((provider.overflow, Kind.CONTEXT_OVERFLOW), (provider.near, provider.near_kind)):
        assert kind_of(raised(call, server, reply).response) is kind  # type: ignore[attr-defined]


@pytest.mark.parametrize("call", [openai, anthropic, google_genai, mistralai, cohere, with_requests, converse])
def test_the_wait_that_a_provider_asks_for_is_read_off_the_exception(
    call: Callable[[str], None], server: Server
) -> None:
    provider = PROVIDER_OF[call]
    evidence = evidence_of(raised(call, server, provider.near))
    assert (evidence.status, evidence.retry_after) == (429, 7)


@pytest.mark.parametrize("call", [with_httpx, with_httpx2, with_requests, ollama_chat, openai, converse])
def test_a_server_that_cannot_be_reached_is_a_lost_connection(call: Callable[[str], None]) -> None:
    assert kind_of(failure_of(call, "http://127.0.0.1:9")) is Kind.TIMEOUT


def test_an_answer_cut_at_its_cap_that_should_have_been_parsed_is_an_output_limit(server: Server) -> None:
    cut = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "{"}}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [cut]}
    server.reply = {"status": 200, "body": answer}
    with OpenAI(api_key="k", base_url=server.url) as client, pytest.raises(LengthFinishReasonError) as caught:
        client.chat.completions.parse(model="m", messages=MESSAGES)
    assert kind_of(caught.value) is Kind.OUTPUT_LIMIT


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ContextWindowExceededError", Kind.CONTEXT_OVERFLOW),
        ("ContentPolicyViolationError", Kind.CONTENT_FILTER),
        ("RateLimitError", Kind.RATE_LIMIT_REQUESTS),
        ("AuthenticationError", Kind.AUTH),
        ("NotFoundError", Kind.INVALID_REQUEST),
        ("Timeout", Kind.TIMEOUT),
        ("ServiceUnavailableError", Kind.OVERLOADED),
        ("InternalServerError", Kind.OVERLOADED),
        ("BadRequestError", Kind.INVALID_REQUEST),
    ],
)
def test_an_exception_of_litellm_without_words_is_known_by_its_class_and_status(name: str, kind: Kind) -> None:
    assert kind_of(getattr(load(), name)(message="no", model="m", llm_provider="openai")) is kind


def test_a_budget_of_litellm_is_a_quota() -> None:
    assert kind_of(load().BudgetExceededError(current_cost=2.0, max_budget=1.0)) is Kind.QUOTA
