import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.tools import ToolSpec
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.families import FAMILIES, UNKNOWN
from copyfit.tokens.text_bound import bound_text

ESTIMATOR = ConservativeTokenEstimator()
ADDS = UNKNOWN.surcharges


def text(value: str) -> int:
    return bound_text(value, UNKNOWN.weights)


def test_a_message_costs_its_text_and_its_framing() -> None:
    assert ESTIMATOR.count_message(UserMessage(content="question")) == text("question") + ADDS.message


def test_no_tools_cost_nothing_and_an_empty_prompt_costs_the_base_of_every_input() -> None:
    assert ESTIMATOR.count_tools(()) == 0
    assert ESTIMATOR.count_system("") == ADDS.text_base


def test_tools_cost_their_preamble_once_and_each_its_json() -> None:
    spec = ToolSpec(name="web_search", description="Search the web")
    one, two = ESTIMATOR.count_tools([spec]), ESTIMATOR.count_tools([spec, spec])
    each = two - one
    assert each > ADDS.tool
    assert one == ADDS.tools_base - ADDS.text_base + each


def test_a_call_costs_its_name_and_arguments_and_the_surcharge_of_the_pair() -> None:
    call = ToolCall(id="c1", name="read_file", arguments='{"path":"a.txt"}')
    message = AssistantMessage(content=(TextPart(text="Let me look."), call))
    assert ESTIMATOR.count_message(message) == (
        ADDS.message + text("Let me look.") + ADDS.call + text("read_file") + text('{"path":"a.txt"}')
    )


def test_fields_of_a_wire_protocol_are_counted_once_however_many_protocols_there_are() -> None:
    """Case: EST-03."""
    bare = ESTIMATOR.count_message(AssistantMessage(content="x"))
    fields = {"refusal": "I would rather not answer that."}
    one = ESTIMATOR.count_message(AssistantMessage(content="x", extra={"openai-chat": fields}))
    two = ESTIMATOR.count_message(AssistantMessage(content="x", extra={"openai-chat": fields, "ollama": {}}))
    assert bare < one == two


def test_local_fields_cost_nothing() -> None:
    assert ESTIMATOR.count_message(UserMessage(content="x", source="memory.snapshot")) == ESTIMATOR.count_message(
        UserMessage(content="x")
    )


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_an_image_costs_a_constant_whatever_its_size(size: int) -> None:
    image = ImagePart(data="A" * size, media_type="image/png")
    assert ESTIMATOR.count_message(UserMessage(content=(image,))) == ADDS.message + ADDS.image


def test_an_inline_text_file_costs_its_text_and_any_other_file_a_constant() -> None:
    data = base64.b64encode(b"one two three\n" * 100).decode()
    readable = FilePart(data=data, media_type="text/plain")
    assert ESTIMATOR.count_message(UserMessage(content=(readable,))) == ADDS.message + text(
        "one two three\n" * 100
    )
    broken = FilePart(data="no base64!", media_type="text/plain")
    for opaque in (FilePart(data=data, media_type="application/pdf"), FilePart(file_id="file-1"), broken):
        assert ESTIMATOR.count_message(UserMessage(content=(opaque,))) == ADDS.message + ADDS.file


def test_sealed_reasoning_costs_a_quarter_of_its_characters_where_there_is_no_text() -> None:
    sealed = ThinkingPart(provider="anthropic-messages", signature="s" * 400)
    assert ESTIMATOR.count_message(AssistantMessage(content=(sealed,))) == ADDS.message + 100
    readable = ThinkingPart(provider="anthropic-messages", text="word " * 200, signature="s" * 400)
    assert ESTIMATOR.count_message(AssistantMessage(content=(readable,))) == ADDS.message + text("word " * 200)


def test_text_that_looks_like_a_special_token_is_plain_text() -> None:
    assert ESTIMATOR.count_message(UserMessage(content="<|endoftext|>")) == ADDS.message + text("<|endoftext|>")


def test_the_family_is_named_in_the_method() -> None:
    estimator = ConservativeTokenEstimator(FAMILIES["claude"])
    assert (estimator.method, estimator.family.name) == ("conservative:claude", "claude")


def test_a_response_schema_costs_its_json_and_its_surcharge() -> None:
    assert ESTIMATOR.count_schema({"type": "object"}) == ADDS.schema + text('{"type":"object"}')


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_longer_text_never_costs_less(short: str, more: str) -> None:
    longer = ESTIMATOR.count_message(ToolMessage(call_id="c", content=short + "\n" + more))
    assert longer >= ESTIMATOR.count_message(ToolMessage(call_id="c", content=short))
