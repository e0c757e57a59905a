"""The official SDK, told the same conversation, sends what reads back as ours; each host adds its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from botocore.credentials import Credentials
from pydantic import BaseModel

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters import AnthropicMessagesClient
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.hosted import BEDROCK_LOSSES, encode_for_bedrock
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.aws_signature import AwsSignature
from copyfit_adapters.codec.losses import without_losses
from copyfit_harness.conformance.client import Server

SCHEMA = {"type": "object", "properties": {"plot": {"type": "string"}}, "required": ["plot"]}
OURS = ModelInput(
    "Be brief.",
    (
        UserMessage(
            content=(
                TextPart(text="Compare the plots: 盐."),
                ImagePart(data="QUJD", media_type="image/png"),
                FilePart(url="https://a/plan.pdf", filename="plan"),
            )
        ),
        AssistantMessage(
            content=(
                ThinkingPart(text="Two plots.", signature="c2ln", provider=PROTOCOL),
                ThinkingPart(provider=PROTOCOL, opaque={"type": "redacted_thinking", "data": "eHl6"}),
                TextPart(text="I look."),
                ToolCall(id="c1", name="get_soil", arguments='{"plot":"03","depth":1.0,"n":12345678901234567890}'),
                ToolCall(id="c2", name="get_soil", arguments="{}"),
            )
        ),
        ToolMessage(call_id="c1", content="8.41 dS/m"),
        ToolMessage(call_id="c2", content=(TextPart(text="no such plot"),), is_error=True),
        UserMessage(content=(TextPart(text="And now?"),)),
    ),
    (ToolSpec(name="get_soil", description="Soil of a plot.", parameters=SCHEMA, strict=True),),
    ModelSettings(
        max_output_tokens=64,
        temperature=0.5,
        stop=("END",),
        tool_choice="tool:get_soil",
        parallel_tool_calls=False,
        response_schema=ResponseSchema(json_schema=SCHEMA),
        extra={PROTOCOL: {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}},
    ),
)
THEIRS: dict[str, Any] = {
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Compare the plots: 盐."},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                {"type": "document", "source": {"type": "url", "url": "https://a/plan.pdf"}, "title": "plan"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two plots.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "eHl6"},
                {"type": "text", "text": "I look."},
                {
                    "type": "tool_use",
                    "id": "c1",
                    "name": "get_soil",
                    "input": {"plot": "03", "depth": 1.0, "n": 12345678901234567890},
                },
                {"type": "tool_use", "id": "c2", "name": "get_soil", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "8.41 dS/m", "is_error": False},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "no such plot"}],
                    "is_error": True,
                },
                {"type": "text", "text": "And now?"},
            ],
        },
    ],
    "tools": [
        {
            "name": "get_soil",
            "description": "Soil of a plot.",
            "input_schema": SCHEMA,
            "strict": True,
            "type": "custom",
        }
    ],
    "tool_choice": {"type": "tool", "name": "get_soil", "disable_parallel_tool_use": True},
    "stop_sequences": ["END"],
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    "extra_body": {"temperature": 0.5},
}
ANSWER = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "usage": {}}
HOSTS: dict[str, Callable[[Any], Any]] = {
    "anthropic": lambda http: anthropic.Anthropic(api_key="k", http_client=http),
    "bedrock": lambda http: anthropic.AnthropicBedrock(
        aws_access_key="AKID", aws_secret_key="s", aws_session_token="t", aws_region="eu-west-1", http_client=http
    ),
    "mantle": lambda http: anthropic.AnthropicBedrockMantle(
        aws_access_key="AKID", aws_secret_key="s", aws_session_token="t", aws_region="eu-west-1", http_client=http
    ),
    "vertex": lambda http: anthropic.AnthropicVertex(
        access_token="t", project_id="p", region="eu", http_client=http
    ),
}
FORM = {
    "anthropic": {"model"},
    "bedrock": {"anthropic_version"},
    "mantle": {"model"},
    "vertex": {"anthropic_version"},
}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the credentials of whoever runs this out of it."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)


def sent_to(host: str, call: Callable[[Any], Any]) -> Any:
    """Return the request that `call` makes the official client of `host` send."""
    sent: list[Any] = []

    def answer(request: Any) -> Any:
        sent.append(request)
        return httpx2.Response(200, json=ANSWER)

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http, HOSTS[host](http) as client:
        call(client)
    (request,) = sent
    return request


def same(read: ModelInput, losses: Any = LOSSES) -> bool:
    kept, gone = (canonical_json(without_losses(found.as_data(), losses)) for found in (read, OURS))
    return kept == gone


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_conversation_reads_back_as_ours(host: str) -> None:
    body = sent_to(host, lambda client: client.messages.create(model="m", **THEIRS)).read()
    fields = json.loads(body)
    assert fields.keys() - THEIRS.keys() == FORM[host] | {"temperature"}
    assert THEIRS.keys() - fields.keys() == {"extra_body"}
    assert same(readback(body))
    fields["messages"][2]["content"][0]["content"] = "8.42 dS/m"
    assert not same(readback(json.dumps(fields).encode()))


def test_betas_for_bedrock_stand_in_the_body_and_are_read_back() -> None:
    request = sent_to(
        "bedrock", lambda client: client.beta.messages.create(model="m", betas=["b-1", "b-2"], **THEIRS)
    )
    read = readback(request.read())
    assert read.settings.extra[PROTOCOL]["anthropic_beta"] == ["b-1", "b-2"]
    assert same(read, BEDROCK_LOSSES)
    assert json.loads(encode_for_bedrock(read, "m").body)["anthropic_beta"] == ["b-1", "b-2"]


@pytest.mark.anyio
async def test_the_newer_endpoint_of_bedrock_takes_what_anthropics_own_takes() -> None:
    theirs = sent_to("mantle", lambda client: client.messages.create(model="m", **THEIRS))
    server = Server(httpx2, lambda: httpx2.Response(200, json=ANSWER))
    client = AnthropicMessagesClient(
        "m",
        base_url="https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1",
        auth=AwsSignature(region="eu-west-1", service="bedrock-mantle", credentials=Credentials("AKID", "s", "t")),
        http=server.http,
    )
    await client.complete(OURS)
    (ours,) = server.requests
    assert ours.url == theirs.url
    assert same(readback(ours.read()))
    scopes = {request.headers["authorization"].split(",")[0].split("/", 2)[2] for request in (ours, theirs)}
    assert scopes == {"eu-west-1/bedrock-mantle/aws4_request"}


@pytest.mark.parametrize("host", ["anthropic", "mantle", "vertex"])
def test_betas_for_the_others_stand_in_a_header(host: str) -> None:
    request = sent_to(host, lambda client: client.beta.messages.create(model="m", betas=["b-1", "b-2"], **THEIRS))
    assert request.headers["anthropic-beta"].split(",")[:2] == ["b-1", "b-2"]
    assert same(readback(request.read()))


def test_a_file_given_to_the_sdk_arrives_as_base64(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"ABC")
    told: Any = json.loads(json.dumps(THEIRS))
    told["messages"][0]["content"][1]["source"]["data"] = tmp_path / "a.png"
    assert same(readback(sent_to("anthropic", lambda client: client.messages.create(model="m", **told)).read()))


class Plan(BaseModel):
    """What the SDK makes a schema of."""

    plot: str
    depth: int = 0


def test_the_sdk_closes_the_schema_that_it_makes_of_a_class() -> None:
    asked: dict[str, Any] = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "x"}]}

    def call(client: Any) -> None:
        client.messages.parse(output_format=Plan, **asked)

    read = readback(sent_to("anthropic", call).read()).settings.response_schema
    assert read is not None
    assert read.json_schema["additionalProperties"] is False
    assert read.json_schema["properties"].keys() == {"plot", "depth"}
