"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

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
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.ollama_chat.decode import decode
from copyfit_adapters.ollama_chat.dialect import PROTOCOL
from copyfit_adapters.ollama_chat.encode import encode
from copyfit_adapters.ollama_chat.losses import LOSSES
from copyfit_adapters.ollama_chat.readback import readback
from copyfit_adapters.ollama_chat.stream import OllamaStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import DATA, JSON, MEDIA_TYPES, TEXTS, InputStrategies, extras

FOREIGN: st.SearchStrategy[dict[str, dict[str, int]]] = st.just({}) | st.just({"x-other": {"a": 1}})
IMAGES = st.one_of(
    st.builds(
        ImagePart,
        data=DATA | TEXTS,
        media_type=st.none() | MEDIA_TYPES,
        detail=st.none() | TEXTS,
        extra=FOREIGN,
    ),
    st.builds(ImagePart, url=DATA.map("data:image/png;base64,{}".format), extra=FOREIGN),
)
THINKING = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "openai-chat"]),
    opaque=st.sampled_from([{}, {"x": 1}]),
)
SWITCHED = st.dictionaries(st.sampled_from(["truncate", "shift"]), st.booleans())
SETTINGS_EXTRA = st.builds(
    lambda extra, switches: extra | ({PROTOCOL: extra.get(PROTOCOL, {}) | switches} if switches else {}),
    extras(PROTOCOL, "keep_alive", "think", "logprobs", nested={"options": ("top_k", "num_keep", "mirostat")}),
    SWITCHED,
)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=FOREIGN) | IMAGES,
    thought=THINKING,
    message_extra=extras(PROTOCOL, "x_note", "weight"),
    tool_message_extra=extras(PROTOCOL, "x_note", "weight"),
    call_extra=extras(PROTOCOL, "x_note", "type", nested={"function": ("index", "x_note")}),
    tool_extra=extras(PROTOCOL, "x_note", "items", nested={"function": ("strict", "x_note")}),
    settings_extra=SETTINGS_EXTRA,
    call_ids=TEXTS | st.sampled_from(["c1", "c2"]),
)
STREAM = [
    {"model": "m", "created_at": "t1", "message": {"role": "assistant", "content": "Hé"}, "done": False},
    {"model": "m", "created_at": "t2", "message": {"content": "l\u2028lo\U0001f600"}, "done": False},
    {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 2},
]


def of(*messages: Message) -> ModelInput:
    return ModelInput("", messages)


def asking(**settings: object) -> ModelInput:
    return ModelInput("", (), settings=ModelSettings.model_validate(settings))


CALLING = AssistantMessage(content=(ToolCall(id="c1", name="f"),))
THOUGHTS = (ThinkingPart(text="t", provider=PROTOCOL), ThinkingPart(text="u", provider=PROTOCOL))


class TestOllamaChat(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=OllamaStream,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": of(UserMessage(content="x", extra={"openai-chat": {"a": 1}})),
        "overflow-switches": asking(extra={PROTOCOL: {"truncate": False, "think": True}}),
        "tool-choice": asking(tool_choice="required"),
        "parallel-tool-calls": asking(parallel_tool_calls=False),
        "schema-facts": asking(response_schema=ResponseSchema(json_schema={}, name="plan")),
        "strict-tools": ModelInput("", (), (ToolSpec(name="f", strict=True),)),
        "names": of(UserMessage(content="x", name="ann")),
        "result-names": of(CALLING, ToolMessage(call_id="c1", content="x")),
        "tool-error-flag": of(ToolMessage(call_id="c", content="x", is_error=True)),
        "foreign-thinking": of(AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"),))),
        "arguments-text": of(AssistantMessage(content=(ToolCall(id="c", name="f", arguments='{"a": 1}'),))),
        "image-detail": of(UserMessage(content=(ImagePart(data="QUJD", detail="low"),))),
        "data-url": of(UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),))),
        "media-type": of(UserMessage(content=(ImagePart(data="QUJD", media_type="image/png"),))),
        "thinking-seal": of(AssistantMessage(content=(ThinkingPart(text="t", provider=PROTOCOL, signature="s"),))),
        "thinking-blocks": of(AssistantMessage(content=THOUGHTS)),
        "text-blocks": of(UserMessage(content=(TextPart(text="a"), TextPart(text="b"), ImagePart(data="QUJD")))),
        "part-order": of(AssistantMessage(content=(ToolCall(id="c", name="f"), TextPart(text="after")))),
        "text-form": of(UserMessage(content=(TextPart(text="x"),))),
        "surrogate-pairs": of(UserMessage(content="\ud83d\ude00")),
    }
    answer = b'{"message":{"role":"assistant","content":"Hello."},"done":true,"done_reason":"stop"}'
    stream = b"".join(json.dumps(chunk, ensure_ascii=False).encode() + b"\n" for chunk in STREAM)
    stream_text = "Hél\u2028lo\U0001f600"


@settings(max_examples=100)
@given(STRATEGIES.model_inputs(), TEXTS, st.booleans(), st.none() | st.integers(1, 9), st.booleans())
def test_every_way_to_send_reads_back_as_the_same_input(
    model_input: ModelInput, model: str, stream: bool, num_ctx: int | None, may_cut: bool
) -> None:
    body = encode(model_input, model, stream=stream, num_ctx=num_ctx, may_cut=may_cut).body
    read, given = (without_losses(each.as_data(), LOSSES) for each in (readback(body), model_input))
    assert canonical_json(read) == canonical_json(given)
    sent = json.loads(body.decode("utf-8"))
    assert (sent["model"], sent["stream"]) == (json.loads(json.dumps(model)), stream)
    assert sent.get("options", {}).get("num_ctx") == num_ctx


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from(["options", "format", "tools", "truncate", "think", "messages"]), JSON))
def test_whatever_the_fields_of_a_readable_request_hold_they_go_out_again(fields: dict[str, object]) -> None:
    body = {"model": "m", "stream": True} | fields | {"messages": [{"role": "user", "content": "x"}]}
    read = readback(json.dumps(body).encode())
    assert readback(encode(read, "m").body) == read
