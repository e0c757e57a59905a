"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
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
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.aws_event_stream import encode_event
from copyfit_adapters.bedrock_converse.decode import decode
from copyfit_adapters.bedrock_converse.dialect import PROTOCOL
from copyfit_adapters.bedrock_converse.encode import encode
from copyfit_adapters.bedrock_converse.losses import LOSSES
from copyfit_adapters.bedrock_converse.readback import readback
from copyfit_adapters.bedrock_converse.stream import ConverseStream
from copyfit_adapters.codec.losses import Loss, incurred
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import DATA, JSON, TEXTS, InputStrategies, extras

NAMES = ("x_note", "citations", "weight")
PLAIN = extras(PROTOCOL, *NAMES)
CARRIERS = st.builds(
    lambda kind, fields: TextPart(text="", extra={PROTOCOL: {kind: fields}}),
    st.sampled_from(["guardContent", "video", "searchResult", "hologram"]),
    st.dictionaries(st.sampled_from(["source", "content", "text"]), JSON, max_size=2),
)
MARKS = st.just(TextPart(text="", extra={PROTOCOL: {"cachePoint": {"type": "default"}}}))
CITED = st.builds(
    lambda text, facts: TextPart(text=text, extra={PROTOCOL: {"citationsContent": facts}}),
    TEXTS,
    st.dictionaries(st.sampled_from(["citations", "x_note"]), JSON, max_size=2),
)
BLANKS = st.sampled_from([TextPart(text=" \n"), TextPart(text="\u3000")])
IMAGE_TYPES = st.sampled_from(["image/png", "image/jpg", "IMAGE/JPEG; q=1", "image/webp"])
FILE_TYPES = st.sampled_from(["application/pdf", "text/plain;charset=utf-8", "text/x-python", "text/markdown"])
FILE_NAMES = (
    st.none() | TEXTS | st.sampled_from(["plan.pdf", "plan", "a  b.TXT", "(a) [b]-c", "x" * 300, "plan 2"])
)
IMAGES = st.one_of(
    st.builds(ImagePart, data=DATA, media_type=IMAGE_TYPES, detail=st.none() | TEXTS, extra=PLAIN),
    st.builds(
        ImagePart, url=st.just("s3://box/a.JPG"), media_type=st.none() | IMAGE_TYPES, detail=st.none(), extra=PLAIN
    ),
    st.builds(ImagePart, url=st.just("data:image/png;base64,QUJD"), media_type=st.none() | TEXTS, extra=PLAIN),
)
FILES = st.one_of(
    st.builds(FilePart, data=DATA, media_type=FILE_TYPES, filename=FILE_NAMES, extra=PLAIN),
    st.builds(
        FilePart,
        url=st.sampled_from(["s3://box/a.csv", "data:text/html;base64,QUJD"]),
        media_type=st.none() | st.just("text/plain"),
        filename=FILE_NAMES,
        extra=PLAIN,
    ),
)
SEALED = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "openai-chat"]),
    opaque=st.sampled_from([{}, {"x": 1}, {"reasoningText": {"x": 1}}]),
)
HIDDEN = st.builds(lambda data: ThinkingPart(provider=PROTOCOL, opaque={"redactedContent": data}), DATA)
STRATEGIES = InputStrategies(
    said=st.builds(TextPart, text=TEXTS, extra=PLAIN) | CARRIERS | MARKS | CITED | BLANKS | IMAGES | FILES,
    thought=SEALED | HIDDEN,
    message_extra=PLAIN,
    tool_message_extra=extras(PROTOCOL, *NAMES, nested={"message": NAMES}),
    call_extra=PLAIN,
    tool_extra=PLAIN,
    settings_extra=extras(
        PROTOCOL,
        *NAMES,
        nested={"inferenceConfig": ("topK",), "outputConfig": ("effort",), "toolConfig": ("x_note",)},
    ),
)
TOOL = ToolSpec(name="f")


def user(*parts: Any, **fields: Any) -> ModelInput:
    return ModelInput("", (UserMessage(content=parts, **fields),))


def asked(**fields: Any) -> ModelInput:
    return ModelInput("", (), (TOOL,), ModelSettings(**fields))


def frame(kind: str, **fields: Any) -> bytes:
    headers = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    return encode_event(headers, json.dumps(fields | {"p": "abc"}, ensure_ascii=False).encode())


