"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from itertools import pairwise
from typing import Any

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
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.gemini.decode import decode
from copyfit_adapters.gemini.dialect import DEVELOPER, PROTOCOL, VERTEX, Dialect
from copyfit_adapters.gemini.encode import encode
from copyfit_adapters.gemini.losses import LOSSES, VERTEX_LOSSES
from copyfit_adapters.gemini.readback import readback
from copyfit_adapters.gemini.stream import GeminiStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import JSON, TEXTS, InputStrategies, extras, files, images

NAMES = ("thoughtSignature", "partMetadata", "x_note")
PLAIN = extras(PROTOCOL, *NAMES)
CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"part": fields}}),
    st.dictionaries(
        st.sampled_from(["executableCode", "codeExecutionResult", "thoughtSignature"]), JSON, max_size=2
    ),
)
THOUGHTS = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "openai-chat"]),
    opaque=st.sampled_from([{}, {"x": 1}]),
)
SEALED = st.builds(
    lambda data: ThinkingPart(provider=PROTOCOL, opaque={"thought": True, "inlineData": data}),
    JSON.filter(lambda value: value is not None),
)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN) | CARRIERS | images(PLAIN) | files(PLAIN),
    thought=THOUGHTS | SEALED,
    message_extra=extras(PROTOCOL, "x_note", "weight"),
    tool_message_extra=extras(
        PROTOCOL, *NAMES, nested={"message": ("x_note",), "functionResponse": ("scheduling", "willContinue")}
    ),
    call_extra=extras(PROTOCOL, *NAMES, nested={"functionCall": ("x_note",)}),
    tool_extra=extras(PROTOCOL, "behavior", "responseJsonSchema"),
    settings_extra=extras(
        PROTOCOL,
        "safetySettings",
        "cachedContent",
        nested={"generationConfig": ("topK", "thinkingConfig"), "toolConfig": ("retrievalConfig",)},
    ),
    tool_names=TEXTS,
)
TOOL = ToolSpec(name="f")
CALL = ToolCall(id="c", name="f")
OTHER_CALL = ToolCall(id="d", name="g")


def said(*parts: Any) -> ModelInput:
    return ModelInput("", (UserMessage(content=parts),))


