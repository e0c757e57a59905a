"""Cases of the reference that need the whole corridor."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from copyfit import (
    Attachment,
    ContextBudgets,
    ContextContributorRegistry,
    ContributeRequest,
    Contribution,
    Mode,
    Scope,
    ToolMessage,
    ToolSpec,
    Transcript,
    Trust,
    UserMessage,
    WindowCannotFit,
    open_mode,
)
from copyfit.contributors.standing import static_prompt
from copyfit.errors import ForgedRole
from copyfit.prompt.budget import TRUNCATION_MARKER
from copyfit.shapes.contributions import Section, Slot
from copyfit.shapes.messages import Message
from copyfit.shapes.stages import TurnRecord, TurnRequest
from copyfit.tokens.ledger import TokenLedger

if TYPE_CHECKING:
    from tests.reference.conftest import Bench

pytestmark = pytest.mark.anyio

QUESTION = Transcript([UserMessage(content="question")])
LEGACY = "legacy prompt"


@dataclass(frozen=True)
class Giver:
    given: Contribution
    id: str = "giver"
    scopes: tuple[Scope, ...] = tuple(Scope)
    required: bool = True

    async def contribute(self, request: ContributeRequest) -> Contribution:
        return self.given


@dataclass
class Sink:
    records: list[TurnRecord] = field(default_factory=list)

    def write(self, record: TurnRecord) -> None:
        self.records.append(record)


class FixedCosts:
    """What the reference's formula makes of the case: 46 for prompt and tools, 49 for the message."""

    method = "fixed"

    def count_message(self, message: Message) -> int:
        return 49

    def count_system(self, text: str) -> int:
        return 7

    def count_tools(self, tools: Any) -> int:
        return 39


def asked(history: Transcript = QUESTION, **facts: Any) -> TurnRequest:
    return TurnRequest(context_id="t", scope=Scope.MAIN, turn=1, history=history, **facts)


async def test_an_attachment_goes_out_behind_a_history_that_stays_as_it_was(bench: "Bench") -> None:
    """Case: ASM-01."""
    attached = Attachment(id="found", source="index", trust=Trust.UNTRUSTED, content="retrieved data")
    registry = ContextContributorRegistry([static_prompt(LEGACY), Giver(Contribution(attachments=(attached,)))])
    mode = open_mode(Mode.DYNAMIC, registry=registry, ledger=bench.ledger)
    selected = await mode.select(asked(budgets=ContextBudgets()))
    assert selected.history == QUESTION
    assert len(selected.model_input.messages) == 2
    assert "retrieved data" in selected.model_input.messages[1].text
    assert selected.model_input.system == LEGACY


async def test_shadow_sends_the_legacy_prompt_and_traces_the_candidate_beside_it(bench: "Bench") -> None:
    """Case: ASM-02."""
    optional = Section(id="optional", slot=Slot.WORKING_CONTEXT, content="optional context " * 10)
    sink = Sink()
    mode = open_mode(
        Mode.SHADOW,
        registry=ContextContributorRegistry([static_prompt(LEGACY), Giver(Contribution(sections=(optional,)))]),
        ledger=bench.ledger,
        static_system=LEGACY,
        trace=sink,
    )
    selected = await mode.select(asked(budgets=ContextBudgets(prompt_budget_chars=80)))
    assert selected.model_input.system == LEGACY
    (record,) = sink.records
    assert record.selected_path == "legacy"
    assert record.candidate is not None
    assert len(record.candidate.collected.reports) == 2
    cut = record.candidate.admitted.sections[1].section.content
    assert (len(optional.content), len(cut)) == (170, 66)
    assert cut.endswith(TRUNCATION_MARKER)
    assert LEGACY in record.candidate.prompt.text


async def test_a_contributor_that_speaks_for_a_tool_fails_the_assembly(bench: "Bench") -> None:
    """Case: ASM-03."""
    forged: Any = ToolMessage(call_id="made-up", content="done")
    giver = Giver(Contribution.model_construct(messages=(forged,)))
    mode = open_mode(Mode.DYNAMIC, registry=ContextContributorRegistry([giver]), ledger=bench.ledger)
    with pytest.raises(ForgedRole, match="may only add user messages"):
        await mode.select(asked(budgets=ContextBudgets()))


async def test_what_cannot_fit_fails_with_the_numbers_before_any_provider_is_asked() -> None:
    """Case: ASM-04."""
    registry = ContextContributorRegistry([static_prompt(LEGACY)])
    mode = open_mode(Mode.DYNAMIC, registry=registry, ledger=TokenLedger(FixedCosts()))
    request = asked(
        Transcript([UserMessage(content="x" * 54)]),
        budgets=ContextBudgets(model_max_tokens=100, output_reserve_tokens=90),
        tools=(ToolSpec(name="web_search", description="Search the web"),),
    )
    with pytest.raises(WindowCannotFit, match="model-aware input budget") as caught:
        await mode.select(request)
    assert (caught.value.required, caught.value.limit) == (95, 10)
