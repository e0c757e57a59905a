import json
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolCall, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.stages import TurnRecord
from copyfit.shapes.tools import ToolSpec
from copyfit.trace.diff import Difference, compare_document, compare_inputs
from copyfit.trace.schema import trace_document


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def of(*messages: Message, system: str = "") -> ModelInput:
    return ModelInput(system, messages)


def test_equal_inputs_have_no_difference_whatever_stays_at_home() -> None:
    hidden = UserMessage(content="x", origin=Origin.CONTRIBUTED, source="memory")
    assert compare_inputs(of(hidden), of(user("x"))) == ()


def test_an_added_message_shows_alone() -> None:
    [found] = compare_inputs(of(user("a"), user("new"), user("b")), of(user("a"), user("b")))
    assert (found.kind, found.where) == ("only in candidate", "messages[1]")
    assert found.candidate["content"] == "new"
    [found] = compare_inputs(of(user("b")), of(user("a"), user("b")))
    assert (found.kind, found.where) == ("only in sent", "messages[0]")


def test_a_changed_line_of_the_prompt_shows_alone() -> None:
    [found] = compare_inputs(of(system="one\ntwo\nthree"), of(system="one\n2\nthree"))
    assert found == Difference("changed", "system:2", "two", "2")
    assert str(found) == "system:2: two was sent as 2"


def test_a_change_is_named_by_its_smallest_path() -> None:
    def calling(arguments: str) -> ModelInput:
        return of(user("a"), AssistantMessage(content=(ToolCall(id="c", name="t", arguments=arguments),)))

    [found] = compare_inputs(calling('{"n": 1}'), calling('{"n": 1.0}'))
    assert found == Difference("changed", "messages[1].content[0].arguments", '{"n": 1}', '{"n": 1.0}')


def test_tools_and_settings_are_compared_by_field() -> None:
    search, shell = ToolSpec(name="search"), ToolSpec(name="shell")
    wordy = ToolSpec(name="shell", description="runs")
    ours = ModelInput("", (), (search, shell), ModelSettings(temperature=0))
    theirs = ModelInput("", (), (search, wordy, search), ModelSettings(temperature=1))
    assert {(each.kind, each.where) for each in compare_inputs(ours, theirs)} == {
        ("changed", "tools[1].description"),
        ("only in sent", "tools[2]"),
        ("changed", "settings.temperature"),
    }


def test_a_long_value_is_shown_in_short() -> None:
    [found] = compare_inputs(of(system="x"), of(system="y" * 1_000))
    assert len(str(found)) < 250


def test_a_shadow_document_tells_candidate_from_sent(shadow: TurnRecord) -> None:
    document = json.loads(json.dumps(trace_document(shadow, exported_at=datetime.now(UTC))))
    found = compare_document(document)
    assert found is not None
    assert [(each.kind, each.where) for each in found] == [
        ("changed", "system:1"),
        ("only in candidate", "messages[4]"),
    ]


def test_a_document_without_a_candidate_has_nothing_to_compare(legacy: TurnRecord, dynamic: TurnRecord) -> None:
    assert compare_document(trace_document(legacy, exported_at=datetime.now(UTC))) is None
    assert compare_document(trace_document(replace(dynamic), exported_at=datetime.now(UTC))) == ()


inputs = st.builds(
    lambda system, texts, tools: ModelInput(
        system, tuple(map(user, texts)), tuple(ToolSpec(name=name) for name in tools)
    ),
    st.text(alphabet="ab\n", max_size=6),
    st.lists(st.sampled_from("abc"), max_size=5),
    st.lists(st.sampled_from("xy"), max_size=3),
)


@given(inputs, inputs)
def test_there_is_a_difference_exactly_where_the_bytes_differ(ours: ModelInput, theirs: ModelInput) -> None:
    assert (compare_inputs(ours, theirs) == ()) == (ours.digest == theirs.digest)
