"""What others really sent and received: public cassettes, and Ollama's official client beside ours.

There are few recordings of Ollama, so the answers that both read are made here in the server's own form
(api/types.go and docs/api.md of ollama 0.33).
"""

import json
from typing import Any

import httpx
import pytest

from copyfit.errors import BadRequest, ContextOverflow
from copyfit.shapes.canonical import canonical_json
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
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.ollama_chat.decode import decode
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.encode import encode
from copyfit_adapters.ollama_chat.losses import LOSSES
from copyfit_adapters.ollama_chat.readback import readback
from copyfit_adapters.ollama_chat.stream import OllamaStream

CALLS = [
    {"id": "call_1", "function": {"index": 0, "name": "get_soil", "arguments": {"plot": "03", "depth": 1.5}}},
    {"id": "call_2", "function": {"index": 1, "name": "get_soil", "arguments": {}}},
]
METRICS: dict[str, Any] = {
    "total_duration": 9,
    "load_duration": 1,
    "prompt_eval_count": 26,
    "eval_count": 12,
    "eval_duration": 3,
}


def reply(message: dict[str, Any], *, done: bool = True, **fields: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": ""} | message
    return {"model": "m", "created_at": "2026-01-02T03:04:05Z", "message": said, "done": done} | fields


ANSWERS = {
    "text": [reply({"content": "Hé"}, done=False), reply({"content": "llo"}, done_reason="stop", **METRICS)],
    "reasoning and calls": [
        reply({"thinking": "Two "}, done=False),
        reply({"thinking": "plots."}, done=False),
        reply({"tool_calls": CALLS[:1]}, done=False),
        reply({"tool_calls": CALLS[1:]}, done=False),
        reply({}, done_reason="stop", **METRICS),
    ],
    "cut by its cap": [reply({"content": "He"}, done_reason="length", prompt_eval_count=26, eval_count=1)],
    "all from the cache of an old server": [reply({"content": "He"}, eval_count=1)],
    "a model that was loaded": [reply({}, done_reason="load")],
}


def as_whole(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer that the server would have given without streaming."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(chunk["message"]["content"] for chunk in chunks),
    }
    thinking = "".join(chunk["message"].get("thinking", "") for chunk in chunks)
    calls = [call for chunk in chunks for call in chunk["message"].get("tool_calls", [])]
    message |= ({"thinking": thinking} if thinking else {}) | ({"tool_calls": calls} if calls else {})
    return chunks[-1] | {"message": message}


class Wire:
    """Answers the official client with `body`, and keeps what it sent."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        from ollama import Client

        self.sent: list[bytes] = []
        self._answer = httpx.Response(status, content=body)
        self.client = Client(host="http://127.0.0.1:11434", transport=httpx.MockTransport(self))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request.read())
        return self._answer


def streamed(body: bytes) -> ModelOutput:
    stream = OllamaStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def said_by(message: Any) -> tuple[str, str, list[tuple[str, Any]]]:
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    return message.content or "", message.thinking or "", calls


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("chunks", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_says_to_us_what_it_says_to_the_official_client(chunks: list[Any], stream: bool) -> None:
    whole = json.dumps(as_whole(chunks)).encode()
    body = b"".join(json.dumps(chunk).encode() + b"\n" for chunk in chunks) if stream else whole
    with Wire(body).client as client:
        theirs = list(client.chat("m", [], stream=True)) if stream else [client.chat("m", [])]
    ours = streamed(body) if stream else decode(200, body)
    parts = ours.message.parts
    calls = [(part.name, json.loads(part.arguments)) for part in parts if isinstance(part, ToolCall)]
    thoughts = "".join(part.text for part in parts if isinstance(part, ThinkingPart))
    spoken = [said_by(chunk.message) for chunk in theirs]
    assert (ours.message.text, thoughts) == tuple("".join(each) for each in list(zip(*spoken, strict=True))[:2])
    assert calls == [call for _, _, each in spoken for call in each]
    last = theirs[-1]
    assert (ours.raw_finish_reason, ours.model) == (last.done_reason, last.model)
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (last.prompt_eval_count, last.eval_count)
    assert ours.usage.raw.get("total_duration") == last.total_duration
    assert ours == decode(200, whole)


@pytest.mark.recorded("ollama chat")
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for interaction in recording:
        read = readback(interaction.sent)
        sent = json.loads(interaction.sent)
        again = json.loads(encode(read, sent["model"], stream=sent["stream"], may_cut=True).body)
        # An empty list of tools is what the official client sends for none.
        assert again == {name: value for name, value in sent.items() if value != []}
        kept, gone = (
            without_losses(each.as_data(), LOSSES) for each in (read, readback(json.dumps(again).encode()))
        )
        assert canonical_json(kept) == canonical_json(gone)


@pytest.mark.recorded("ollama chat")
def test_a_recorded_error_is_one_to_us_as_to_the_official_client(recording: Any) -> None:
    from ollama import ResponseError

    for interaction in recording:
        with Wire(interaction.answer, interaction.status).client as client, pytest.raises(ResponseError) as theirs:
            client.chat("m", [])
        with pytest.raises(BadRequest) as ours:
            decode(interaction.status, interaction.answer)
        assert ours.value.status == theirs.value.status_code == 404
        assert theirs.value.error in str(ours.value)


def test_an_error_in_mid_stream_is_one_to_us_as_to_the_official_client() -> None:
    from ollama import ResponseError

    said = "the prompt is longer than the context length currently available to the model"
    body = json.dumps(reply({"content": "x"}, done=False)).encode() + b"\n" + json.dumps({"error": said}).encode()
    with Wire(body).client as client, pytest.raises(ResponseError) as theirs:
        list(client.chat("m", [], stream=True))
    with pytest.raises(ContextOverflow) as ours:
        streamed(body + b"\n")
    assert theirs.value.error == said
    assert said in str(ours.value)


PARAMETERS = {"type": "object", "properties": {"plot": {"type": "string"}}, "required": ["plot"]}
ASKED = ModelInput(
    "Be brief.",
    (
        UserMessage(content=(TextPart(text="Compare the plots."), ImagePart(data="QUJDRA=="))),
        AssistantMessage(
            content=(
                ThinkingPart(text="Two plots.", provider=PROTOCOL),
                TextPart(text="I look."),
                ToolCall(id="c1", name="get_soil", arguments='{"plot":"03"}'),
                ToolCall(id="c2", name="get_water", arguments='{"plot":"04"}'),
            )
        ),
        ToolMessage(call_id="c1", name="get_soil", content="8.41 dS/m"),
        ToolMessage(call_id="c2", name="get_water", content="no such plot"),
        UserMessage(content="And now?"),
    ),
    (ToolSpec(name="get_soil", description="Soil of a plot.", parameters=PARAMETERS),),
    ModelSettings(
        max_output_tokens=9,
        temperature=0.5,
        stop=("END",),
        response_schema=ResponseSchema(json_schema={"type": "object"}),
        extra={PROTOCOL: {"think": "high", "options": {"top_k": 20}}},
    ),
)


def sent_by_the_official_client(model_input: ModelInput) -> bytes:
    """Return what the official client puts on the wire when it is given our own body's fields."""
    body = json.loads(encode(model_input, "m", may_cut=True).body)
    wire = Wire(json.dumps(reply({})).encode())
    with wire.client as client:
        client.chat(**body)
    return wire.sent[0]


def test_the_official_client_sends_the_same_input_but_for_the_ids_that_it_drops() -> None:
    read = readback(sent_by_the_official_client(ASKED))
    ids = {"c1": "call-2-0", "c2": "call-2-1"}
    data = json.dumps(ASKED.as_data())
    for ours, theirs in ids.items():
        data = data.replace(f'"{ours}"', f'"{theirs}"')
    expected = without_losses(json.loads(data), LOSSES)
    assert canonical_json(without_losses(read.as_data(), LOSSES)) == canonical_json(expected)


def test_what_the_official_client_drops_of_what_the_server_takes() -> None:
    ours = json.loads(encode(ASKED, "m", may_cut=True).body)
    theirs = json.loads(sent_by_the_official_client(ASKED))
    for call in ours["messages"][2]["tool_calls"]:
        del call["id"]
    for result in ours["messages"][3:5]:
        del result["tool_call_id"]
    assert theirs == ours


def test_the_official_client_rewrites_a_tools_schema_and_empty_content() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}},
        "additionalProperties": False,
    }
    silent = AssistantMessage(content=(ToolCall(id="c", name="f"),))
    model_input = ModelInput("", (silent,), (ToolSpec(name="f", parameters=schema),))
    theirs = json.loads(sent_by_the_official_client(model_input))
    assert theirs["tools"][0]["function"]["parameters"] == {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
    }
    assert "content" not in theirs["messages"][0]
    assert readback(json.dumps(theirs).encode()).messages == (
        AssistantMessage(content=(ToolCall(id="call-0-0", name="f"),)),
    )
