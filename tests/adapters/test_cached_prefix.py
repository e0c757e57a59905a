"""What an agent's run marks for the provider's cache stays as it was, byte for byte, on the turns that follow."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from copyfit import ContextBudgets, Mode, ModelInput, Tool, ToolSpec, Transcript, UserMessage
from copyfit.ports.summarizer import SummaryRequest
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import AssistantMessage, Origin, TextPart, ThinkingPart, ToolCall
from copyfit_adapters.anthropic_messages.encode import encode as encode_messages
from copyfit_adapters.bedrock_converse.encode import encode as encode_converse
from copyfit_harness.scripted.provider import ScriptedProvider

READ = ToolSpec(name="read", parameters={"type": "object", "properties": {"plot": {"type": "string"}}})
PLAN = {"items": [{"step": "Compare.", "status": "in_progress"}]}
TURNS = 8


@dataclass(frozen=True)
class Wire:
    """One protocol: how it writes an input, and its two forms of hidden reasoning."""

    protocol: str
    encode: Callable[..., Any]
    hidden: dict[str, Any]


WIRES = [
    Wire("anthropic-messages", encode_messages, {"type": "redacted_thinking", "data": "eHl6"}),
    Wire("bedrock-converse", encode_converse, {"redactedContent": "eHl6"}),
]
EACH_WIRE = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.protocol)


class NoSummarizer:
    """Writes nothing, so that the script is played by the run's own turns alone."""

    async def summarize(self, request: SummaryRequest) -> str:
        return ""


def step(wire: Wire, turn: int) -> AssistantMessage:
    """Return an answer that thinks, speaks and makes two calls; the first also makes a plan."""
    calls = [ToolCall(id=f"c{turn}-{n}", name="read", arguments=f'{{"plot":"{n}"}}') for n in range(2)]
    if turn == 0:
        calls.append(ToolCall(id="plan", name="update_plan", arguments=json.dumps(PLAN)))
    thoughts = (
        ThinkingPart(text=f"Think {turn}.", signature=f"c2ln{turn}", provider=wire.protocol),
        ThinkingPart(provider=wire.protocol, opaque=wire.hidden),
    )
    return AssistantMessage(content=(*thoughts, TextPart(text=f"Step {turn}: 盐."), *calls))


def inputs_of_a_run(wire: Wire, budgets: ContextBudgets | None = None) -> list[ModelInput]:
    """Return what a run with a plan sends, whose every turn but the first ends in a message of that turn alone."""
    provider = ScriptedProvider([*(step(wire, turn) for turn in range(TURNS)), "Done."])
    parts = RunParts(
        client=provider,
        budgets=budgets,
        summarizer=NoSummarizer(),
        mode=Mode.DYNAMIC,
        prompt="You compare plots.",
        contract="Deliver a table.",
        tools=[Tool(READ, lambda plot: f"plot-{plot} read 8.41 dS/m. " * 20)],
        plan=True,
    )
    asyncio.run(compose_run(parts).run(Transcript([UserMessage(content="Compare the plots.")])))
    assert all(sent.messages[-1].origin is Origin.CONTRIBUTED for sent in provider.inputs[1:])
    return provider.inputs


def marked_prefix(body: bytes) -> tuple[list[str], list[str]]:
    """Return the blocks of a request, and those of them up to the last that is marked; both without the marks."""
    blocks: list[str] = []
    marked = 0
    for message in json.loads(body)["messages"]:
        for block in message["content"]:
            if "cachePoint" in block:
                marked = len(blocks)
                continue
            own = block.pop("cache_control", None)
            blocks.append(json.dumps([message["role"], block]))
            marked = marked if own is None else len(blocks)
    return blocks, blocks[:marked]


@EACH_WIRE
def test_the_marked_prefix_of_a_turn_is_the_beginning_of_the_next_turn(wire: Wire) -> None:
    known: IdentityMemo[bytes] = IdentityMemo()
    bodies = [wire.encode(sent, "m", cache="5m", known=known).body for sent in inputs_of_a_run(wire)]
    turns = [marked_prefix(body) for body in bodies]
    for (blocks, prefix), (following, longer) in pairwise(turns):
        assert following[: len(prefix)] == prefix
        assert len(longer) > len(prefix)
        assert len(blocks) - len(prefix) <= 1
    heads = [{k: v for k, v in json.loads(body).items() if k != "messages"} for body in bodies]
    assert all(head == heads[0] for head in heads)
    assert str(heads[0]).count("'cache_control'") + str(heads[0]).count("'cachePoint'") == 2


@EACH_WIRE
def test_all_bytes_before_the_messages_of_a_turn_alone_survive_it(wire: Wire) -> None:
    sent = inputs_of_a_run(wire)
    bodies = [wire.encode(one, "m").body for one in sent]
    for one, (body, following) in zip(sent, pairwise(bodies), strict=False):
        stable = tuple(message for message in one.messages if message.origin is Origin.CANONICAL)
        alone = wire.encode(ModelInput(one.system, stable, one.tools, one.settings), "m").body
        kept = alone.removesuffix(b"]}]}")
        assert body.startswith(kept)
        assert following.startswith(kept)


@EACH_WIRE
def test_reasoning_goes_back_with_its_calls_as_it_came(wire: Wire) -> None:
    *_, last = inputs_of_a_run(wire)
    said = [m["content"] for m in json.loads(wire.encode(last, "m").body)["messages"] if m["role"] == "assistant"]
    assert len(said) == TURNS
    for turn, blocks in enumerate(said):
        assert blocks[:2] == expected_thoughts(wire, turn)
        assert all("hink" not in json.dumps(block) and "reason" not in json.dumps(block) for block in blocks[2:])


def expected_thoughts(wire: Wire, turn: int) -> Sequence[dict[str, Any]]:
    if wire.protocol == "anthropic-messages":
        return [{"type": "thinking", "thinking": f"Think {turn}.", "signature": f"c2ln{turn}"}, wire.hidden]
    text = {"text": f"Think {turn}.", "signature": f"c2ln{turn}"}
    return [{"reasoningContent": {"reasoningText": text}}, {"reasoningContent": wire.hidden}]


@EACH_WIRE
def test_a_history_that_was_cut_keeps_the_reasoning_of_the_calls_that_it_keeps(wire: Wire) -> None:
    budgets = ContextBudgets(model_max_tokens=6_000, output_reserve_tokens=500, compaction_tool_preview_bytes=100)
    sent = inputs_of_a_run(wire, budgets)
    assert len(sent[-1].messages) < len(inputs_of_a_run(wire)[-1].messages) / 2
    for one in sent:
        for message in json.loads(wire.encode(one, "m").body)["messages"]:
            if message["role"] == "assistant":
                turn = int(json.dumps(message["content"]).split("Step ")[1][0])
                assert message["content"][:2] == expected_thoughts(wire, turn)
