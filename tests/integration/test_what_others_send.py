"""What the official SDKs and litellm put on the wire, through our recorder, when they are given one conversation.

Each official SDK gets the conversation in its own terms: the fields of our request as its arguments. litellm gets
it in the form of chat completions for each provider. Both are read back and compared with the conversation, apart
from what the wire format itself cannot carry. The findings are the table of docs/what-others-send.md, which this
test writes anew when COPYFIT_WRITE_PAGES is set, and otherwise holds to be what is really sent.
"""

import base64
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from copyfit.errors import CopyfitError
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.encode import encode as encode_messages
from copyfit_adapters.bedrock_converse.encode import encode as encode_converse
from copyfit_adapters.cohere_v2.encode import encode as encode_cohere
from copyfit_adapters.gemini.encode import encode as encode_gemini
from copyfit_adapters.litellm.client import LiteLLMClient
from copyfit_adapters.litellm.messages import maker_of
from copyfit_adapters.mistral_chat.encode import encode as encode_mistral
from copyfit_adapters.ollama_chat.encode import encode as encode_ollama
from copyfit_adapters.openai_chat.encode import encode as encode_chat
from copyfit_adapters.openai_responses.encode import encode as encode_responses
from copyfit_harness.proof.exact import compare
from copyfit_harness.proof.protocols import PROTOCOLS
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.wire.difference import Difference, DifferenceKind

PAGE = Path(__file__).parents[2] / "docs" / "what-others-send.md"
PLOT = {"type": "object", "properties": {"plot": {"type": "string"}}, "required": ["plot"]}
CALLS = tuple(
    ToolCall(id=f"call0000{number}", name="get_soil", arguments=f'{{"plot":"0{number}"}}') for number in (1, 2)
)
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def conversation(protocol: str) -> ModelInput:
    """Return the conversation, with reasoning that `protocol` made."""
    return ModelInput(
        "Be brief.",
        (
            UserMessage(
                content=(TextPart(text="Compare both plots."), ImagePart(data=PIXEL, media_type="image/png"))
            ),
            AssistantMessage(
                content=(
                    ThinkingPart(text="Two calls.", provider=protocol),
                    TextPart(text="I look at both."),
                    *CALLS,
                )
            ),
            ToolMessage(call_id=CALLS[0].id, name="get_soil", content="8.41 dS/m"),
            ToolMessage(call_id=CALLS[1].id, name="get_soil", content="no such plot", is_error=True),
            AssistantMessage(content="Only the first is there."),
            UserMessage(content="First this."),
            UserMessage(content="Then that."),
        ),
        (ToolSpec(name="get_soil", description="Soil of a plot.", parameters=PLOT, strict=True),),
        ModelSettings(
            max_output_tokens=64,
            temperature=0.5,
            top_p=0.9,
            seed=7,
            stop=("END",),
            tool_choice="required",
            parallel_tool_calls=False,
            response_schema=ResponseSchema(json_schema={"type": "object"}, name="plots", strict=True),
        ),
    )


class Wire:
    """What a sender sends through: a recorder, opened when it is needed, over a server with one answer."""

    def __init__(self, open_recorder: Callable[[], Recorder]) -> None:
        self._open = open_recorder
        self._recorder: Recorder | None = None

    def transport(self, family: Any, answer: dict[str, Any], status: int = 200) -> Any:
        self._recorder = self._open()
        return self._recorder.transport(family.MockTransport(lambda _: family.Response(status, json=answer)))

    @property
    def body(self) -> bytes:
        assert self._recorder is not None
        (exchange,) = self._recorder.exchanges
        return exchange.request.body


def fields_of(request: Any) -> dict[str, Any]:
    return dict(json.loads(request.body))


def openai_chat(model_input: ModelInput, wire: Wire) -> bytes:
    import openai

    answer = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
    with httpx2.Client(transport=wire.transport(httpx2, answer)) as http:
        client: Any = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
        client.chat.completions.create(**fields_of(encode_chat(model_input, "m")))
    return wire.body


