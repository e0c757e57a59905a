"""Append one step a turn to a history that fits the window, and assemble and encode the whole input again.

Times are CPU time of this process in milliseconds, the median of the turns. Bookkeeping is everything that copyfit
does but counting tokens and writing the request. It is measured in a loop that writes no requests: writing one
moves megabytes through the processor's caches, which makes whatever comes after it slower. The loop that does
write them is timed as a whole.
"""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from statistics import median

import pytest

from copyfit.contributors.plan import PlanState
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.contributors.runtime import runtime_contributors
from copyfit.contributors.standing import governance, identity
from copyfit.modes import AssemblyMode, open_mode
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, Origin, UserMessage
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.stages import TurnRequest
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.state.channels import DurableState
from copyfit.state.plan import PlanStore, update_plan_spec
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger
from copyfit_adapters.openai_chat.encode import encode

pytestmark = [pytest.mark.benchmark, pytest.mark.anyio]

MakeSteps = Callable[[], Iterator[tuple[Message, Message]]]

SIZES = (100, 1_000, 5_000)
"""Steps that the history holds after the last of the measured turns."""
WARM_UP, TURNS = 5, 90
TASK = UserMessage(content="Which of the trials changed its primary endpoint? Cite each record.")
TOOLS = (ToolSpec(name="search_trials", description="Search the trial records."), update_plan_spec())
WINDOW = ContextBudgets(model_max_tokens=20_000_000)
MODEL = "bench"


