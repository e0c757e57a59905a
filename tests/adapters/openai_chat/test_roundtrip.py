"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from base64 import b64encode
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
from copyfit_adapters.codec import Loss, without_losses
from copyfit_adapters.openai_chat.dialect import PROTOCOL, Dialect
from copyfit_adapters.openai_chat.encode import encode
from copyfit_adapters.openai_chat.losses import LOSSES
from copyfit_adapters.openai_chat.readback import readback

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Lo", "So", "Cc"]), max_size=6),
    st.sampled_from(
        ["", "null", "data:text/plain;base64,QUJD", '{"role":"system"}', "\ud83d\ude00", "\ude00\ud83d"]
    ),
)
KEYS = st.text(max_size=12)
"""Without lone surrogates: pydantic's dump of a JSON value refuses them in keys, so `as_data` has none."""
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
MEDIA_TYPES = st.sampled_from(["image/png", "application/pdf", "text/plain;charset=utf-8", "a,b", ""])
DATA = st.binary(max_size=9).map(lambda data: b64encode(data).decode())


def extras(*inner: str) -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    """Extra fields of this protocol and of another, some inside the nested objects named `inner`."""
    names = st.sampled_from(["cache_control", "x_note", "refusal", "weight"])
    own = st.dictionaries(names, JSON, max_size=2)
    nested = st.fixed_dictionaries({}, optional={name: st.dictionaries(names, JSON, min_size=1) for name in inner})
    mine = st.builds(lambda flat, deep: flat | deep, own, nested)
    return st.fixed_dictionaries({}, optional={PROTOCOL: mine, "anthropic-messages": own})


def file_part(place: dict[str, str | None], filename: str | None, extra: dict[str, dict[str, Any]]) -> FilePart:
    return FilePart(filename=filename, extra=extra, **place)


TEXT_PARTS = st.builds(TextPart, text=TEXTS, extra=extras())
CARRIERS = st.builds(
    lambda fields: TextPart(text="", extra={PROTOCOL: {"type": "input_audio"} | fields}),
    st.dictionaries(st.sampled_from(["input_audio", "format"]), JSON, max_size=2),
)
IMAGES = st.one_of(
    st.builds(ImagePart, url=TEXTS, media_type=st.none() | MEDIA_TYPES, detail=st.none() | TEXTS, extra=extras()),
    st.builds(ImagePart, data=DATA, media_type=MEDIA_TYPES, detail=st.none() | TEXTS, extra=extras("image_url")),
)
FILES = st.builds(
    file_part,
    st.one_of(
        st.fixed_dictionaries({"file_id": TEXTS, "media_type": st.none() | MEDIA_TYPES}),
        st.fixed_dictionaries({"data": DATA}, optional={"media_type": MEDIA_TYPES, "file_id": TEXTS}),
        st.fixed_dictionaries({"url": st.sampled_from(["https://a/b.pdf", "data:a/b;base64,QUJD", "data:,x"])}),
    ),
    st.none() | TEXTS,
    extras("file"),
)
USER_PARTS = TEXT_PARTS | CARRIERS | IMAGES | FILES
THINKING = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "anthropic-messages"]),
    opaque=st.sampled_from([{}, {"field": "reasoning"}, {"field": "content"}, {"x": 1}]),
)
CALLS = st.builds(ToolCall, id=TEXTS, name=TEXTS, arguments=TEXTS, extra=extras("function"))
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
        extra=extras(),
    ),
)
TOOLS = st.builds(
    ToolSpec,
    name=TEXTS,
    description=TEXTS,
    parameters=st.dictionaries(KEYS, JSON, max_size=3),
    strict=st.none() | st.booleans(),
    extra=extras("function"),
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
DIALECTS = st.builds(
    Dialect,
    max_tokens_field=st.sampled_from(["max_completion_tokens", "max_tokens"]),
    include_usage=st.booleans(),
    system_role=st.sampled_from(["system", "developer"]),
)


def comparable(model_input: ModelInput, losses: tuple[Loss, ...] = LOSSES) -> bytes:
    return canonical_json(without_losses(model_input.as_data(), losses))


@settings(max_examples=400)
@given(MODEL_INPUTS, TEXTS, st.booleans(), DIALECTS)
def test_what_was_encoded_reads_back_as_what_it_was(
    model_input: ModelInput, model: str, stream: bool, dialect: Dialect
) -> None:
    body = encode(model_input, model, stream=stream, dialect=dialect).body
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
    assert encode(longer, "m").body.startswith(encode(model_input, "m").body[:-2])


CALL = ToolCall(id="c", name="f")
NEEDS: dict[str, Message] = {
    "foreign-extra": UserMessage(content="x", extra={"anthropic-messages": {"a": 1}}),
    "tool-error-flag": ToolMessage(call_id="c", content="x", is_error=True),
    "tool-name": ToolMessage(call_id="c", content="x", name="f"),
    "foreign-thinking": AssistantMessage(content=(ThinkingPart(text="t", provider="anthropic-messages"),)),
    "thinking-seal": AssistantMessage(content=(ThinkingPart(text="t", provider=PROTOCOL, signature="s"),)),
    "thinking-blocks": AssistantMessage(
        content=(ThinkingPart(text="t", provider=PROTOCOL), ThinkingPart(text="u", provider=PROTOCOL))
    ),
    "part-order": AssistantMessage(content=(CALL, TextPart(text="after"))),
    "media-type": UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),)),
    "data-url": UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),)),
    "surrogate-pairs": UserMessage(content="\ud83d\ude00"),
}


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_every_declared_loss_is_a_real_one(loss: Loss) -> None:
    model_input = ModelInput("", (NEEDS[loss.name],))
    read = readback(encode(model_input, "m").body)
    others = tuple(other for other in LOSSES if other is not loss)
    assert comparable(read) == comparable(model_input)
    assert comparable(read, others) != comparable(model_input, others)
