"""Calls and their results stay together, whatever is cut around them."""

from typing import TYPE_CHECKING

import pytest

from copyfit import Transcript

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_a_message_limit_never_starts_at_a_result(bench: "Bench") -> None:
    """Case: langchain-33245, n8n-34125."""
    history = [
        bench.user("weather in Oslo?"),
        bench.asks("a"),
        bench.result("a", "9 C"),
        bench.user("thanks"),
        bench.said("more?"),
        bench.user("no"),
        bench.said("bye"),
    ]
    for limit in range(1, 8):
        sent = (await bench.assemble(history, window_messages=limit)).model_input.messages
        assert bench.paired(sent)
        assert sent[0].role == "user"


async def test_a_message_limit_drops_a_whole_round_behind_the_system_prompt(bench: "Bench") -> None:
    """Case: agno-9372."""
    history = []
    for number in ("1", "2"):
        history += [bench.user(f"q{number}"), bench.asks(number), bench.result(number, "x"), bench.said("done")]
    for limit in range(1, 9):
        model_input = (await bench.assemble(history, window_messages=limit)).model_input
        assert bench.paired(model_input.messages)
        assert model_input.system == bench.system


async def test_rounds_are_counted_by_requests_and_not_by_model_messages(bench: "Bench") -> None:
    """Case: adk-4027."""
    history = [bench.user("hello"), bench.said("hi")]
    for number in ("1", "2"):
        history += [bench.user(f"q{number}"), bench.asks(number), bench.result(number, "doc"), bench.said("found")]
    sent = (await bench.assemble(history, window_rounds=2)).model_input.messages
    assert sent == tuple(history[2:])


async def test_one_message_may_be_kept_and_the_newest_step_is_kept_whole_with_its_task(bench: "Bench") -> None:
    """Case: pydantic-ai-2050."""
    history = [bench.user("summarise"), bench.asks("t"), bench.result("t", "42")]
    assert (await bench.assemble(history, window_messages=1)).model_input.messages == tuple(history)


async def test_results_that_were_mixed_up_go_to_their_own_calls_before_anything_is_cut(bench: "Bench") -> None:
    """Case: langchain-38352."""
    history = [
        bench.user("go"),
        bench.asks("old"),
        bench.user("filler"),
        bench.asks("x", "y"),
        bench.result("old", "late " * 200),
        bench.result("x", "a " * 200),
        bench.result("y", "b " * 200),
        bench.said("done"),
        bench.user("next"),
    ]
    for window in (300, 400, 500, 10_000):
        turn = await bench.assemble(history, window=window)
        assert bench.paired(turn.model_input.messages)
        assert turn.abandoned_calls == ()
    assert [message.role for message in turn.model_input.messages[:4]] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("stored", [True, False])
async def test_a_parallel_batch_is_answered_whole_or_gone(bench: "Bench", stored: bool) -> None:
    """Case: langmem-112, litellm-10696."""
    history = [
        bench.user("q"),
        bench.asks("a", "b", "c"),
        *(bench.result(each, each * 4_000, stored=stored) for each in "abc"),
        bench.said("ok"),
        bench.user("q2"),
    ]
    turn = await bench.assemble(history, window=2_600, reserve=200)
    results = [message for message in turn.model_input.messages if message.role == "tool"]
    assert len(results) == (3 if stored else 0)
    assert bench.paired(turn.model_input.messages)
    assert turn.estimated_tokens <= 2_400


async def test_the_newest_call_and_result_survive_together_when_an_older_pair_goes(bench: "Bench") -> None:
    """Case: letta-2605."""
    history = [
        bench.user("which day?"),
        bench.asks("s1"),
        bench.result("s1", "d " * 3_000),
        bench.said("it is May"),
        bench.user("which films?"),
        bench.asks("s2"),
        bench.result("s2", "m " * 3_000),
    ]
    turn = await bench.assemble(history, window=2_200, reserve=200)
    assert turn.model_input.messages[-3:] == tuple(history[-3:])
    assert bench.paired(turn.model_input.messages)
    assert turn.estimated_tokens <= 2_000


async def test_far_below_the_limit_nothing_is_changed(bench: "Bench") -> None:
    """Case: litellm-8261."""
    history = Transcript([bench.user("u"), bench.asks("c"), bench.result("c", "payload")])
    turn = await bench.assemble(history, window=128_000, reserve=4_000)
    assert turn.model_input.messages == history.messages
    assert turn.history == history


async def test_a_history_with_a_result_of_no_call_can_go_on(bench: "Bench") -> None:
    """Case: pi-6832, openhands-4591."""
    history = [
        bench.user("t"),
        bench.asks("k"),
        bench.result("k", "ok"),
        bench.result("ghost", "error after a restart"),
        bench.said("x"),
        bench.user("go on"),
    ]
    first = await bench.assemble(history)
    assert bench.paired(first.model_input.messages)
    assert "ghost" in first.abandoned_calls
    assert "error after a restart" in [message.text for message in first.model_input.messages]
    again = await bench.assemble(first.history)
    assert (again.abandoned_calls, again.model_input) == ((), first.model_input)
    forced = await bench.assemble(history, forced=True, window=400)
    assert bench.paired(forced.model_input.messages)


async def test_a_result_may_come_after_its_call_was_summarised(bench: "Bench") -> None:
    """Case: adk-4740."""
    history = Transcript(
        [
            bench.user("delete it?"),
            bench.asks("confirm"),
            bench.user("wait, list the files first"),
            *bench.steps(15, 600, stored=False),
        ]
    )
    turn = await bench.assemble(history, window=1_500)
    assert turn.compaction.summarized_messages > 0
    grown = turn.history.append(bench.user("yes"), bench.result("confirm", "approved"))
    sent = (await bench.assemble(grown, window=1_500)).model_input.messages
    assert bench.paired(sent)
    assert "approved" in [message.text for message in sent]


async def test_a_server_may_give_every_call_the_same_id(bench: "Bench") -> None:
    """Case: hermes-70724."""
    history = Transcript([bench.user("four steps")])
    for number in range(4):
        history = history.append(bench.asks("same"), bench.result("same", f"r{number}"))
        sent = (await bench.assemble(history)).model_input.messages
        assert sent == history.messages
    assert [message.text for message in sent if message.role == "tool"] == ["r0", "r1", "r2", "r3"]


async def test_an_id_stands_once_after_a_forced_pass_in_mid_turn(bench: "Bench") -> None:
    """Case: atomic-2051."""
    history = Transcript([bench.user("t"), bench.asks("1", "2"), bench.result("1", "a"), bench.result("2", "b")])
    forced = await bench.assemble(history, forced=True)
    grown = forced.history.append(bench.asks("3", "4"), bench.result("3", "c"), bench.result("4", "d"))
    sent = (await bench.assemble(grown)).model_input.messages
    assert bench.paired(sent)
    assert [message.call_id for message in sent if message.role == "tool"] == ["1", "2", "3", "4"]
