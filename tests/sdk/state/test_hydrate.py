from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from copyfit.state.channels import Channel, DurableState
from copyfit.state.hydrate import hydrate


def call(call_id: str, name: str, arguments: str = "{}") -> AssistantMessage:
    return AssistantMessage(content=(ToolCall(id=call_id, name=name, arguments=arguments),))


def hydrated(*messages: Message) -> DurableState:
    state = DurableState()
    hydrate(state, messages)
    return state


def test_answered_calls_are_observed_in_order() -> None:
    state = hydrated(
        UserMessage(content="go"),
        call("a", "task", '{"goal":"x"}'),
        ToolMessage(call_id="a", content="done"),
        call("b", "read_skill", '{"skillId":"review"}'),
        ToolMessage(call_id="b", content="the body"),
        call("c", "task"),
        ToolMessage(call_id="c", content="done too"),
    )
    assert [record.call_id for record in state.records(Channel.DELEGATIONS)] == ["a", "c"]
    assert state.records(Channel.DELEGATIONS)[0].arguments == '{"goal":"x"}'
    assert [skill.id for skill in state.skills.read()] == ["review"]
    assert state.next_sequence() == 4


def test_old_results_are_read_for_failure() -> None:
    """Case: DUR-25."""
    state = hydrated(
        *(call(name, "task") for name in ("a", "b", "c", "d")),
        ToolMessage(call_id="a", content='{"ok":false}'),
        ToolMessage(call_id="b", content='{"error":{"code":"X"}}'),
        ToolMessage(call_id="c", content="plain text"),
        ToolMessage(call_id="d", content="boom", is_error=True),
    )
    statuses = [record.status for record in state.records(Channel.DELEGATIONS)]
    assert statuses == ["failed", "failed", "succeeded", "failed"]


def test_a_result_of_no_declared_call_is_ignored() -> None:
    """Case: DUR-26."""
    state = hydrated(ToolMessage(call_id="ghost", content="x", name="task"))
    assert state.records(Channel.DELEGATIONS) == ()


def test_a_second_result_of_one_call_is_ignored() -> None:
    state = hydrated(
        call("a", "task"),
        ToolMessage(call_id="a", content="first"),
        ToolMessage(call_id="a", content="second"),
    )
    assert [record.result for record in state.records(Channel.DELEGATIONS)] == ['"first"']


def test_arguments_that_are_no_json_are_empty() -> None:
    """Case: DUR-27."""
    state = hydrated(call("a", "task", "not json"), ToolMessage(call_id="a", content="x"))
    assert state.records(Channel.DELEGATIONS)[0].arguments == "{}"