class TestBedrockConverse(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=ConverseStream,
        marking=lambda model_input: encode(model_input, "m", cache="1h").body,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": ModelInput("", (UserMessage(content="x", extra={"openai-chat": {"a": 1}}),)),
        "cache-marks": user(
            TextPart(text="x"), TextPart(text="", extra={PROTOCOL: {"cachePoint": {"type": "d"}}})
        ),
        "names": ModelInput("", (ToolMessage(call_id="c", content="x", name="f"),)),
        "seed": asked(seed=1),
        "parallel-tool-calls": asked(parallel_tool_calls=False),
        "schema-facts": asked(response_schema=ResponseSchema(json_schema={}, strict=True)),
        "choice-without-tools": ModelInput("", (), settings=ModelSettings(tool_choice="auto")),
        "choice-none": asked(tool_choice="none"),
        "blank-system": ModelInput(" \n", ()),
        "closing-thinking": ModelInput(
            "", (AssistantMessage(content=(TextPart(text="x"), ThinkingPart(text="t", provider=PROTOCOL))),)
        ),
        "call-ids": ModelInput(
            "",
            (
                AssistantMessage(content=(ToolCall(id="call/1", name="f"),)),
                ToolMessage(call_id="call/1", content="x"),
            ),
        ),
        "foreign-thinking": ModelInput(
            "", (AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="x"))),)
        ),
        "arguments-text": ModelInput(
            "", (AssistantMessage(content=(ToolCall(id="c", name="f", arguments='{"a": 1}'),)),)
        ),
        "image-detail": user(ImagePart(data="QUJD", media_type="image/png", detail="low")),
        "data-url": user(ImagePart(url="data:image/png;base64,QUJD")),
        "media-type": user(ImagePart(url="s3://box/a.png")),
        "document-names": user(FilePart(data="QUJD", media_type="text/plain")),
        "text-form": ModelInput("", (UserMessage(content="x"),)),
        "blank-texts": user(TextPart(text=" "), TextPart(text="x")),
        "empty-messages": ModelInput("", (AssistantMessage(content=()),)),
        "neighbours": ModelInput("", (UserMessage(content="x"), UserMessage(content="y"))),
        "surrogate-pairs": ModelInput("", (UserMessage(content="\ud83d\ude00"),)),
    }
    answer = b'{"output":{"message":{"role":"assistant","content":[{"text":"Hello."}]}},"stopReason":"end_turn"}'
    stream = b"".join(
        [
            frame("messageStart", role="assistant"),
            frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "H\u00e9"}),
            frame("contentBlockDelta", contentBlockIndex=0, delta={"text": "l\u2028lo\U0001f600"}),
            frame("contentBlockStop", contentBlockIndex=0),
            frame("messageStop", stopReason="end_turn"),
            frame("metadata", usage={"inputTokens": 1, "outputTokens": 2}, metrics={"latencyMs": 3}),
        ]
    )
    stream_text = "H\u00e9l\u2028lo\U0001f600"


@settings(max_examples=100, deadline=None)
@given(st.lists(STRATEGIES.messages(), min_size=1, max_size=5))
def test_roles_take_turns_on_the_wire_where_no_message_has_fields_of_its_own(messages: list[Message]) -> None:
    bare = tuple(message.model_copy(update={"extra": {}}) for message in messages)
    sent = json.loads(encode(ModelInput("", bare), "m").body)["messages"]
    roles = [message["role"] for message in sent]
    assert all(role != following for role, following in pairwise(roles))
    assert all(message["content"] for message in sent)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_loss_touches_what_has_travelled(data: st.DataObject) -> None:
    # Drawn from data, for the repr of the whole strategy is too long for an error to show.
    assert lost_of(readback(encode(data.draw(STRATEGIES.model_inputs()), "m").body)) == ()


@pytest.mark.parametrize(
    "own", [{"guardContent": {"text": {"text": "x"}}}, {"weight": 1}, {"cachePoint": 1, "x": 1}]
)
def test_no_loss_touches_a_block_that_is_carried(own: dict[str, Any]) -> None:
    assert lost_of(user(TextPart(text="", extra={PROTOCOL: own}))) == ()


def lost_of(model_input: ModelInput) -> tuple[Loss, ...]:
    """Return the losses of an input that has no extra of another protocol."""
    foreign, *others = LOSSES
    return incurred(foreign.rewrite(model_input.as_data()), others)


@settings(max_examples=100, deadline=None)
@given(st.lists(FILES, max_size=6))
def test_no_two_documents_have_one_name_and_all_names_are_allowed(files: list[FilePart]) -> None:
    found = readback(encode(ModelInput("", tuple(UserMessage(content=(file,)) for file in files)), "m").body)
    names = [part.filename or "" for message in found.messages for part in message.parts if part.type == "file"]
    assert len(set(names)) == len(names) == len(files)
    assert all(0 < len(name) <= 200 and "  " not in name for name in names)
    assert all(letter.isascii() and (letter.isalnum() or letter in " -()[]") for name in names for letter in name)