def openai_responses(model_input: ModelInput, wire: Wire) -> bytes:
    import openai

    answer = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [], "status": "completed"}
    with httpx2.Client(transport=wire.transport(httpx2, answer)) as http:
        client: Any = openai.OpenAI(api_key="k", http_client=http, max_retries=0)
        client.responses.create(**fields_of(encode_responses(model_input, "m")))
    return wire.body


def anthropic_messages(model_input: ModelInput, wire: Wire) -> bytes:
    import anthropic

    fields = fields_of(encode_messages(model_input, "m"))
    # Its own arguments have no sampling settings any more.
    beside = {name: fields.pop(name) for name in ("temperature", "top_p")}
    answer = {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    with httpx2.Client(transport=wire.transport(httpx2, answer)) as http:
        client: Any = anthropic.Anthropic(api_key="k", http_client=http, max_retries=0)
        client.messages.create(**fields, extra_body=beside)
    return wire.body


def gemini(model_input: ModelInput, wire: Wire) -> bytes:
    from google.genai import Client, types

    fields = fields_of(encode_gemini(model_input, "m"))
    config = {name: value for name, value in fields.items() if name not in ("contents", "generationConfig")}
    with httpx.Client(transport=wire.transport(httpx, {"candidates": []})) as http:
        client: Any = Client(api_key="k", http_options=types.HttpOptions(httpx_client=http))
        config |= fields.get("generationConfig", {})
        client.models.generate_content(model="m", contents=fields["contents"], config=config)
    return wire.body


def bedrock_converse(model_input: ModelInput, wire: Wire) -> bytes:
    """Send through botocore, which takes no transport; its own event shows the request as it goes out."""
    import boto3
    from botocore.awsrequest import AWSResponse
    from urllib3 import HTTPResponse

    sent: list[bytes] = []

    def answer(request: Any, **_: Any) -> Any:
        sent.append(request.body)
        said = b'{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"end_turn"}'
        return AWSResponse(request.url, 200, {}, HTTPResponse(body=BytesIO(said), preload_content=False))

    client: Any = boto3.client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    client.meta.events.register("before-send.bedrock-runtime.*", answer)
    client.converse(modelId="m", **_with_bytes(fields_of(encode_converse(model_input, "m"))))
    return sent[0]


def mistral_chat(model_input: ModelInput, wire: Wire) -> bytes:
    from mistralai.client import Mistral

    answer = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [], "usage": {}}
    with httpx2.Client(transport=wire.transport(httpx2, answer)) as http:
        client: Any = Mistral(api_key="k", client=http)
        client.chat.complete(**fields_of(encode_mistral(model_input, "m")))
    return wire.body


def cohere_v2(model_input: ModelInput, wire: Wire) -> bytes:
    import cohere

    with httpx.Client(transport=wire.transport(httpx, {"id": "r", "finish_reason": "COMPLETE"})) as http:
        client: Any = cohere.ClientV2(api_key="k", httpx_client=http)
        client.chat(**fields_of(encode_cohere(model_input, "m")))
    return wire.body


def ollama_chat(model_input: ModelInput, wire: Wire) -> bytes:
    import ollama

    answer = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True}
    client: Any = ollama.Client(transport=wire.transport(httpx, answer))
    client.chat(**fields_of(encode_ollama(model_input, "m", may_cut=True)))
    return wire.body


def _with_bytes(value: Any) -> Any:
    """Return what botocore takes for a body: bytes where JSON has base64."""
    if isinstance(value, dict):
        return {
            name: base64.b64decode(entry) if name == "bytes" else _with_bytes(entry)
            for name, entry in value.items()
        }
    return [_with_bytes(entry) for entry in value] if isinstance(value, list) else value