NEEDS: dict[str, ModelInput] = {
    "foreign-extra": ModelInput("", (UserMessage(content="x", extra={"openai-chat": {"a": 1}}),)),
    "names": ModelInput("", (UserMessage(content="x", name="ann"),)),
    "result-names": ModelInput("", (AssistantMessage(content=(CALL,)), ToolMessage(call_id="c", content="x"))),
    "parallel-tool-calls": ModelInput("", (), settings=ModelSettings(parallel_tool_calls=False)),
    "schema-facts": ModelInput(
        "", (), settings=ModelSettings(response_schema=ResponseSchema(json_schema={}, name="plan"))
    ),
    "strict-tools": ModelInput("", (), (ToolSpec(name="f", strict=True),)),
    "choice-without-tools": ModelInput("", (), settings=ModelSettings(tool_choice="auto")),
    "foreign-thinking": ModelInput(
        "", (AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="x"))),)
    ),
    "arguments-text": ModelInput(
        "", (AssistantMessage(content=(ToolCall(id="c", name="f", arguments='{"a": 1}'),)),)
    ),
    "unsigned-calls": ModelInput("", (AssistantMessage(content=(CALL,)),)),
    "image-detail": said(ImagePart(url="https://a/b.png", media_type="image/png", detail="low")),
    "file-names": said(FilePart(url="https://a/b.pdf", filename="b.pdf")),
    "file-references": said(FilePart(file_id="data:text/plain;base64,QUJD")),
    "data-url": said(ImagePart(url="data:image/png;base64,QUJD")),
    "media-kinds": said(ImagePart(url="https://a/b.png")),
    "result-texts": ModelInput(
        "", (ToolMessage(call_id="c", name="f", content=(TextPart(text="a"), TextPart(text="b"))),)
    ),
    "text-form": ModelInput("", (UserMessage(content="x"),)),
    "empty-texts": said(TextPart(text=""), TextPart(text="x")),
    "empty-messages": ModelInput("", (AssistantMessage(content=()),)),
    "neighbours": ModelInput("", (UserMessage(content="x"), UserMessage(content="y"))),
    "surrogate-pairs": ModelInput("", (UserMessage(content="\ud83d\ude00"),)),
}
STREAM: list[dict[str, Any]] = [
    {"candidates": [{"content": {"parts": [{"text": "Hé"}], "role": "model"}, "index": 0}], "responseId": "r"},
    {"candidates": [{"content": {"parts": [{"text": "l\u2028lo"}], "role": "model"}, "index": 0}]},
    {
        "candidates": [
            {"content": {"parts": [{"text": "\U0001f600"}], "role": "model"}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"candidatesTokenCount": 2},
    },
]


def codec_of(dialect: Dialect) -> Codec:
    return Codec(
        encode=lambda model_input: encode(model_input, "m", dialect=dialect).body,
        readback=readback,
        losses=LOSSES if dialect.call_ids else VERTEX_LOSSES,
        decode=decode,
        open_stream=GeminiStream,
    )


class TestGemini(CodecConformance):
    codec = codec_of(DEVELOPER)
    strategies = STRATEGIES
    needs = NEEDS
    answer = b'{"candidates":[{"content":{"parts":[{"text":"Hello."}],"role":"model"},"finishReason":"STOP"}]}'
    stream = b"".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n".encode() for chunk in STREAM)
    stream_text = "Hél\u2028lo\U0001f600"


class TestVertex(TestGemini):
    codec = codec_of(VERTEX)
    needs = NEEDS | {
        "call-ids": ModelInput("", (AssistantMessage(content=(CALL,)),)),
        "result-order": ModelInput(
            "",
            (
                AssistantMessage(content=(CALL, OTHER_CALL)),
                ToolMessage(call_id="d", name="g", content="y"),
                ToolMessage(call_id="c", name="f", content="x"),
            ),
        ),
    }


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """Return messages in which every result, whether it has a name or not, follows its call."""
    calls = draw(st.lists(st.builds(ToolCall, id=st.sampled_from("abc"), name=TEXTS), min_size=1, max_size=3))
    results = draw(
        st.lists(
            st.builds(
                ToolMessage,
                call_id=st.sampled_from([call.id for call in calls]),
                name=st.none() | TEXTS,
                content=TEXTS,
                is_error=st.booleans(),
            ),
            max_size=4,
        )
    )
    return [AssistantMessage(content=tuple(calls)), *results]


@settings(max_examples=100)
@given(st.lists(steps(), min_size=1, max_size=3), st.sampled_from([DEVELOPER, VERTEX]))
def test_results_without_a_name_have_that_of_their_call(found: list[list[Message]], dialect: Dialect) -> None:
    model_input = ModelInput("", tuple(message for step in found for message in step))
    losses = LOSSES if dialect.call_ids else VERTEX_LOSSES
    read = readback(encode(model_input, "m", dialect=dialect).body)
    assert canonical_json(without_losses(read.as_data(), losses)) == canonical_json(
        without_losses(model_input.as_data(), losses)
    )


@settings(max_examples=100)
@given(st.lists(STRATEGIES.messages(), min_size=1, max_size=5))
def test_roles_take_turns_on_the_wire_where_no_message_has_fields_of_its_own(messages: list[Message]) -> None:
    bare = tuple(message.model_copy(update={"extra": {}}) for message in messages)
    sent = json.loads(encode(ModelInput("", bare), "m").body)["contents"]
    roles = [content["role"] for content in sent]
    assert all(role != following for role, following in pairwise(roles))
    assert all(content["parts"] for content in sent)
