"""What others really sent and received: public cassettes, and the official SDK over a mock transport."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from copyfit.errors import ContextOverflow
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    Message,
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
from copyfit_adapters.cohere_v2.decode import decode
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.encode import encode
from copyfit_adapters.cohere_v2.losses import LOSSES
from copyfit_adapters.cohere_v2.readback import readback
from copyfit_adapters.cohere_v2.stream import CohereStream

CALL = {"id": "c1", "type": "function", "function": {"name": "get_soil", "arguments": '{"plot": "03"}'}}
SAID = {
    "role": "assistant",
    "tool_plan": "I look.",
    "tool_calls": [CALL],
    "content": [{"type": "thinking", "thinking": "One plot."}],
    "citations": [{"start": 0, "end": 1, "text": "I", "type": "PLAN"}],
}
ANSWER = json.dumps(
    {
        "id": "r",
        "finish_reason": "TOOL_CALL",
        "message": SAID,
        "usage": {"tokens": {"input_tokens": 12, "output_tokens": 5}, "cached_tokens": 8},
    }
).encode()
PLAN = TextPart(text="I look.", extra={PROTOCOL: {"type": "tool_plan"}})
DOCUMENT = TextPart(text='{"salt":8.41}', extra={PROTOCOL: {"type": "document", "document": {"id": "d"}}})
HISTORY: tuple[Message, ...] = (
    UserMessage(content=(TextPart(text="Compare."), ImagePart(data="QUJD", media_type="image/png", detail="low"))),
    AssistantMessage(
        content=(
            ThinkingPart(text="One plot.", provider=PROTOCOL),
            PLAN,
            ToolCall(id="c1", name="get_soil", arguments='{"plot": "03"}'),
        ),
        extra={PROTOCOL: {"citations": SAID["citations"]}},
    ),
    ToolMessage(call_id="c1", content=(TextPart(text="Found."), DOCUMENT)),
    UserMessage(content="And now?"),
)
SETTINGS = ModelSettings(
    max_output_tokens=64,
    temperature=0.5,
    top_p=0.9,
    seed=7,
    stop=("END",),
    tool_choice="required",
    response_schema=ResponseSchema(json_schema={"type": "object"}),
    extra={PROTOCOL: {"documents": ["Salt is bad."], "thinking": {"type": "enabled", "token_budget": 9}, "k": 5}},
)
TOOL = ToolSpec(name="get_soil", description="Soil.", strict=True)
INPUT = ModelInput("Be brief.", HISTORY, (TOOL,), SETTINGS)


@contextmanager
def official(status: int, answer: bytes, *, stream: bool = False) -> Iterator[tuple[Any, list[bytes]]]:
    """Yield the official client, which gets `answer` to whatever it asks, and the bodies that it sends."""
    import cohere
    import httpx

    sent: list[bytes] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(request.read())
        kind = "text/event-stream" if stream else "application/json"
        return httpx.Response(status, headers={"content-type": kind}, content=answer)

    with httpx.Client(transport=httpx.MockTransport(reply)) as http:
        yield cohere.ClientV2(api_key="k", httpx_client=http), sent


def streamed(body: bytes) -> ModelOutput:
    stream = CohereStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def put_together(body: bytes) -> dict[str, Any]:
    """Return what the official SDK's events of a streamed answer add up to."""
    found: dict[str, Any] = {"text": "", "plan": "", "calls": []}
    with official(200, body, stream=True) as (client, _):
        for event in client.chat_stream(model="m", messages=[{"role": "user", "content": "x"}]):
            match event.type:
                case "content-delta":
                    found["text"] += event.delta.message.content.text
                case "tool-plan-delta":
                    found["plan"] += event.delta.message.tool_plan
                case "tool-call-start":
                    call = event.delta.message.tool_calls
                    found["calls"].append([call.id, call.function.name, call.function.arguments])
                case "tool-call-delta":
                    found["calls"][-1][2] += event.delta.message.tool_calls.function.arguments
                case "message-end":
                    found |= {"finish": event.delta.finish_reason, "usage": event.delta.usage}
    return found


def texts_of(message: AssistantMessage) -> tuple[str, str]:
    """Return what is said in the content, and the plan."""
    texts = [part for part in message.parts if isinstance(part, TextPart)]
    plans = [part.text for part in texts if part.extra == PLAN.extra]
    return "".join(part.text for part in texts if part.extra != PLAN.extra), "".join(plans)


def comparable(model_input: ModelInput) -> bytes:
    return canonical_json(without_losses(model_input.as_data(), LOSSES))


