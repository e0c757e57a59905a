"""Fit an agent's history into the model's window, turn by turn.

The front door: the public names, and nothing else. Start reading at `copyfit.shapes.stages`, then
`copyfit.assembler`.
"""

from copyfit.assembler import ContextAssembler
from copyfit.contributors.registry import ContextContributorRegistry
from copyfit.errors import (
    AssemblyError,
    AuthFailed,
    BadRequest,
    ContextOverflow,
    CopyfitError,
    MalformedReply,
    ProviderError,
    RateLimited,
    SettingsError,
    Unavailable,
    WindowCannotFit,
)
from copyfit.modes import AssemblyMode, Selected, open_mode
from copyfit.outputs.guard import OutputGuard
from copyfit.outputs.memory import MemoryToolOutputStore
from copyfit.outputs.read_tool import ToolOutputReader
from copyfit.outputs.sqlite import SqliteToolOutputStore
from copyfit.ports.contributor import ContextContributor, ContextContributorFactory, ContributeRequest
from copyfit.ports.estimator import TokenEstimator
from copyfit.ports.provider import ProviderModelClient
from copyfit.ports.summarizer import HistorySummarizer, SummaryRequest
from copyfit.runtime.agent import AgentRun, RunResult, StopReason
from copyfit.runtime.composition import RunParts, compose_run
from copyfit.runtime.deferred import PreferWhen
from copyfit.runtime.phases import Phase
from copyfit.runtime.skills import SkillLibrary, SkillTexts
from copyfit.runtime.summarizer import ModelSummarizer
from copyfit.runtime.tools import RunningCall, Tool, ToolAnswer, ToolFailure, ToolRegistry
from copyfit.runtime.turn import Turn, TurnResult
from copyfit.settings import Settings
from copyfit.shapes.budgets import ContextBudgets, ModelLimits, OutputBounds
from copyfit.shapes.contributions import Attachment, Contribution, Diagnostic, Section, Slot, Trust
from copyfit.shapes.messages import AssistantMessage, TextPart, ToolCall, ToolMessage, UserMessage
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit.shapes.model_output import FinishReason, ModelOutput, StreamEvent, Usage
from copyfit.shapes.scope import Mode, Scope
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript
from copyfit.state.plan import PlanStore
from copyfit.state.skills import SkillReference
from copyfit.tokens.conservative import ConservativeTokenEstimator
from copyfit.tokens.ledger import TokenLedger
from copyfit.trace.writer import TraceWriter

__version__ = "0.1.0"

__all__ = [
    "AgentRun",
    "AssemblyError",
    "AssemblyMode",
    "AssistantMessage",
    "Attachment",
    "AuthFailed",
    "BadRequest",
    "ConservativeTokenEstimator",
    "ContextAssembler",
    "ContextBudgets",
    "ContextContributor",
    "ContextContributorFactory",
    "ContextContributorRegistry",
    "ContextOverflow",
    "ContributeRequest",
    "Contribution",
    "CopyfitError",
    "Diagnostic",
    "FinishReason",
    "HistorySummarizer",
    "MalformedReply",
    "MemoryToolOutputStore",
    "Mode",
    "ModelInput",
    "ModelLimits",
    "ModelOutput",
    "ModelSettings",
    "ModelSummarizer",
    "OutputBounds",
    "OutputGuard",
    "Phase",
    "PlanStore",
    "PreferWhen",
    "ProviderError",
    "ProviderModelClient",
    "RateLimited",
    "RunParts",
    "RunResult",
    "RunningCall",
    "Scope",
    "Section",
    "Selected",
    "Settings",
    "SettingsError",
    "SkillLibrary",
    "SkillReference",
    "SkillTexts",
    "Slot",
    "SqliteToolOutputStore",
    "StopReason",
    "StreamEvent",
    "SummaryRequest",
    "TextPart",
    "TokenEstimator",
    "TokenLedger",
    "Tool",
    "ToolAnswer",
    "ToolCall",
    "ToolFailure",
    "ToolMessage",
    "ToolOutputReader",
    "ToolRegistry",
    "ToolSpec",
    "TraceWriter",
    "Transcript",
    "Trust",
    "Turn",
    "TurnResult",
    "Unavailable",
    "Usage",
    "UserMessage",
    "WindowCannotFit",
    "__version__",
    "compose_run",
    "open_mode",
]
