"""A whole run over every wire protocol: parallel calls, a tool that fails, an overflow in the middle, a replay."""

import importlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import vcr
from botocore.credentials import Credentials as AwsCredentials
from google.oauth2.credentials import Credentials as GoogleCredentials

from copyfit import (
    AssistantMessage,
    ContextBudgets,
    ModelInput,
    OutputGuard,
    RunResult,
    SummaryRequest,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Transcript,
    UserMessage,
)
from copyfit.compaction.sections import HEADINGS
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.tools import Tool, ToolFailure
from copyfit.runtime.turn import TurnResult
from copyfit.shapes.messages import Message
from copyfit.shapes.model_output import FinishReason, StreamEvent, TextDelta
from copyfit_adapters import open_adapter
from copyfit_adapters.aws_signature import AwsSignature
from copyfit_adapters.google_token import GoogleToken
from copyfit_harness.cassettes.store import load_cassette
from copyfit_harness.proof.exact import Protocol, prove
from copyfit_harness.proof.protocols import PROTOCOLS
from copyfit_harness.proof.witness import Witness
from copyfit_harness.scripted.chat_replies import Say
from copyfit_harness.scripted.server import ScriptedServer
from copyfit_harness.scripted.voices.known import VOICES
from copyfit_harness.scripted.voices.voice import SEAL, FillsUp, Line, TooLong
from copyfit_harness.transport.recorder import Recorder, RecordMode
from copyfit_harness.wire.exchange import Exchange, header_value

pytestmark = pytest.mark.anyio

REGION = "eu-west-1"
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "x-amz-security-token")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What proves who sends in the run of this number; no two runs share any of it."""

    run: int

    @property
    def key(self) -> str:
        """A key of no published shape, so that only its place can give it away."""
        return f"k3y-0f-run-{self.run}"

    @property
    def signature(self) -> AwsSignature:
        access, secret, token = (f"{name}{self.run}x7Q9" for name in ("AKID", "s3cret", "s3ssion"))
        return AwsSignature(region=REGION, credentials=AwsCredentials(access, secret, token))

    @property
    def token(self) -> GoogleToken:
        return GoogleToken(credentials=GoogleCredentials(token=f"t0ken-of-google-{self.run}"))  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Server:
    """The server of an `adapter`, and what is its own.

    `options` opens the client of a run, and `header` is the one in which that proves who sends; `counts` says
    whether a refusal names its numbers, `returns` and `seals` whether the model's thoughts and their seal go back.
    """

    adapter: str
    options: Callable[[Secrets], dict[str, Any]]
    header: str = "authorization"
    counts: bool = True
    returns: bool = True
    seals: bool = True

    @property
    def protocol(self) -> Protocol:
        """What a request is read back by; Claude on Vertex AI is asked as at home."""
        return PROTOCOLS["anthropic-messages" if self.adapter == "anthropic-vertex" else self.adapter]

    def serving(self, script: Sequence[Line]) -> ScriptedServer:
        return ScriptedServer(script, VOICES[self.adapter])

    def client(self, http: Any, secrets: Secrets) -> Any:
        return open_adapter(f"{self.adapter}:m1", http=http, max_retries=0, **self.options(secrets))


def with_key(secrets: Secrets) -> dict[str, Any]:
    return {"api_key": secrets.key}


def signed(secrets: Secrets) -> dict[str, Any]:
    return {"region": REGION, "auth": secrets.signature}


SERVERS = {
    "chat": Server("openai-chat", with_key, returns=False, seals=False),
    "responses": Server("openai-responses", with_key, counts=False),
    "anthropic": Server("anthropic-messages", with_key, "x-api-key"),
    "anthropic on bedrock": Server("anthropic-bedrock", signed, counts=False),
    "anthropic on vertex": Server(
        "anthropic-vertex", lambda secrets: {"project": "p1", "region": "eu", "auth": secrets.token}
    ),
    "gemini": Server("gemini", with_key, "x-goog-api-key"),
    "gemini on vertex": Server(
        "gemini-vertex", lambda secrets: {"project": "p1", "location": "eu", "auth": secrets.token}
    ),
    "converse": Server("bedrock-converse", signed),
    "converse with a key": Server("bedrock-converse", lambda secrets: {"region": REGION, "api_key": secrets.key}),
    "mistral": Server("mistral-chat", with_key, seals=False),
    "cohere": Server("cohere-v2", with_key, seals=False),
    "ollama": Server("ollama-chat", with_key, counts=False, seals=False),
}

PUBLISHED_SHAPE = "sk-proj-abcdefgh0123456789"
CALLS = (
    ToolCall(id="callA0001", name="read_plot", arguments='{"plot":"plot-2"}'),
    ToolCall(id="callB0002", name="read_plot", arguments='{"plot":"plot-9"}'),
)
ASKS = Say("I read both plots.", calls=CALLS, thinking="Two plots, and then I compare them.")
ANSWER = Say("plot-2 is the driest: 8.41 dS/m, 盐碱地.")
TOO_LONG = TooLong(requested=9_000, limit=6_000)
BELIEVED = ContextBudgets(model_max_tokens=131_072, output_reserve_tokens=1_000, compaction_tool_preview_bytes=256)
READ_PLOT = ToolSpec(
    name="read_plot",
    description="Read what was measured in a plot.",
    parameters={"type": "object", "properties": {"plot": {"type": "string"}}, "required": ["plot"]},
)


class Checkpoints:
    """Writes checkpoints without a model, so that only the agent's requests are on the wire."""

    async def summarize(self, request: SummaryRequest) -> str:
        return "\n\n".join(f"## {heading}\n- noted" for heading in HEADINGS)


