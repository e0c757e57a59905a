"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from base64 import b64encode
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    Origin,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.anthropic_messages.dialect import PROTOCOL
from copyfit_adapters.anthropic_messages.encode import CacheTime, encode
from copyfit_adapters.anthropic_messages.losses import LOSSES
from copyfit_adapters.anthropic_messages.readback import readback
from copyfit_adapters.codec import Loss, without_losses

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Lo", "So", "Cc"]), max_size=6),
    st.sampled_from(
        ["", "null", "data:text/plain;base64,QUJD", '{"role":"system"}', "\ud83d\ude00", "\ude00\ud83d"]
    ),
)
KEYS = st.text(max_size=12)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
MEDIA_TYPES = st.sampled_from(["image/png", "application/pdf", "text/plain", "text/plain;charset=utf-8", ""])
DATA = st.one_of(
    st.binary(max_size=9).map(lambda data: b64encode(data).decode()),
    st.text(max_size=6).map(lambda text: b64encode(text.encode()).decode()),
    st.sampled_from(["QQ", "!", "QUI=\n", "QR=="]),
)
NAMES = st.sampled_from(["cache_control", "x_note", "citations", "weight"])
OWN = st.dictionaries(NAMES, JSON, max_size=2)


def extras(*, around: bool = False) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """Extra fields of this protocol and of another; `around` adds some of the message about a tool result."""
    nested = (
        st.fixed_dictionaries({}, optional={"message": st.dictionaries(NAMES, JSON, min_size=1, max_size=2)})
        if around
        else st.just({})
    )
    mine = st.builds(lambda flat, deep: flat | deep, OWN, nested)
    return st.fixed_dictionaries({}, optional={PROTOCOL: mine, "openai-chat": OWN})


def file_part(place: dict[str, str | None], filename: str | None, extra: dict[str, dict[str, Any]]) -> FilePart:
    return FilePart(filename=filename, extra=extra, **place)


TEXT_PARTS = st.builds(TextPart, text=TEXTS, extra=extras())
CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"type": "search_result"} | fields}),
    st.dictionaries(st.sampled_from(["source", "content", "cache_control"]), JSON, max_size=2),
)
URLS = TEXTS | st.sampled_from(["data:image/png;base64,QUJD", "data:text/plain;base64,QUJD", "data:,x"])
IMAGES = st.one_of(
    st.builds(ImagePart, url=URLS, media_type=st.none() | MEDIA_TYPES, detail=st.none() | TEXTS, extra=extras()),
    st.builds(ImagePart, data=DATA, media_type=MEDIA_TYPES, detail=st.none() | TEXTS, extra=extras()),
)
FILES = st.builds(
    file_part,
    st.one_of(
        st.fixed_dictionaries({"file_id": TEXTS, "media_type": st.none() | MEDIA_TYPES}),
        st.fixed_dictionaries({"data": DATA, "media_type": MEDIA_TYPES}),
        st.fixed_dictionaries({"url": URLS, "media_type": st.none() | MEDIA_TYPES}),
    ),
    st.none() | TEXTS,
    extras(),
)


@st.composite
def user_parts(draw: st.DrawFn) -> TextPart | ImagePart | FilePart:
    """Draw any part of a user's message; a composite, for the strategy's own repr is too long."""
    return draw(TEXT_PARTS | CARRIERS | IMAGES | FILES)


USER_PARTS = user_parts()
THINKING = st.one_of(
    st.builds(
        ThinkingPart,
        text=TEXTS,
        signature=st.none() | TEXTS,
        provider=st.sampled_from([PROTOCOL, "openai-chat"]),
        opaque=st.sampled_from([{}, {"x": 1}]),
    ),
    st.builds(
        lambda data: ThinkingPart(provider=PROTOCOL, opaque={"type": "redacted_thinking", "data": data}), TEXTS
    ),
)
ARGUMENTS = TEXTS | st.dictionaries(KEYS, JSON, max_size=3).map(lambda value: json.dumps(value, indent=1))
CALLS = st.builds(ToolCall, id=TEXTS, name=TEXTS, arguments=ARGUMENTS, extra=extras())
CONTENTS = TEXTS | st.lists(USER_PARTS, max_size=3).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        UserMessage, content=CONTENTS, name=st.none() | TEXTS, extra=extras(), origin=st.sampled_from(list(Origin))
    ),
    st.builds(
        AssistantMessage,
        content=TEXTS | st.lists(USER_PARTS | THINKING | CALLS, max_size=5).map(tuple),
        name=st.none() | TEXTS,
        extra=extras(),
    ),
    st.builds(
        ToolMessage,
        call_id=TEXTS,
        content=CONTENTS,
        name=st.none() | TEXTS,
        is_error=st.booleans(),
        projected=st.booleans(),
        extra=extras(around=True),
    ),
)
TOOLS = st.builds(
    ToolSpec,
    name=TEXTS,
    description=TEXTS,
    parameters=st.dictionaries(KEYS, JSON, max_size=3),
    strict=st.none() | st.booleans(),
    extra=extras(),
)
RATES = st.none() | st.floats(min_value=-2, max_value=2)
SETTINGS = st.builds(
    ModelSettings,
    max_output_tokens=st.none() | st.integers(min_value=1),
    temperature=RATES,
    top_p=RATES,
    seed=st.none() | st.integers(),
    stop=st.lists(TEXTS, max_size=2).map(tuple),
    tool_choice=st.sampled_from([None, "auto", "none", "required"]) | TEXTS.map("tool:{}".format),
    parallel_tool_calls=st.none() | st.booleans(),
    extra=extras(),
)
MODEL_INPUTS = st.builds(
    ModelInput,
    system=TEXTS,
    messages=st.lists(MESSAGES, max_size=4).map(tuple),
    tools=st.lists(TOOLS, max_size=2).map(tuple),
    settings=SETTINGS,
)
CACHES: st.SearchStrategy[CacheTime | None] = st.sampled_from([None, "5m", "1h"])


