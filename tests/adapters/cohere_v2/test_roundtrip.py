"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from typing import Any

from hypothesis import strategies as st

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
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.cohere_v2.decode import decode
from copyfit_adapters.cohere_v2.dialect import PROTOCOL
from copyfit_adapters.cohere_v2.encode import encode
from copyfit_adapters.cohere_v2.losses import LOSSES
from copyfit_adapters.cohere_v2.readback import readback
from copyfit_adapters.cohere_v2.stream import CohereStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import JSON, OBJECTS, TEXTS, InputStrategies, extras, images

NAMES = ("citations", "x_note", "weight")
PLAIN = extras(PROTOCOL, *NAMES)
PLAN = {PROTOCOL: {"type": "tool_plan"}}


class Strategies(InputStrategies):
    """Images go with the user alone: the protocol has no form for one in what a model or a tool says."""

    def messages(self) -> st.SearchStrategy[Message]:
        return super().messages().map(_imageless)


def _imageless(message: Message) -> Message:
    if message.role == "user" or isinstance(message.content, str):
        return message
    said = tuple(part for part in message.content if not isinstance(part, ImagePart))
    return message.model_copy(update={"content": said})


CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"type": "audio"} | fields}),
    st.dictionaries(st.sampled_from(["audio", "format"]), JSON, max_size=2),
)
DOCUMENTS = st.builds(
    lambda data, inner, extra: TextPart(
        text=json.dumps(data, indent=1), extra={PROTOCOL: {"type": "document"} | inner | extra}
    ),
    OBJECTS,
    st.fixed_dictionaries({}, optional={"document": st.fixed_dictionaries({"id": JSON})}),
    st.dictionaries(st.just("x_note"), JSON),
)
PLANS = st.builds(TextPart, text=TEXTS, extra=st.just(PLAN))
REASONING = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "anthropic-messages"]),
    opaque=st.sampled_from([{}, {"x": 1}]),
)
THOUGHTS: st.SearchStrategy[Any] = st.one_of(REASONING, PLANS)
IMAGES = images(extras(PROTOCOL, *NAMES, nested={"image_url": NAMES}))
NESTED = extras(PROTOCOL, *NAMES, nested={"function": NAMES})
STRATEGIES = Strategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN) | CARRIERS | DOCUMENTS | IMAGES,
    thought=THOUGHTS,
    arguments=TEXTS,
    message_extra=PLAIN,
    tool_message_extra=PLAIN,
    call_extra=NESTED,
    tool_extra=NESTED,
    settings_extra=extras(PROTOCOL, "documents", "thinking", "k", "safety_mode"),
    choices=st.sampled_from([None, "auto", "none", "required"]),
)
ANSWER = {
    "id": "r",
    "finish_reason": "COMPLETE",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
}
STREAM: list[dict[str, Any]] = [
    {"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant", "content": []}}},
    {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": "H"}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "é"}}}},
    {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "l\u2028lo\U0001f600"}}}},
    {"type": "content-end", "index": 0},
    {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
]


def of(*messages: Message) -> ModelInput:
    return ModelInput("", messages)


def said(*parts: TextPart | ThinkingPart | ToolCall) -> ModelInput:
    return of(AssistantMessage(content=parts))


def under(**settings: Any) -> ModelInput:
    return ModelInput("", (), settings=ModelSettings(**settings))


class TestCohereV2(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=CohereStream,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": of(UserMessage(content="x", extra={"openai-chat": {"a": 1}})),
        "names": of(UserMessage(content="x", name="ann")),
        "tool-error-flag": of(ToolMessage(call_id="c", content="x", is_error=True)),
        "parallel-tool-calls": under(parallel_tool_calls=False),
        "schema-facts": under(response_schema=ResponseSchema(json_schema={}, name="plan")),
        "free-choice": under(tool_choice="auto"),
        "strict-tools": ModelInput("", (), (ToolSpec(name="f", strict=True), ToolSpec(name="g", strict=False))),
        "foreign-thinking": said(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="x")),
        "empty-messages": of(UserMessage(content="x"), AssistantMessage(content="")),
        "thinking-seal": said(ThinkingPart(text="t", provider=PROTOCOL, signature="s")),
        "tool-plans": said(TextPart(text="a", extra=PLAN), TextPart(text="b", extra=PLAN)),
        "part-order": said(ToolCall(id="c", name="f"), TextPart(text="I look.", extra=PLAN)),
        "document-text": of(
            ToolMessage(call_id="c", content=(TextPart(text='{"a": 1}', extra={PROTOCOL: {"type": "document"}}),))
        ),
        "media-type": of(UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),))),
        "data-url": of(UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),))),
        "surrogate-pairs": of(UserMessage(content="\ud83d\ude00")),
    }
    answer = json.dumps(ANSWER).encode()
    stream = b"".join(
        f"event: {chunk['type']}\ndata: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in STREAM
    )
    stream += b"data: [DONE]\n\n"
    stream_text = "Hél\u2028lo\U0001f600"
