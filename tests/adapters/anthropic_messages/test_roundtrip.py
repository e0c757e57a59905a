"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
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
from copyfit_adapters.anthropic_messages.decode import decode
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.encode import encode
from copyfit_adapters.anthropic_messages.hosted import BEDROCK_LOSSES, ChunkFraming, encode_for_bedrock
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import DATA, JSON, TEXTS, InputStrategies, extras, files, images

NAMES = ("cache_control", "x_note", "citations", "weight")
PLAIN = extras(PROTOCOL, *NAMES)
CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"type": "search_result"} | fields}),
    st.dictionaries(st.sampled_from(["source", "content", "cache_control"]), JSON, max_size=2),
)
SEALED = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "openai-chat"]),
    opaque=st.sampled_from([{}, {"x": 1}]),
)
REDACTED = st.builds(
    lambda data: ThinkingPart(provider=PROTOCOL, opaque={"type": "redacted_thinking", "data": data}), DATA
)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN) | CARRIERS | images(PLAIN) | files(PLAIN),
    thought=SEALED | REDACTED,
    message_extra=PLAIN,
    tool_message_extra=extras(PROTOCOL, *NAMES, nested={"message": NAMES}),
    call_extra=PLAIN,
    tool_extra=PLAIN,
    settings_extra=extras(PROTOCOL, *NAMES, nested={"output_config": ("effort",)}),
)
TOOL = ToolSpec(name="f")
STREAM: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "r", "type": "message", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hé"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "l\u2028lo\U0001f600"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


class TestAnthropicMessages(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=MessagesStream,
        marking=lambda model_input: encode(model_input, "m", cache="5m").body,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": ModelInput("", (UserMessage(content="x", extra={"openai-chat": {"a": 1}}),)),
        "cache-marks": ModelInput("", (UserMessage(content=(TextPart(text="x"),)),)),
        "names": ModelInput("", (ToolMessage(call_id="c", content="x", name="f"),)),
        "seed": ModelInput("", (), settings=ModelSettings(seed=1)),
        "choice-without-tools": ModelInput("", (), settings=ModelSettings(tool_choice="auto")),
        "parallel-in-choice": ModelInput("", (), (TOOL,), ModelSettings(parallel_tool_calls=False)),
        "default-cap": ModelInput("", ()),
        "schema-facts": ModelInput(
            "", (), settings=ModelSettings(response_schema=ResponseSchema(json_schema={}, name="plan"))
        ),
        "foreign-thinking": ModelInput(
            "", (AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="x"))),)
        ),
        "arguments-text": ModelInput(
            "", (AssistantMessage(content=(ToolCall(id="c", name="f", arguments='{"a": 1}'),)),)
        ),
        "image-detail": ModelInput("", (UserMessage(content=(ImagePart(url="https://a/b.png", detail="low"),)),)),
        "media-type": ModelInput(
            "", (UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),)),)
        ),
        "data-url": ModelInput("", (UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),)),)),
        "text-form": ModelInput("", (UserMessage(content="x"),)),
        "blank-system": ModelInput(" ", ()),
        "blank-texts": ModelInput("", (UserMessage(content=(TextPart(text="\n"), TextPart(text="x"))),)),
        "closing-thinking": ModelInput(
            "", (AssistantMessage(content=(TextPart(text="x"), ThinkingPart(text="t", provider=PROTOCOL))),)
        ),
        "call-ids": ModelInput(
            "",
            (
                AssistantMessage(content=(ToolCall(id="functions.f:0", name="f"),)),
                ToolMessage(call_id="functions.f:0", content="x"),
            ),
        ),
        "empty-messages": ModelInput("", (AssistantMessage(content=()),)),
        "neighbours": ModelInput("", (UserMessage(content="x"), UserMessage(content="y"))),
        "surrogate-pairs": ModelInput("", (UserMessage(content="\ud83d\ude00"),)),
    }
    answer = b'{"type":"message","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn"}'
    stream = b"".join(
        f"event: {chunk['type']}\ndata: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in STREAM
    )
    stream_text = "Hél\u2028lo\U0001f600"


def chunk(event: dict[str, Any]) -> bytes:
    held = json.dumps({"bytes": b64encode(json.dumps(event).encode()).decode()}).encode()
    return encode_event({":event-type": "chunk", ":message-type": "event"}, held)


class TestAnthropicMessagesOnBedrock(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode_for_bedrock(model_input, "m", betas=("a-1",)).body,
        readback=readback,
        losses=BEDROCK_LOSSES,
        decode=decode,
        open_stream=lambda: MessagesStream(framing=ChunkFraming()),
        marking=lambda model_input: encode_for_bedrock(model_input, "m", betas=("a-1",), cache="5m").body,
    )
    strategies = STRATEGIES
    needs = TestAnthropicMessages.needs | {"betas": ModelInput("", ())}
    answer = TestAnthropicMessages.answer
    stream = b"".join(map(chunk, STREAM))
    stream_text = TestAnthropicMessages.stream_text


@settings(max_examples=100)
@given(st.lists(STRATEGIES.messages(), min_size=1, max_size=5))
def test_roles_take_turns_on_the_wire_where_no_message_has_fields_of_its_own(messages: list[Message]) -> None:
    bare = tuple(message.model_copy(update={"extra": {}}) for message in messages)
    sent = json.loads(encode(ModelInput("", bare), "m").body)["messages"]
    roles = [message["role"] for message in sent]
    assert all(role != following for role, following in pairwise(roles))
    assert all(message["content"] for message in sent)