class TimedEstimator(ConservativeTokenEstimator):
    """Counts as always, and keeps how many messages it counted and the CPU nanoseconds that this took."""

    def __init__(self) -> None:
        super().__init__()
        self.spent = 0
        self.counted = 0

    def count_message(self, message: Message) -> int:
        began = time.process_time_ns()
        tokens = super().count_message(message)
        self.spent += time.process_time_ns() - began
        self.counted += 1
        return tokens


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU milliseconds of one turn; the encoding is 0 where nothing is encoded."""

    bookkeeping: float
    counting: float
    encoding: float

    @property
    def whole(self) -> float:
        return self.bookkeeping + self.counting + self.encoding


def open_loop(estimator: ConservativeTokenEstimator) -> AssemblyMode:
    """Return the dynamic mode with the contributors of an ordinary run; there is no summarizer."""
    plan = PlanStore(agent_id="main")
    plan.update({"items": [{"step": "read", "status": "in_progress"}]}, tool_call_id="call_000001", turn=1)
    registry = ContextContributorRegistry(
        [
            identity("You read trial records. " * 40),
            governance("Cite every record that you use. " * 20, id="citation.governance"),
            PlanState(plan),
            *runtime_contributors(DurableState(contract="Find the trials.")),
        ]
    )
    return open_mode(Mode.DYNAMIC, registry=registry, ledger=TokenLedger(estimator))


def request(history: Transcript, turn: int) -> TurnRequest:
    return TurnRequest(
        context_id="bench", scope=Scope.MAIN, turn=turn, history=history, budgets=WINDOW, tools=TOOLS
    )


class Loop:
    """A run in the middle of its life: each turn appends one step to a history that ends with `size` of them."""

    def __init__(self, size: int, make_steps: MakeSteps, *, encodes: bool) -> None:
        self.size, self._make_steps, self._encodes = size, make_steps, encodes
        self._steps = make_steps()
        self._estimator, self._fragments = TimedEstimator(), IdentityMemo[bytes]()
        self._mode = open_loop(self._estimator)
        self._history = Transcript([TASK, *chain.from_iterable(islice(self._steps, size - WARM_UP - TURNS))])
        self._costs: list[Cost] = []
        self.body = b""

    async def turn(self) -> None:
        self._estimator.spent = 0
        step = next(self._steps)
        began = time.process_time_ns()
        history = self._history.append(*step)
        self._selected = await self._mode.select(request(history, len(self._costs) + 1))
        assembled = time.process_time_ns()
        if self._encodes:
            self.body = encode(self._selected.model_input, MODEL, known=self._fragments).body
        encoded = time.process_time_ns()
        self._history = self._selected.history
        counting = self._estimator.spent
        self._costs.append(Cost((assembled - began - counting) / 1e6, counting / 1e6, (encoded - assembled) / 1e6))

    def costs(self) -> list[Cost]:
        """Return what the turns cost, the first ones left out; the last one is checked against a fresh count."""
        assert len(self._costs) == WARM_UP + TURNS
        counted = self._estimator.counted - len(self._costs)  # the plan is a new message on each turn
        assert counted == len(self._history), "each message is counted once"
        messages = [TASK, *chain.from_iterable(islice(self._make_steps(), self.size))]
        *history, plan = self._selected.model_input.messages
        assert history == messages
        assert plan.origin is Origin.CONTRIBUTED
        fresh = TokenLedger(ConservativeTokenEstimator())
        reserved = fresh.system(self._selected.model_input.system) + fresh.tools(TOOLS)
        assert self._selected.estimated_tokens == reserved + fresh.messages([*messages, plan])
        if self._encodes:
            assert self.body == encode(self._selected.model_input, MODEL).body
            assert len(json.loads(self.body)["messages"]) == 1 + len(messages) + 1
        return self._costs[WARM_UP:]


async def test_a_turn_costs_what_it_adds(machine: str, make_steps: MakeSteps) -> None:
    bare = [Loop(size, make_steps, encodes=False) for size in SIZES]
    # Turn about, so that a busy machine slows all sizes alike.
    for _ in range(WARM_UP + TURNS):
        for loop in bare:
            await loop.turn()
    print(f"\n\nAppend a step of about 490 tokens, assemble again; CPU ms a turn, median of {TURNS}.\n{machine}")
    print("        without writing requests:      with writing them:")
    print(" steps  bookkeeping  worst  counting   bookkeeping  encoding  whole turn  body MB")
    bookkeeping = {}
    for loop in bare:
        costs = loop.costs()
        full = Loop(loop.size, make_steps, encodes=True)
        for _ in range(WARM_UP + TURNS):
            await full.turn()
        written = full.costs()
        bookkeeping[loop.size] = median(cost.bookkeeping for cost in costs)
        worst = max(cost.bookkeeping for cost in costs)
        counting = median(cost.counting for cost in costs)
        cold = median(cost.bookkeeping for cost in written)
        encoding = median(cost.encoding for cost in written)
        whole = median(cost.whole for cost in written)
        print(
            f"{loop.size:>6,} {bookkeeping[loop.size]:>12.2f} {worst:>6.2f} {counting:>9.2f} "
            f"{cold:>13.2f} {encoding:>9.2f} {whole:>11.2f} {len(full.body) / 1e6:>8.1f}"
        )
    print(f"bookkeeping, 5,000 steps to 1,000: {bookkeeping[5_000] / bookkeeping[1_000]:.2f}")


async def test_what_is_remembered_about_the_messages(machine: str, make_steps: MakeSteps) -> None:
    print(f"\n\nMemory after one turn, KB a step.\n{machine}")
    print(" steps  messages  remembered about them  their JSON, kept by the client")
    await memory(SIZES[0], make_steps)  # what pydantic builds at first use is no memory of messages
    for size in SIZES:
        messages, remembered, written = (taken / size / 1e3 for taken in await memory(size, make_steps))
        print(f"{size:>6,} {messages:>9.2f} {remembered:>22.2f} {written:>31.2f}")


async def memory(size: int, make_steps: MakeSteps) -> tuple[int, int, int]:
    """Return the bytes of the messages, of all that assembling them leaves behind, and of what encoding keeps."""
    gc.collect()
    tracemalloc.start()
    try:
        messages = [TASK, *chain.from_iterable(islice(make_steps(), size))]
        made, _ = tracemalloc.get_traced_memory()
        mode, fragments = open_loop(ConservativeTokenEstimator()), IdentityMemo[bytes]()
        selected = await mode.select(request(Transcript(messages), 1))
        gc.collect()
        assembled, _ = tracemalloc.get_traced_memory()
        encode(selected.model_input, MODEL, known=fragments)
        encoded, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(fragments) == len(selected.model_input.messages) == len(messages) + 1
    return made, assembled - made, encoded - assembled