@pytest.mark.recorded("cohere chat-v2")
def test_a_recorded_request_reads_back_and_goes_out_again_the_same(recording: list[Any]) -> None:
    for interaction in recording:
        read = readback(interaction.sent)
        sent = json.loads(interaction.sent)
        again = encode(read, sent["model"], stream=sent.get("stream", False)).body
        assert readback(again) == read
        assert read.messages
        assert _without_forms(json.loads(again)) == _without_forms(sent)


def _without_forms(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body whose system text is plain text, and which is streamed only if it says so."""
    system, *rest = body["messages"]
    if system["role"] == "system" and not isinstance(system["content"], str):
        (part,) = system["content"]
        system = {**system, "content": part["text"]}
    return {"stream": False, **body, "messages": [system, *rest]}


@pytest.mark.recorded("cohere chat-v2")
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: list[Any]) -> None:
    import cohere

    for interaction in recording:
        if interaction.status != 200:
            with pytest.raises(ContextOverflow) as caught:
                decode(interaction.status, interaction.answer)
            assert caught.value.limit_tokens == 288_000
            with (
                official(interaction.status, interaction.answer) as (client, _),
                pytest.raises(cohere.BadRequestError),
            ):
                client.chat(model="m", messages=[])
            continue
        assert interaction.streamed
        ours, theirs = streamed(interaction.answer), put_together(interaction.answer)
        assert texts_of(ours.message) == (theirs["text"], theirs["plan"])
        assert theirs["text"] or theirs["calls"]
        calls = [[call.id, call.name, call.arguments] for call in ours.message.tool_calls]
        assert calls == [[call_id, name, arguments or "{}"] for call_id, name, arguments in theirs["calls"]]
        assert ours.raw_finish_reason == theirs["finish"]
        usage = theirs["usage"]
        assert ours.usage.input_tokens == usage.tokens.input_tokens
        assert ours.usage.output_tokens == usage.tokens.output_tokens
        assert ours.usage.cached_input_tokens == usage.cached_tokens
        assert usage.tokens.input_tokens >= usage.cached_tokens, "the cached tokens are part of the input"


def test_a_whole_answer_says_to_us_what_it_says_to_the_official_sdk() -> None:
    ours = decode(200, ANSWER)
    with official(200, ANSWER) as (client, _):
        theirs = client.chat(model="m", messages=[])
    message = theirs.message
    thinking, plan, call = ours.message.parts
    assert isinstance(thinking, ThinkingPart)
    assert isinstance(plan, TextPart)
    assert isinstance(call, ToolCall)
    assert [thinking.text] == [part.thinking for part in message.content]
    assert plan.text == message.tool_plan
    assert [(call.id, call.name, call.arguments)] == [
        (each.id, each.function.name, each.function.arguments) for each in message.tool_calls
    ]
    assert (ours.response_id, ours.raw_finish_reason) == (theirs.id, theirs.finish_reason)
    assert ours.usage.input_tokens == theirs.usage.tokens.input_tokens
    assert ours.usage.output_tokens == theirs.usage.tokens.output_tokens
    assert ours.usage.cached_input_tokens == theirs.usage.cached_tokens


def test_the_official_sdk_sends_the_same_conversation_as_we_do() -> None:
    import cohere

    image = {"url": "data:image/png;base64,QUJD", "detail": "low"}
    document = cohere.Document(data={"salt": 8.41}, id="d")
    function = {"name": "get_soil", "description": "Soil.", "parameters": {"type": "object", "properties": {}}}
    with official(200, ANSWER) as (client, sent):
        client.chat(
            model="m",
            messages=[
                cohere.SystemChatMessageV2(content="Be brief."),
                cohere.UserChatMessageV2(
                    content=[
                        cohere.TextContent(text="Compare."),
                        cohere.ImageUrlContent(image_url=cohere.ImageUrl(**image)),
                    ]
                ),
                client.chat(model="m", messages=[]).message,
                cohere.ToolChatMessageV2(
                    tool_call_id="c1",
                    content=[{"type": "text", "text": "Found."}, cohere.DocumentToolContent(document=document)],
                ),
                {"role": "user", "content": "And now?"},
            ],
            tools=[cohere.ToolV2(function=cohere.ToolV2Function(**function))],
            strict_tools=True,
            documents=["Salt is bad."],
            response_format=cohere.JsonObjectResponseFormatV2(json_schema={"type": "object"}),
            max_tokens=64,
            stop_sequences=["END"],
            temperature=0.5,
            seed=7,
            k=5,
            p=0.9,
            tool_choice="REQUIRED",
            thinking=cohere.Thinking(type="enabled", token_budget=9),
        )
    _, body = sent
    assert comparable(readback(body)) == comparable(INPUT)
    ours = json.loads(encode(INPUT, "m").body)
    assert json.loads(body) == ours | {"stream": False}