def read_plot(plot: str) -> str:
    if plot == "plot-9":
        raise ToolFailure("There is no plot-9.", code="NO_SUCH_PLOT")
    return f"{plot} read 8.41 dS/m"


def earlier_plots() -> Transcript:
    """Return a request and three closed steps, each with a long result that is stored under a ref."""
    guard = OutputGuard(store=MemoryToolOutputStore())
    messages: list[Message] = [UserMessage(content="Which plot is the driest?")]
    for number in range(3):
        call = ToolCall(id=f"call{number:05}", name="read_plot", arguments=f'{{"plot":"plot-{number}"}}')
        shown = guard.bound((f"plot-{number} read 1.02 dS/m. " * 400), tool_name="read_plot")
        messages += [
            AssistantMessage(content=(call,)),
            ToolMessage(call_id=call.id, name="read_plot", content=shown.text, output_ref=shown.output_ref),
        ]
    return Transcript(messages)


@dataclass(frozen=True, slots=True)
class Played:
    """One run: its result, its turns, what was sent, and the pieces of text that were streamed."""

    result: RunResult
    turns: tuple[TurnResult, ...]
    sent: tuple[ModelInput, ...]
    exchanges: tuple[Exchange, ...]
    streamed: str

    @property
    def bodies(self) -> list[bytes]:
        return [exchange.request.body for exchange in self.exchanges]

    def proofs_of_sender(self) -> set[str]:
        """Return what is secret in the headers that say who sent."""
        headers = [pair for exchange in self.exchanges for pair in exchange.request.headers]
        values = [value for name, value in headers if name.lower() in KEY_HEADERS]
        found = {value.removeprefix("Bearer ") for value in values}
        return found | {part for value in values for part in re.findall(r"(?:Credential|Signature)=(\w+)", value)}