OFFICIAL: dict[str, tuple[str, Callable[[ModelInput, Wire], bytes]]] = {
    "openai-chat": ("openai", openai_chat),
    "openai-responses": ("openai", openai_responses),
    "anthropic-messages": ("anthropic", anthropic_messages),
    "gemini": ("google-genai", gemini),
    "bedrock-converse": ("boto3", bedrock_converse),
    "mistral-chat": ("mistralai", mistral_chat),
    "cohere-v2": ("cohere", cohere_v2),
    "ollama-chat": ("ollama", ollama_chat),
}
THROUGH_LITELLM: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("openai/m", {}),
    "anthropic-messages": ("anthropic/claude-sonnet-4-5", {}),
    "gemini": ("gemini/gemini-2.5-pro", {}),
    "bedrock-converse": (
        "bedrock/converse/anthropic.claude-sonnet-4-5-20250929-v1:0",
        {"aws_access_key_id": "a", "aws_secret_access_key": "b", "aws_region_name": "us-east-1"},
    ),
    "mistral-chat": ("mistral/m", {}),
    "ollama-chat": ("ollama_chat/m", {}),
}


async def litellm(protocol: str, wire: Wire) -> bytes:
    """Send the conversation through litellm, which is told to leave out what a provider does not have."""
    model, options = THROUGH_LITELLM[protocol]
    refusal = {"error": {"message": "stop"}}
    async with httpx.AsyncClient(transport=wire.transport(httpx, refusal, status=400)) as http:
        client = LiteLLMClient(model, api_key="k", http=http, options={"drop_params": True} | options)
        with pytest.raises(CopyfitError):
            await client.complete(conversation(maker_of(client.provider)))
    return wire.body


def row(sender: str, protocol: str, body: bytes) -> str:
    """Return the row of the table for one sender."""
    finding = compare(conversation(protocol), body, PROTOCOLS[protocol])
    assert not finding.problem, finding.problem
    found: dict[DifferenceKind, list[str]] = {kind: [] for kind in DifferenceKind}
    for difference in finding.differences:
        found[difference.kind].append(f"`{difference.path}`{_said(difference)}")
    cells = (", ".join(found[kind]) or "nothing" for kind in DIRECTIONS)
    return f"| {sender} | {protocol} | {' | '.join(cells)} |"


DIRECTIONS = (DifferenceKind.REMOVED, DifferenceKind.CHANGED, DifferenceKind.ADDED)


def _said(difference: Difference) -> str:
    """Return what was added by its names, and the two values of something that changed if they are short."""
    added = difference.actual
    if difference.kind is DifferenceKind.ADDED and isinstance(added, dict):
        names = added.get("name") or ", ".join(
            name for own in added.values() if isinstance(own, dict) for name in own
        )
        return f" (`{names}`)" if names else ""
    if difference.kind is not DifferenceKind.CHANGED:
        return ""
    sides = [json.dumps(side, ensure_ascii=False) for side in (difference.expected, added)]
    return f" (`{sides[0]}` to `{sides[1]}`)" if all(len(side) <= 40 for side in sides) else ""


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Callable[[str], Wire]]:
    """Yield what makes a new recorder for each sender, all closed at the end."""
    with ExitStack() as recorders:
        yield lambda name: Wire(
            lambda: recorders.enter_context(Recorder(tmp_path / f"{name}.yaml", mode=RecordMode.ALL))
        )


@pytest.mark.filterwarnings("ignore")  # litellm's and botocore's own, about themselves
def test_the_page_tells_what_the_official_sdks_and_litellm_really_send(wire: Callable[[str], Wire]) -> None:
    rows = [
        row(name, protocol, send(conversation(protocol), wire(protocol)))
        for protocol, (name, send) in OFFICIAL.items()
    ]
    rows += [
        row("litellm", protocol, anyio.run(litellm, protocol, wire(f"litellm-{protocol}")))
        for protocol in THROUGH_LITELLM
    ]
    before, _, _ = PAGE.read_text("utf-8").partition("| sender |")
    page = before + "\n".join([*HEAD, *rows]) + "\n"
    if os.environ.get("COPYFIT_WRITE_PAGES"):
        PAGE.write_text(page, "utf-8")
    assert PAGE.read_text("utf-8") == page, "the page is out of date; write it with COPYFIT_WRITE_PAGES=1"


HEAD = ("| sender | protocol | drops | changes | adds |", "|---|---|---|---|---|")
