"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json

from hypothesis import given
from hypothesis import strategies as st

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
from copyfit_adapters.mistral_chat.decode import decode
from copyfit_adapters.mistral_chat.dialect import PROTOCOL, sendable_id
from copyfit_adapters.mistral_chat.encode import encode
from copyfit_adapters.mistral_chat.losses import LOSSES
from copyfit_adapters.mistral_chat.readback import readback
from copyfit_adapters.mistral_chat.stream import MistralStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import (
    DATA,
    JSON,
    MEDIA_TYPES,
    TEXTS,
    URLS,
    InputStrategies,
    extras,
    images,
)

NAMES = ("prefix", "x_note", "index", "safe_prompt")
PLAIN = extras(PROTOCOL, *NAMES)

CARRIERS = st.builds(
    lambda kind, fields: TextPart(text="", extra={PROTOCOL: {"type": kind} | fields}),
    st.sampled_from(["input_audio", "reference", "resource_link"]),
    st.dictionaries(st.sampled_from(["input_audio", "reference_ids", "uri"]), JSON, max_size=2),
)
FILES = st.builds(
    lambda place, filename, extra: FilePart(filename=filename, extra=extra, **place),
    st.one_of(
        st.fixed_dictionaries({"file_id": TEXTS, "media_type": st.none() | MEDIA_TYPES}),
        st.fixed_dictionaries({"data": DATA, "media_type": MEDIA_TYPES}),
        st.fixed_dictionaries({"url": URLS, "media_type": st.none() | MEDIA_TYPES}),
    ),
    st.none() | TEXTS,
    PLAIN,
)
REFERENCE = {"type": "reference", "reference_ids": [1, "a"]}
THINKING = st.one_of(
    st.builds(
        ThinkingPart,
        text=TEXTS,
        signature=st.none() | TEXTS,
        provider=st.sampled_from([PROTOCOL, "x-other"]),
        opaque=st.sampled_from([{}, {"closed": True}, {"closed": False, "x_note": [1]}]),
    ),
    st.builds(
        lambda text, signature: ThinkingPart(
            text=text,
            signature=signature,
            provider=PROTOCOL,
            opaque={"thinking": [{"type": "text", "text": text}, REFERENCE]},
        ),
        TEXTS,
        st.none() | TEXTS,
    ),
)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN)
    | CARRIERS
    | images(extras(PROTOCOL, *NAMES, nested={"image_url": NAMES}))
    | FILES,
    thought=THINKING,
    message_extra=PLAIN,
    tool_message_extra=PLAIN,
    call_extra=extras(PROTOCOL, *NAMES, nested={"function": NAMES}),
    tool_extra=extras(PROTOCOL, *NAMES, nested={"function": NAMES}),
    settings_extra=PLAIN,
    call_ids=TEXTS | st.sampled_from(["call_0fypS1hVX", "Jc4AR31Hp", "null", "123456789\n"]),
)
ANSWER = {"id": "r", "choices": [{"index": 0, "message": {"content": "Hello."}, "finish_reason": "stop"}]}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm\u2028"}]}
STREAM = [
    {"id": "r", "choices": [{"index": 0, "delta": {"role": "assistant", "content": [THOUGHT]}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": [THOUGHT, {"type": "text", "text": "Hé"}]}}]},
    {"id": "r", "choices": [{"index": 0, "delta": {"content": "l\u2028lo\U0001f600"}}], "p": "abc"},
    {
        "id": "r",
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
]


def of(message: Message) -> ModelInput:
    return ModelInput("", (message,))


class TestMistralChat(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=MistralStream,
        marking=lambda model_input: encode(model_input, "m", bridge_results=True).body,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": of(UserMessage(content="x", extra={"anthropic-messages": {"a": 1}})),
        "tool-error-flag": of(ToolMessage(call_id="Jc4AR31Hp", content="x", is_error=True)),
        "names": of(UserMessage(content="x", name="ann")),
        "foreign-thinking": of(AssistantMessage(content=(ThinkingPart(text="t", provider="x-other"),))),
        "silence": of(AssistantMessage(content=())),
        "bridges": ModelInput("", (ToolMessage(call_id="Jc4AR31Hp", content="x"), UserMessage(content="y"))),
        "call-ids": ModelInput(
            "",
            (
                AssistantMessage(content=(ToolCall(id="call_1", name="f"),)),
                ToolMessage(call_id="call_1", content="x"),
            ),
        ),
        "arguments-text": of(AssistantMessage(content=(ToolCall(id="Jc4AR31Hp", name="f", arguments='{"a'),))),
        "part-order": of(AssistantMessage(content=(ToolCall(id="Jc4AR31Hp", name="f"), TextPart(text="after")))),
        "file-name": of(UserMessage(content=(FilePart(file_id="f1", filename="a.pdf"),))),
        "media-type": of(UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),))),
        "data-url": of(UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),))),
        "surrogate-pairs": of(UserMessage(content="\ud83d\ude00")),
    }
    answer = json.dumps(ANSWER).encode()
    stream = b"".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in STREAM)
    stream += b"data: [DONE]\n\n"
    stream_text = "Hél\u2028lo\U0001f600"


@given(TEXTS)
def test_a_call_and_its_result_keep_one_id_that_the_api_takes(call_id: str) -> None:
    call = AssistantMessage(content=(ToolCall(id=call_id, name="f"),))
    result = ToolMessage(call_id=call_id, content="x")
    asked, answered = json.loads(encode(ModelInput("", (call, result)), "m").body)["messages"]
    sent = asked["tool_calls"][0]["id"]
    assert sent == answered["tool_call_id"] == sendable_id(sent)
    assert len(sent) == 9
    assert sent.isascii()
    assert sent.isalnum()
