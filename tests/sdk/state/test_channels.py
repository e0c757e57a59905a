import json
from itertools import permutations

import pytest

from copyfit.state.channels import Channel, ChannelRule, DurableState, ToolObservation
from copyfit.state.skills import SkillReference


def observe(
    state: DurableState,
    tool: str,
    *,
    sequence: int,
    call_id: str | None = None,
    arguments: str = "{}",
    content: str = "ok",
    failed: bool = False,
) -> None:
    state.observe(
        ToolObservation(
            tool_name=tool,
            call_id=call_id or f"call-{sequence}",
            arguments=arguments,
            content=content,
            failed=failed,
            sequence=sequence,
        )
    )


def sequences(state: DurableState, channel: Channel) -> list[int]:
    return [record.sequence for record in state.records(channel)]


def test_a_channel_keeps_its_five_newest_records_in_order() -> None:
    """Case: DUR-20."""
    state = DurableState()
    for sequence in range(1, 7):
        observe(state, "declare_artifact", sequence=sequence)
    assert sequences(state, Channel.ARTIFACTS) == [2, 3, 4, 5, 6]


def test_a_second_observation_of_one_call_replaces_the_first() -> None:
    """Case: DUR-21."""
    state = DurableState()
    observe(state, "task", sequence=1, call_id="a", content="early")
    observe(state, "task", sequence=2, call_id="a", content="late")
    [record] = state.records(Channel.DELEGATIONS)
    assert (record.sequence, record.result) == (2, '"late"')


@pytest.mark.parametrize("arrival", list(permutations((1, 2, 3))))
def test_records_follow_declared_order_however_they_arrive(arrival: tuple[int, ...]) -> None:
    """Case: DUR-22."""
    state = DurableState()
    for sequence in arrival:
        observe(state, "query_graph", sequence=sequence)
    assert sequences(state, Channel.MEMORY) == [1, 2, 3]


def test_ties_are_ordered_by_call_id() -> None:
    """Case: DUR-22."""
    state = DurableState()
    for call_id in ("b", "a"):
        observe(state, "query_graph", sequence=1, call_id=call_id)
    assert [record.call_id for record in state.records(Channel.MEMORY)] == ["a", "b"]


def test_failed_delegations_and_reviews_are_kept_with_their_status_and_others_are_not() -> None:
    """Case: DUR-23."""
    state = DurableState()
    tools = ("task", "review_checkpoint", "declare_artifact", "query_graph")
    for sequence, tool in enumerate(tools, start=1):
        observe(state, tool, sequence=sequence, failed=True)
    observe(state, "read_skill", sequence=9, arguments='{"skillId":"s"}', failed=True)
    assert [record.status for record in state.records(Channel.DELEGATIONS)] == ["failed"]
    assert [record.status for record in state.records(Channel.REVIEWS)] == ["failed"]
    assert state.records(Channel.ARTIFACTS) == state.records(Channel.MEMORY) == ()
    assert state.skills.read() == ()


def test_a_tool_without_a_channel_leaves_nothing() -> None:
    state = DurableState()
    observe(state, "update_plan", sequence=1)
    assert all(state.records(channel) == () for channel in Channel)


def test_a_live_record_comes_behind_hydrated_ones() -> None:
    state = DurableState()
    for _ in range(5):
        observe(state, "task", sequence=state.next_sequence())
    observe(state, "task", sequence=state.next_sequence(), call_id="live")
    assert [record.call_id for record in state.records(Channel.DELEGATIONS)][-1] == "live"
    assert sequences(state, Channel.DELEGATIONS) == [2, 3, 4, 5, 6]


def test_a_record_is_one_line_of_json_without_its_sequence() -> None:
    state = DurableState()
    observe(state, "task", sequence=1, arguments='{"goal": "x"}', content='{"n": 1.0}')
    [record] = state.records(Channel.DELEGATIONS)
    assert json.loads(record.json) == {
        "args": {"goal": "x"},
        "callId": "call-1",
        "result": {"n": 1.0},
        "status": "succeeded",
        "toolName": "task",
    }


def test_a_run_may_bring_its_own_tools() -> None:
    state = DurableState(rules={"save": ChannelRule(Channel.ARTIFACTS)})
    observe(state, "save", sequence=1)
    observe(state, "task", sequence=2)
    assert sequences(state, Channel.ARTIFACTS) == [1]
    assert state.records(Channel.DELEGATIONS) == ()


def test_a_read_skill_has_the_frozen_revision_and_an_unselected_one_stays_bare() -> None:
    state = DurableState(skills=[SkillReference(id="review", name="Review", revision=4, version="2.0.0")])
    observe(state, "read_skill", sequence=1, arguments='{"skillId":"review"}')
    observe(state, "read_skill", sequence=2, arguments='{"skillId":"alien"}')
    observe(state, "read_skill", sequence=3, arguments="{}")
    assert [skill.as_data() for skill in state.skills.read()] == [
        {"id": "alien"},
        {"id": "review", "name": "Review", "revision": 4, "version": "2.0.0"},
    ]


def test_the_goal_comes_from_the_contract() -> None:
    assert DurableState().goal is None
    goal = DurableState(contract="find it").goal
    assert goal is not None
    assert goal.raw == "find it"
