"""Append one step a turn for far longer than the window lasts: old steps become a checkpoint again and again."""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import mean, median

import pytest

from copyfit.compaction.sections import HEADINGS
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.contributors.standing import identity
from copyfit.modes import Selected, open_mode
from copyfit.ports.summarizer import SummaryRequest
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, Origin, UserMessage
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import TurnRequest
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger
from copyfit_adapters.openai_chat.encode import encode

pytestmark = [pytest.mark.benchmark, pytest.mark.anyio]

STEPS = 2_000
WINDOW = ContextBudgets(model_max_tokens=131_072)
TASK = UserMessage(content="Which of the trials changed its primary endpoint? Cite each record.")


class ScriptedSummarizer:
    """Answers at once with all eight sections, about 250 words in all; no two answers are the same."""

    def __init__(self) -> None:
        self.asked = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.asked += 1
        return "\n\n".join(f"## {heading}\n{self.asked}: {'noted and verified ' * 10}" for heading in HEADINGS)


async def test_a_run_far_longer_than_the_window(
    machine: str, make_steps: Callable[[], Iterator[tuple[Message, Message]]]
) -> None:
    summarizer = ScriptedSummarizer()
    mode = open_mode(
        Mode.DYNAMIC,
        registry=ContextContributorRegistry([identity("You read trial records. " * 40)]),
        ledger=TokenLedger(ConservativeTokenEstimator()),
        summarizer=summarizer,
    )
    history, fragments = Transcript([TASK]), IdentityMemo[bytes]()
    assembling, encoding, broken, summarized = [], [], 0, 0
    for turn, step in enumerate(islice(make_steps(), STEPS), start=1):
        before = history
        began = time.process_time_ns()
        history = history.append(*step)
        selected = await mode.select(
            TurnRequest(context_id="bench", scope=Scope.MAIN, turn=turn, history=history, budgets=WINDOW)
        )
        assembled = time.process_time_ns()
        encode(selected.model_input, "bench", known=fragments)
        encoded = time.process_time_ns()
        history = selected.history
        assembling.append((assembled - began) / 1e6)
        encoding.append((encoded - assembled) / 1e6)
        broken += not history.messages.begins_with(before.messages)
        summarized += selected.compaction.summarized_messages
        check(selected, step)
    assert broken == summarizer.asked > 0
    assert summarized + len(history) == 1 + 2 * STEPS + 1
    print(f"\n\n{STEPS:,} steps of about 490 tokens through a window of 131,072; CPU ms a turn.\n{machine}")
    print("                   median   mean  worst")
    print(f"assembled, counted {median(assembling):>6.2f} {mean(assembling):>6.2f} {max(assembling):>6.2f}")
    print(f"wire encoding      {median(encoding):>6.2f} {mean(encoding):>6.2f} {max(encoding):>6.2f}")
    print(f"turns that broke the cached prefix: {broken} of {STEPS:,}, each with one summary")


def check(selected: Selected, step: tuple[Message, Message]) -> None:
    """The input fits, holds the task and the newest step word for word, and at most one checkpoint."""
    messages = selected.model_input.messages
    assert selected.estimated_tokens <= WINDOW.input_limit_tokens
    assert TASK in messages
    assert messages[-2:] == step
    assert sum(message.origin is Origin.CHECKPOINT for message in messages) == (
        selected.history.checkpoint is not None
    )