def comparable(model_input: ModelInput, losses: tuple[Loss, ...] = LOSSES) -> bytes:
    return canonical_json(without_losses(model_input.as_data(), losses))


@settings(max_examples=400)
@given(MODEL_INPUTS, TEXTS, st.booleans(), CACHES)
def test_what_was_encoded_reads_back_as_what_it_was(
    model_input: ModelInput, model: str, stream: bool, cache: CacheTime | None
) -> None:
    body = encode(model_input, model, stream=stream, cache=cache).body
    assert comparable(readback(body)) == comparable(model_input)
    assert json.loads(body.decode("utf-8"))["model"] == json.loads(json.dumps(model))


@settings(max_examples=100)
@given(MODEL_INPUTS)
def test_applying_the_losses_twice_is_applying_them_once(model_input: ModelInput) -> None:
    once = without_losses(model_input.as_data(), LOSSES)
    assert canonical_json(without_losses(once, LOSSES)) == canonical_json(once)


@settings(max_examples=100)
@given(MODEL_INPUTS)
def test_what_was_read_back_goes_round_again_without_any_loss(model_input: ModelInput) -> None:
    read = readback(encode(model_input, "m").body)
    assert readback(encode(read, "m").body) == read


@settings(max_examples=100)
@given(MODEL_INPUTS, MESSAGES)
def test_a_longer_history_makes_a_body_that_begins_with_the_shorter_one(
    model_input: ModelInput, message: Message
) -> None:
    longer = ModelInput(
        model_input.system, (*model_input.messages, message), model_input.tools, model_input.settings
    )
    shorter = encode(model_input, "m").body.removesuffix(b"]}").removesuffix(b"]}")
    assert encode(longer, "m").body.startswith(shorter)


@settings(max_examples=100)
@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_roles_take_turns_on_the_wire_where_no_message_has_fields_of_its_own(messages: list[Message]) -> None:
    bare = tuple(message.model_copy(update={"extra": {}}) for message in messages)
    sent = json.loads(encode(ModelInput("", bare), "m").body)["messages"]
    roles = [message["role"] for message in sent]
    assert all(role != following for role, following in pairwise(roles))
    assert all(message["content"] for message in sent)


CALL = ToolCall(id="c", name="f")
TOOL = ToolSpec(name="f")
NEEDS: dict[str, ModelInput] = {
    "foreign-extra": ModelInput("", (UserMessage(content="x", extra={"openai-chat": {"a": 1}}),)),
    "cache-marks": ModelInput("", (UserMessage(content=(TextPart(text="x"),)),)),
    "names": ModelInput("", (ToolMessage(call_id="c", content="x", name="f"),)),
    "seed": ModelInput("", (), settings=ModelSettings(seed=1)),
    "choice-without-tools": ModelInput("", (), settings=ModelSettings(tool_choice="auto")),
    "parallel-in-choice": ModelInput("", (), (TOOL,), ModelSettings(parallel_tool_calls=False)),
    "default-cap": ModelInput("", ()),
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
    "empty-texts": ModelInput("", (UserMessage(content=(TextPart(text=""), TextPart(text="x"))),)),
    "empty-messages": ModelInput("", (AssistantMessage(content=()),)),
    "neighbours": ModelInput("", (UserMessage(content="x"), UserMessage(content="y"))),
    "surrogate-pairs": ModelInput("", (UserMessage(content="\ud83d\ude00"),)),
}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_declared_loss_is_a_real_one(loss: Loss) -> None:
    model_input = NEEDS[loss.name]
    read = readback(encode(model_input, "m", cache="5m").body)
    others = tuple(other for other in LOSSES if other is not loss)
    assert comparable(read) == comparable(model_input)
    assert comparable(read, others) != comparable(model_input, others)
