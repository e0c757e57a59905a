"""compose_run: a whole run out of its parts, with every contributor and tool that copyfit brings."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import uuid4

from copyfit.contributors.abilities import ToolCapabilities, capability, skills_catalogue
from copyfit.contributors.plan import PlanState
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.contributors.runtime import runtime_contributors
from copyfit.contributors.standing import StandingContributor, governance, identity, run_contract
from copyfit.errors import InvalidId
from copyfit.modes import open_mode
from copyfit.outputs.guard import OutputGuard
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_request import PAGE_BYTES
from copyfit.outputs.read_tool import DescribingStore, ToolOutputReader
from copyfit.ports.contributor import ContextContributor, ContextContributorFactory, FactoryRequest
from copyfit.ports.estimator import TokenEstimator
from copyfit.ports.outputs import ToolOutputStore
from copyfit.ports.provider import ProviderModelClient
from copyfit.ports.summarizer import HistorySummarizer
from copyfit.ports.trace import TraceSink
from copyfit.runtime.agent import DEFAULT_MAX_TURNS, AgentRun
from copyfit.runtime.builtin_tools import read_output_tool, read_skill_tool, update_plan_tool
from copyfit.runtime.phases import Phase
from copyfit.runtime.skills import SkillLibrary
from copyfit.runtime.summarizer import ModelSummarizer
from copyfit.runtime.tools import Tool, ToolRegistry
from copyfit.runtime.turn import Turn, TurnResult
from copyfit.settings import Settings
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Slot
from copyfit.shapes.messages import ToolCall, ToolMessage
from copyfit.shapes.model_input import ModelSettings
from copyfit.shapes.model_output import StreamEvent
from copyfit.shapes.scope import Mode, Scope
from copyfit.state.channels import DurableState
from copyfit.state.plan import PlanStore
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger
from copyfit.trace.writer import TraceWriter

WORKSPACE: Final = "workspace.identity"
"""The contributor of a prompt that is one text."""
LEAST_PAGE_BYTES: Final = 256
"""Stored text of a page of `read_tool_output`, however small the window; less would not be worth a call."""


class OutputStore(ToolOutputStore, DescribingStore, Protocol):
    """Keeps whole tool outputs and gives them back, as `MemoryToolOutputStore` and `SqliteToolOutputStore` do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """What a run is made of; only the client must be given.

    Args:
        client: the model.
        mode: how inputs are chosen; None for what the settings say.
        scope: the kind of agent; contributors serve some scopes and not others.
        settings: the environment's settings; None for the defaults of the reference, without traces.
        budgets: what to assemble for; None for what the settings say about the client's limits.
        model_settings: how the model shall answer; None asks for answers no longer than the reserve.
        prompt: the text of ``workspace.identity``, or texts by contributor id, each ending in ``.identity``,
            ``.governance`` or ``.capabilities``; a text's place in the mapping is its order.
        contract: what the run is to deliver, protected in the prompt and read for the goal.
        tools: the tools besides the built-in ones.
        skills: the skills that may be read, by a tool and a catalogue that come with them.
        plan: whether the model keeps a plan, or the store that it is kept in.
        factories: make more contributors for this run.
        summarizer: writes the checkpoints; None lets the client do so.
        estimator: counts tokens; None for the conservative one.
        store: keeps whole tool outputs; None keeps them in memory.
        trace: where the record of each assembly goes; None for what the settings say.
        is_available: whether the tool of a name may be used now.
        on_raw: awaited with each whole result; what it raises ends the run.
        on_result: told of each result as the model will see it.
        on_turn: told of each finished turn.
        on_event: told of the streamed answer; None asks for whole answers.
        on_phase: told what the run is busy with.
        max_turns: the turns after which the run ends.
        session_id: names the session that the run belongs to.
        context_id: names the run; None for the session's id, a colon and a random UUID.

    """

    client: ProviderModelClient
    mode: Mode | None = None
    scope: Scope = Scope.MAIN
    settings: Settings | None = None
    budgets: ContextBudgets | None = None
    model_settings: ModelSettings | None = None
    prompt: str | Mapping[str, str] = ""
    contract: str = ""
    tools: Sequence[Tool] = ()
    skills: SkillLibrary | None = None
    plan: bool | PlanStore = False
    factories: Sequence[ContextContributorFactory] = ()
    summarizer: HistorySummarizer | None = None
    estimator: TokenEstimator | None = None
    store: OutputStore | None = None
    trace: TraceSink | None = None
    is_available: Callable[[str], bool] | None = None
    on_raw: Callable[[ToolCall, str], Awaitable[None] | None] | None = None
    on_result: Callable[[ToolCall, ToolMessage], None] | None = None
    on_turn: Callable[[int, TurnResult], None] | None = None
    on_event: Callable[[StreamEvent], None] | None = None
    on_phase: Callable[[Phase], None] | None = None
    max_turns: int = DEFAULT_MAX_TURNS
    session_id: str = "session"
    context_id: str | None = None


