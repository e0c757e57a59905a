"""What one provider said through litellm goes back to it whole, and to no other."""

import logging

import pytest

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import (
    AssistantMessage,
    Message,
    Part,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.tools import ToolSpec
from copyfit_adapters.litellm.messages import incoming, maker_of, outgoing

MAKER = maker_of("anthropic")
CHAT = "openai-chat"
BLOCKS = [
    {"type": "thinking", "thinking": "Two ", "signature": "S1"},
    {"type": "redacted_thinking", "data": "R"},
    {"type": "thinking", "thinking": "cities.", "signature": "S2"},
]
SEALED = (
    ThinkingPart(text="Two ", signature="S1", provider=MAKER, opaque={"block": {"type": "thinking"}}),
    ThinkingPart(provider=MAKER, opaque={"block": {"type": "redacted_thinking", "data": "R"}}),
    ThinkingPart(text="cities.", signature="S2", provider=MAKER, opaque={"block": {"type": "thinking"}}),
)
CALL = ToolCall(id="c", name="f", extra={CHAT: {"provider_specific_fields": {"thought_signature": "T"}}})


def read(*parts: Part, **extra: object) -> AssistantMessage:
    """Return an answer as the chat completions codec reads it."""
    return AssistantMessage(content=parts, extra={CHAT: extra} if extra else {})


def sent(message: Message, maker: str = MAKER) -> Message:
    (only,) = outgoing(ModelInput("", (message,)), maker, IdentityMemo()).messages
    return only


def test_thinking_blocks_become_parts_with_their_seals() -> None:
    said = read(ThinkingPart(text="Two cities.", provider=CHAT), CALL, thinking_blocks=BLOCKS)
    answer = incoming(said, MAKER)
    assert answer.extra == {}
    *thought, call = answer.parts
    assert tuple(thought) == SEALED
    assert isinstance(call, ToolCall)
    assert call.extra == {MAKER: CALL.extra[CHAT]}


def test_redacted_thinking_beside_a_plain_text_is_a_part() -> None:
    said = AssistantMessage(content="Hi.", extra={CHAT: {"thinking_blocks": BLOCKS[1:2]}})
    assert incoming(said, MAKER) == AssistantMessage(content=(SEALED[1], TextPart(text="Hi.")))


def test_a_repetition_of_the_blocks_is_left_out_and_other_fields_stay() -> None:
    said = read(
        ThinkingPart(text="Two cities.", provider=CHAT),
        thinking_blocks=BLOCKS,
        provider_specific_fields={"thinking_blocks": BLOCKS, "citations": [1]},
        annotations=["a"],
    )
    kept = {"provider_specific_fields": {"citations": [1]}, "annotations": ["a"]}
    assert incoming(said, MAKER).extra == {MAKER: kept}


@pytest.mark.parametrize(
    "blocks", ["text", [1], [{"type": "thinking", "thinking": "other"}], [{"thinking": 1}], [{"signature": 1}]]
)
def test_blocks_that_say_something_else_than_the_text_stay_as_they_are(blocks: object) -> None:
    answer = incoming(read(ThinkingPart(text="Two", provider=CHAT), thinking_blocks=blocks), MAKER)
    assert answer.content == (ThinkingPart(text="Two", provider=MAKER),)
    assert answer.extra == {MAKER: {"thinking_blocks": blocks}}


def test_an_answer_goes_back_to_its_maker_as_it_was_read() -> None:
    said = read(
        ThinkingPart(text="Two cities.", provider=CHAT),
        TextPart(text="Looking.", extra={CHAT: {"x": 1}}),
        CALL,
        thinking_blocks=BLOCKS,
        annotations=["a"],
    )
    assert sent(incoming(said, MAKER)) == said


def test_plain_reasoning_keeps_the_name_of_its_field() -> None:
    said = read(ThinkingPart(text="hm", provider=CHAT, opaque={"field": "reasoning"}), CALL)
    assert sent(incoming(said, MAKER)) == said


@pytest.mark.parametrize("other", [maker_of("gemini"), CHAT, "anthropic-messages"])
def test_reasoning_and_fields_of_another_maker_do_not_travel(other: str, caplog: pytest.LogCaptureFixture) -> None:
    call = ToolCall(id="c", name="f", extra={other: {"x": 1}})
    foreign = AssistantMessage(content=(ThinkingPart(text="hm", provider=other), call), extra={other: {"y": 2}})
    with caplog.at_level(logging.WARNING, "copyfit.adapters"):
        assert sent(foreign) == AssistantMessage(content=(ToolCall(id="c", name="f"),))
    assert caplog.messages == [f"{MAKER} does not take the reasoning that {other} made."]


def test_fields_of_litellms_own_travel_to_every_provider() -> None:
    own = {"litellm": {"cache_control": {"type": "ephemeral"}}, MAKER: {"only": 1}, CHAT: {"never": 1}}
    whole = {CHAT: {"cache_control": {"type": "ephemeral"}, "only": 1}}
    model_input = ModelInput(
        "",
        (
            UserMessage(content=(TextPart(text="hi", extra=own),), extra=own),
            ToolMessage(call_id="c", content="r", extra=own),
        ),
        (ToolSpec(name="f", extra=own),),
        ModelSettings(extra=own),
    )
    found = outgoing(model_input, MAKER, IdentityMemo())
    user, tool = found.messages
    assert user.extra == tool.extra == found.tools[0].extra == found.settings.extra == whole
    assert user.parts[0].extra == whole  # type: ignore[union-attr]
    assert outgoing(model_input, maker_of("x"), IdentityMemo()).messages[0].extra == {
        CHAT: {"cache_control": {"type": "ephemeral"}}
    }


def test_a_message_is_changed_once_and_one_without_anything_to_change_is_itself() -> None:
    plain, special = UserMessage(content=(TextPart(text="hi"),)), AssistantMessage(content=SEALED)
    known: IdentityMemo[Message] = IdentityMemo()
    first, second = (outgoing(ModelInput("", (plain, special)), MAKER, known).messages for _ in range(2))
    assert first[0] is plain
    assert first[1] is second[1]
