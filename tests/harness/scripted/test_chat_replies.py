import json
from typing import Any

import pytest

from copyfit import ToolCall
from copyfit.shapes.model_output import Finished
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_adapters.overflow.evidence import lift
from copyfit_adapters.overflow.judge import judge
from copyfit_harness.scripted.chat_replies import (
    Heading,
    Say,
    Wording,
    dumped,
    overflow,
    overflow_in_stream,
    rough_tokens,
    stream_events,
    whole_body,
)

HEADING = Heading(number=7, model="m", prompt_tokens=12, include_usage=True)
CALLS = (
    ToolCall(id="a", name="look", arguments='{"where": "第三号样地, in the north"}'),
    ToolCall(id="b", name="count", arguments="{}", extra={"openai-chat": {"signature": "c2ln"}}),
)


def streamed(say: Say) -> Any:
    stream = ChatStream()
    events = [event for chunk in stream_events(say, HEADING) for event in stream.feed(chunk)]
    assert isinstance(events[-1], Finished)
    return events[-1].output


@pytest.mark.parametrize(
    "say",
    [
        Say("Na+/K+ ratio, 叶尖枯黄 🌾, and more than one piece of text"),
        Say(calls=CALLS),
        Say("both", calls=CALLS),
    ],
    ids=["text", "calls", "both"],
)
def test_a_stream_says_what_the_whole_answer_says(say: Say) -> None:
    whole = decode(200, whole_body(say, HEADING))
    pieces = streamed(say)
    assert pieces.message == whole.message
    assert (pieces.finish_reason, pieces.usage, pieces.response_id) == (
        whole.finish_reason,
        whole.usage,
        "chatcmpl-scripted-0007",
    )
    assert whole.message.text == say.text
    assert whole.message.tool_calls == say.calls


def test_a_stream_names_its_costs_only_when_it_is_asked() -> None:
    silent = Heading(number=1, model="m", prompt_tokens=12, include_usage=False)
    assert not any(b"prompt_tokens" in chunk for chunk in stream_events(Say("x"), silent))


@pytest.mark.parametrize("wording", list(Wording))
def test_each_wording_is_judged_an_overflow_with_its_numbers(wording: Wording) -> None:
    refusal = overflow(wording, requested=3_102, limit=2_048)
    verdict = judge(lift(refusal.status, dumped(refusal.body)))
    assert verdict.is_context_overflow
    assert (verdict.requested_tokens, verdict.limit_tokens) == (3_102, 2_048)


def test_an_overflow_in_mid_stream_comes_after_the_text() -> None:
    chunks = list(stream_events(overflow_in_stream("so far"), HEADING))
    assert json.loads(chunks[1].removeprefix(b"data: "))["choices"][0]["delta"] == {"content": "so far"}
    assert json.loads(chunks[-1].removeprefix(b"data: "))["error"]["message"] == "Context size has been exceeded."


@pytest.mark.parametrize(("text", "tokens"), [(b"", 0), (b"a", 1), (b"abcd", 1), (b"abcde", 2)])
def test_four_bytes_are_a_token(text: bytes, tokens: int) -> None:
    assert rough_tokens(text) == tokens