async def run(
    server: Server, recorder: Recorder, *, inner: Any, family: str, secrets: Secrets, stream: bool
) -> Played:
    sent: list[ModelInput] = []
    turns: list[TurnResult] = []
    pieces: list[StreamEvent] = []
    transport = recorder.transport(inner)
    async with importlib.import_module(family).AsyncClient(transport=transport) as http:
        agent = compose_run(
            RunParts(
                client=Witness(server.client(http, secrets), sent.append),
                budgets=BELIEVED,
                prompt="You read plots.",
                contract="Cite the plot behind every figure.",
                tools=[Tool(READ_PLOT, read_plot, exclusive=False)],
                summarizer=Checkpoints(),
                on_turn=lambda _, turn: turns.append(turn),
                on_event=pieces.append if stream else None,
                context_id="every-protocol",
            )
        )
        result = await agent.run(earlier_plots())
    findings = prove(sent, recorder.exchanges, server.protocol)
    assert [finding for finding in findings if not finding.is_exact] == []
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextDelta))
    return Played(result, tuple(turns), tuple(sent), recorder.exchanges, text)


async def play(
    server: Server,
    script: Sequence[Line],
    cassette: Path,
    *,
    stream: bool,
    family: str = "httpx",
    again: str | None = None,
) -> tuple[Played, Played]:
    """Record the run, replay it without the server and with other secrets, and return both.

    `again` is the family of the replay, if it is another.
    """
    with (
        server.serving(script) as scripted,
        Recorder(cassette, mode=RecordMode.ALL) as recorder,
    ):
        recorded = await run(
            server, recorder, inner=scripted.transport(), family=family, secrets=Secrets(1), stream=stream
        )
    assert recorded.bodies == scripted.bodies
    with Recorder(cassette, mode=RecordMode.NONE) as recorder:
        replayed = await run(
            server, recorder, inner=None, family=again or family, secrets=Secrets(2), stream=stream
        )
    return recorded, replayed


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    return SERVERS[request.param]


FAMILIES = pytest.mark.parametrize("family", ["httpx", "httpx2"])
WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def played_by_vcrpy(cassette: Path, exchanges: Sequence[Exchange]) -> list[bytes]:
    """Return what vcrpy answers to the requests of `exchanges` out of the cassette."""
    match = ["method", "scheme", "host", "port", "path", "query", "body"]
    with vcr.VCR(record_mode="none", match_on=match).use_cassette(str(cassette)), httpx.Client() as client:
        headers = {"content-type": "application/json"}
        return [
            client.post(each.request.url, content=each.request.body, headers=headers).content for each in exchanges
        ]


@FAMILIES
@WAYS
async def test_a_whole_run_is_exact_recovers_once_and_replays(
    server: Server, family: str, stream: bool, tmp_path: Path
) -> None:
    cassette = tmp_path / "run.yaml"
    recorded, replayed = await play(server, [ASKS, TOO_LONG, ANSWER], cassette, family=family, stream=stream)
    result = recorded.result
    assert (result.output.message.text, result.output.finish_reason) == (ANSWER.text, FinishReason.STOP)
    assert [turn.recovered for turn in recorded.turns] == [False, True]
    overflow = recorded.turns[1].attempts[0].overflow
    assert overflow is not None
    assert (overflow.requested_tokens, overflow.limit_tokens) == (
        (9_000, 6_000) if server.counts else (None, None)
    )
    *_, asked, first, second, _ = result.history
    assert isinstance(asked, AssistantMessage)
    assert asked.text == ASKS.text
    assert [call.arguments for call in asked.tool_calls] == [call.arguments for call in CALLS]
    results = [message for message in (first, second) if isinstance(message, ToolMessage)]
    assert [(each.call_id, each.is_error) for each in results] == [
        (call.id, failed) for call, failed in zip(asked.tool_calls, (False, True), strict=True)
    ]
    refused, retried = recorded.bodies[1:]
    assert len(retried) < 0.75 * len(refused)
    assert b"NO_SUCH_PLOT" in retried
    assert recorded.streamed == (ASKS.text + ANSWER.text if stream else "")
    assert (replayed.result.history, replayed.sent) == (result.history, recorded.sent)
    assert (replayed.bodies, replayed.streamed) == (recorded.bodies, recorded.streamed)


