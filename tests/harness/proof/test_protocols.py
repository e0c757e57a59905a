"""Every protocol that the proof knows: what its own encode wrote is exact, and a word more is found."""

from collections.abc import Callable

import pytest

from copyfit.shapes.messages import AssistantMessage, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.anthropic_messages.encode import encode as encode_messages
from copyfit_adapters.codec.request import WireRequest
from copyfit_adapters.openai_chat.encode import encode as encode_chat
from copyfit_harness.proof.exact import Protocol, compare
from copyfit_harness.proof.protocols import ANTHROPIC_MESSAGES, OPENAI_CHAT

INPUT = ModelInput(
    "Be brief.",
    (
        UserMessage(content="Compare the plots."),
        AssistantMessage(content=(TextPart(text="I look."), ToolCall(id="c1", name="soil"))),
        ToolMessage(call_id="c1", content="8.41 dS/m"),
        UserMessage(content="And now?"),
    ),
)
KNOWN = [(OPENAI_CHAT, encode_chat), (ANTHROPIC_MESSAGES, encode_messages)]


@pytest.mark.parametrize(("protocol", "encode"), KNOWN, ids=lambda value: getattr(value, "name", ""))
def test_what_a_protocol_wrote_is_exact_and_a_word_more_is_not(
    protocol: Protocol, encode: Callable[[ModelInput, str], WireRequest]
) -> None:
    body = encode(INPUT, "m").body
    assert compare(INPUT, body, protocol).is_exact
    assert not compare(INPUT, body.replace(b"And now?", b"And now, please?"), protocol).is_exact