def compose_run(parts: RunParts) -> AgentRun:
    """Return the run that `parts` make, ready to be run once from a canonical history.

    Everything that a run keeps is made here: its durable state, which takes in the history when the run begins;
    its tools; its contributors, whose registry is frozen; and the static prompt of the legacy path.

    Raises:
        SettingsError: the budgets leave no room for input.
        ToolError: two tools share a name, or the parameters of one are no JSON Schema.
        InvalidId: an id is malformed, or that of a prompt's text does not end in one of the three kinds.
        DuplicateId: two contributors or factories share an id.

    """
    settings = parts.settings or Settings.from_environment({})
    budgets = parts.budgets or settings.budgets(parts.client.limits)
    context_id = parts.context_id or f"{parts.session_id}:{uuid4()}"
    trace = TraceWriter.from_settings(settings) if parts.trace is None else parts.trace
    plan = PlanStore(agent_id=context_id) if parts.plan is True else parts.plan or None
    tools = _tools(parts, settings, budgets, plan)
    standing = _standing(parts)
    registry = ContextContributorRegistry((*standing, *_running(tools, plan)))
    for factory in parts.factories:
        registry.register_factory(factory, FactoryRequest(context_id=context_id, scope=parts.scope))
    mode = open_mode(
        parts.mode or settings.mode,
        registry=registry,
        ledger=TokenLedger(parts.estimator or ConservativeTokenEstimator()),
        summarizer=parts.summarizer or ModelSummarizer(parts.client),
        summarizer_window_tokens=None if parts.summarizer else budgets.input_limit_tokens,
        static_system=_static_system(standing, tools),
        trace=trace,
    )
    turn = Turn(
        mode=mode,
        client=parts.client,
        budgets=budgets,
        context_id=context_id,
        scope=parts.scope,
        settings=parts.model_settings or ModelSettings(max_output_tokens=budgets.output_reserve_tokens),
        trace=trace,
    )
    return AgentRun(
        turn=turn,
        tools=tools,
        max_turns=parts.max_turns,
        on_turn=parts.on_turn,
        on_event=parts.on_event,
        on_phase=parts.on_phase,
    )


def _tools(parts: RunParts, settings: Settings, budgets: ContextBudgets, plan: PlanStore | None) -> ToolRegistry:
    store = MemoryToolOutputStore(session=parts.session_id) if parts.store is None else parts.store
    bounds = settings.tool_outputs
    # A page cannot be cut later, for it is not stored again; at a token a byte it takes half of the input.
    page_bytes = min(PAGE_BYTES, max(LEAST_PAGE_BYTES, budgets.input_limit_tokens // 2))
    reader = ToolOutputReader(store, bounds=bounds, page_bytes=page_bytes)
    tools = [*parts.tools, read_output_tool(reader)]
    if parts.skills is not None and parts.skills.selected:
        tools.append(read_skill_tool(parts.skills))
    if plan is not None:
        tools.append(update_plan_tool(plan))
    selected = () if parts.skills is None else parts.skills.selected
    return ToolRegistry(
        tools,
        guard=OutputGuard(bounds=bounds, store=store),
        state=DurableState(contract=parts.contract, skills=selected),
        is_available=parts.is_available,
        on_raw=parts.on_raw,
        on_result=parts.on_result,
        parallel=settings.max_parallel_tool_calls,
    )


def _standing(parts: RunParts) -> list[StandingContributor]:
    """Return what is the same on every turn: the texts of the prompt, the skills to choose from, the contract."""
    texts = {WORKSPACE: parts.prompt} if isinstance(parts.prompt, str) else parts.prompt
    present = [(id, text) for id, text in texts.items() if text.strip()]
    standing = [_prompt_text(id, text, order) for order, (id, text) in enumerate(present)]
    catalogue = skills_catalogue(() if parts.skills is None else parts.skills.selected)
    return [*standing, *(each for each in (catalogue, run_contract(parts.contract)) if each is not None)]


def _prompt_text(id: str, text: str, order: int) -> StandingContributor:
    match id.rpartition(".")[2]:
        case "identity":
            return identity(text, id=id, order=order)
        case "governance":
            return governance(text, id=id, order=order)
        case "capabilities":
            return capability(text, id=id, order=order)
    reason = f"id says no place for its text: {id!r}; end it in .identity, .governance or .capabilities"
    raise InvalidId("contributor", id, reason)


def _running(tools: ToolRegistry, plan: PlanStore | None) -> list[ContextContributor]:
    """Return what follows the run: its tools, its durable state, its plan."""
    state = [] if tools.state is None else runtime_contributors(tools.state)
    return [ToolCapabilities(tools.prompt_sections), *state, *([] if plan is None else [PlanState(plan)])]


def _static_system(standing: Sequence[StandingContributor], tools: ToolRegistry) -> str:
    """Return the prompt of the legacy path (behaviour.md section 2), without places for absent parts."""
    contents = [(section.slot, section.content) for each in standing for section in each.sections]
    workspace = "\n".join(content for slot, content in contents if slot is not Slot.RUN_CONTRACT)
    contract = [content for slot, content in contents if slot is Slot.RUN_CONTRACT]
    return "\n\n".join(text for text in (workspace, *contract, *tools.prompt_sections()) if text)