@FAMILIES
async def test_a_stream_that_overflows_midway_is_recovered_and_replays_in_the_other_family(
    server: Server, family: str, tmp_path: Path
) -> None:
    script = (ASKS, FillsUp("plot-1 is"), ANSWER)
    other = {"httpx": "httpx2", "httpx2": "httpx"}[family]
    recorded, replayed = await play(server, script, tmp_path / "run.yaml", family=family, again=other, stream=True)
    assert recorded.result.output.message.text == ANSWER.text
    refused, retried = recorded.bodies[1:]
    assert len(retried) < 0.75 * len(refused)
    assert recorded.streamed == ASKS.text + "plot-1 is" + ANSWER.text
    assert (replayed.result.history, replayed.streamed) == (recorded.result.history, recorded.streamed)


@WAYS
async def test_the_cassette_holds_nothing_that_proves_who_sent(
    server: Server, stream: bool, tmp_path: Path
) -> None:
    cassette = tmp_path / "run.yaml"
    recorded, replayed = await play(server, [ASKS, TOO_LONG, ANSWER], cassette, stream=stream)
    for exchange in recorded.exchanges:
        assert header_value(exchange.request.headers, server.header)
    found = recorded.proofs_of_sender()
    assert found
    assert not found & replayed.proofs_of_sender()
    text = cassette.read_text("utf-8")
    assert [secret for secret in found if secret in text] == []


async def test_a_signed_recording_replays_for_whoever_has_a_dummy_key(tmp_path: Path) -> None:
    cassette = tmp_path / "run.yaml"
    recorded, _ = await play(SERVERS["converse"], [ASKS, ANSWER], cassette, stream=True)
    server = SERVERS["converse with a key"]
    with Recorder(cassette) as recorder:
        replayed = await run(server, recorder, inner=None, family="httpx", secrets=Secrets(2), stream=True)
    assert replayed.result.history == recorded.result.history


async def test_a_stream_stands_in_the_cassette_to_the_byte_and_vcrpy_plays_it(
    server: Server, tmp_path: Path
) -> None:
    cassette = tmp_path / "run.yaml"
    recorded, _ = await play(server, [ASKS, FillsUp("plot-1 is"), ANSWER], cassette, stream=True)
    live = [exchange.response.chunks for exchange in recorded.exchanges]
    assert [exchange.response.chunks for exchange in load_cassette(cassette).exchanges] == live
    assert all(len(chunks) > 1 for chunks in live)
    assert played_by_vcrpy(cassette, recorded.exchanges) == [b"".join(chunks) for chunks in live]


@WAYS
async def test_what_the_model_thought_goes_back_with_its_seal(
    server: Server, stream: bool, tmp_path: Path
) -> None:
    recorded, _ = await play(server, [ASKS, ANSWER], tmp_path / "run.yaml", stream=stream)
    body = recorded.bodies[1].decode()
    assert (ASKS.thinking in body, SEAL in body) == (server.returns, server.seals)


@WAYS
async def test_what_the_model_repeats_of_a_password_or_a_key_is_not_written_and_the_run_replays(
    server: Server, stream: bool, tmp_path: Path
) -> None:
    call = ToolCall(id="callA0001", name="read_plot", arguments='{"plot":"plot-2","password":"hunter2 and more"}')
    script = [Say(f"The key is {PUBLISHED_SHAPE}.", calls=(call,)), ANSWER]
    recorded, replayed = await play(server, script, tmp_path / "run.yaml", stream=stream)
    assert b"hunter2 and more" in recorded.bodies[1]
    assert PUBLISHED_SHAPE.encode() in recorded.bodies[1]
    cassette = (tmp_path / "run.yaml").read_text("utf-8")
    assert not {text for text in ("hunter2", PUBLISHED_SHAPE) if text in cassette}
    # A binary stream hides its words from a search of the file, so what it holds is read as the client reads it.
    called = replayed.result.history[-3]
    assert isinstance(called, AssistantMessage)
    assert called.text == "The key is REDACTED."
    assert [json.loads(each.arguments)["password"] for each in called.tool_calls] == ["REDACTED"]
    assert replayed.result.output.message.text == ANSWER.text
