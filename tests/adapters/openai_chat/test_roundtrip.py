"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.dialect import PROTOCOL, Dialect
from copyfit_adapters.openai_chat.encode import encode
from copyfit_adapters.openai_chat.losses import LOSSES
from copyfit_adapters.openai_chat.readback import readback
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import DATA, JSON, MEDIA_TYPES, TEXTS, InputStrategies, extras, images

NAMES = ("cache_control", "x_note", "refusal", "weight")
PLAIN = extras(PROTOCOL, *NAMES)


def nested(name: str) -> st.SearchStrategy[dict[str, dict[str, object]]]:
    return extras(PROTOCOL, *NAMES, nested={name: NAMES})


CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"type": "input_audio"} | fields}),
    st.dictionaries(st.sampled_from(["input_audio", "format"]), JSON, max_size=2),
)
FILES = st.builds(
    lambda place, filename, extra: FilePart(filename=filename, extra=extra, **place),
    st.one_of(
        st.fixed_dictionaries({"file_id": TEXTS, "media_type": st.none() | MEDIA_TYPES}),
        st.fixed_dictionaries({"data": DATA}, optional={"media_type": MEDIA_TYPES, "file_id": TEXTS}),
        st.fixed_dictionaries({"url": st.sampled_from(["https://a/b.pdf", "data:a/b;base64,QUJD", "data:,x"])}),
    ),
    st.none() | TEXTS,
    nested("file"),
)
THINKING = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "anthropic-messages"]),
    opaque=st.sampled_from([{}, {"field": "reasoning"}, {"field": "content"}, {"x": 1}]),
)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN) | CARRIERS | images(nested("image_url")) | FILES,
    thought=THINKING,
    arguments=TEXTS,
    message_extra=PLAIN,
    tool_message_extra=PLAIN,
    call_extra=nested("function"),
    tool_extra=nested("function"),
    settings_extra=PLAIN,
)
DEMANDING = Dialect(reasoning_field="reasoning_content", reasoning_filler=" ", tool_media=False)
DIALECTS = st.builds(
    Dialect,
    max_tokens_field=st.sampled_from(["max_completion_tokens", "max_tokens"]),
    include_usage=st.booleans(),
    system_role=st.sampled_from(["system", "developer"]),
    reasoning_field=st.sampled_from([None, "reasoning_content", "reasoning"]),
    reasoning_filler=st.sampled_from([None, "", " "]),
    tool_media=st.booleans(),
)
ANSWER = {"id": "r", "choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}]}
STREAM = [
    {"id": "r", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hé"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "l\u2028lo\U0001f600"}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "r", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]


def of(message: Message) -> ModelInput:
    return ModelInput("", (message,))


class TestOpenAIChat(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m", dialect=Dialect()).body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=ChatStream,
        marking=lambda model_input: encode(model_input, "m", dialect=DEMANDING).body,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": of(UserMessage(content="x", extra={"anthropic-messages": {"a": 1}})),
        "tool-error-flag": of(ToolMessage(call_id="c", content="x", is_error=True)),
        "names": of(ToolMessage(call_id="c", content="x", name="f")),
        "foreign-thinking": of(AssistantMessage(content=(ThinkingPart(text="t", provider="x-other"),))),
        "thinking-seal": of(AssistantMessage(content=(ThinkingPart(text="t", provider=PROTOCOL, signature="s"),))),
        "thinking-blocks": of(
            AssistantMessage(
                content=(ThinkingPart(text="t", provider=PROTOCOL), ThinkingPart(text="u", provider=PROTOCOL))
            )
        ),
        "blank-thinking": of(AssistantMessage(content=(ThinkingPart(text="\n", provider=PROTOCOL),))),
        "reasoning-copies": of(AssistantMessage(content="x", extra={PROTOCOL: {"reasoning": ""}})),
        "tool-media": of(ToolMessage(call_id="c", content=(ImagePart(url="https://a/b.png"),))),
        "empty-content": of(ToolMessage(call_id="c", content=())),
        "arguments-text": of(AssistantMessage(content=(ToolCall(id="Jc4AR31Hp", name="f", arguments='{"a'),))),
        "part-order": of(AssistantMessage(content=(ToolCall(id="c", name="f"), TextPart(text="after")))),
        "media-type": of(UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),))),
        "data-url": of(UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),))),
        "surrogate-pairs": of(UserMessage(content="\ud83d\ude00")),
    }
    answer = json.dumps(ANSWER).encode()
    stream = b"".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in STREAM)
    stream += b"data: [DONE]\n\n"
    stream_text = "Hél\u2028lo\U0001f600"


@settings(max_examples=100)
@given(STRATEGIES.model_inputs(), TEXTS, st.booleans(), DIALECTS)
def test_every_dialect_reads_back(model_input: ModelInput, model: str, stream: bool, dialect: Dialect) -> None:
    body = encode(model_input, model, stream=stream, dialect=dialect).body
    read, given = (without_losses(each.as_data(), LOSSES) for each in (readback(body), model_input))
    assert canonical_json(read) == canonical_json(given)
    assert json.loads(body.decode("utf-8"))["model"] == json.loads(json.dumps(model))
