"""A bench for small transcripts: the whole corridor, a quarter of a token a character, a scripted summarizer."""

from collections.abc import Sequence

import pytest

from copyfit import (
    AssistantMessage,
    ContextAssembler,
    ContextBudgets,
    ContextContributorRegistry,
    Scope,
    SummaryRequest,
    TokenLedger,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Transcript,
    UserMessage,
)
from copyfit.compaction.compactor import HistoryCompactor
from copyfit.compaction.sections import HEADINGS
from copyfit.contributors.standing import identity
from copyfit.ports.contributor import ContextContributor
from copyfit.shapes.messages import Message, OutputRef
from copyfit.shapes.stages import AssembledTurn, Recovery, TurnRequest

CHECKPOINT = "\n".join(f"## {heading}\nwhat summary {{number}} says" for heading in HEADINGS)


class QuarterEstimator:
    """A token for four characters of text and arguments, and four for the framing of a message."""

    method = "quarter"

    def count_message(self, message: Message) -> int:
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        return 4 + -(-(len(message.text) + sum(len(call.name + call.arguments) for call in calls)) // 4)

    def count_system(self, text: str) -> int:
        return -(-len(text) // 4)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return sum(-(-len(tool.model_dump_json()) // 4) for tool in tools)


class Bench:
    """Assembles turn after turn of one run and keeps what the summarizer was asked."""

    def __init__(self) -> None:
        self.requests: list[SummaryRequest] = []
        self.answers: list[str] = []
        self.system = "You keep notes."
        self.summarizer_window: int | None = None
        self.ledger = TokenLedger(QuarterEstimator())

    async def summarize(self, request: SummaryRequest) -> str:
        """Give the next scripted answer, or a good one that names its number."""
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else CHECKPOINT.format(number=len(self.requests))

    async def assemble(
        self,
        history: Sequence[Message],
        *,
        window: int = 100_000,
        reserve: int = 1,
        forced: bool = False,
        tools: tuple[ToolSpec, ...] = (),
        scope: Scope = Scope.MAIN,
        context_id: str = "run",
        contributors: Sequence[ContextContributor] = (),
        **budgets: int,
    ) -> AssembledTurn:
        assembler = ContextAssembler(
            registry=ContextContributorRegistry([identity(self.system), *contributors]),
            ledger=self.ledger,
            compactor=HistoryCompactor(
                ledger=self.ledger, summarizer=self, summarizer_window_tokens=self.summarizer_window
            ),
        )
        request = TurnRequest(
            context_id=context_id,
            scope=scope,
            turn=1,
            history=history if isinstance(history, Transcript) else Transcript(history),
            budgets=ContextBudgets(model_max_tokens=window, output_reserve_tokens=reserve, **budgets),
            tools=tools,
            recovery=Recovery() if forced else None,
        )
        return await assembler.assemble(request)

    @staticmethod
    def user(text: str) -> Message:
        return UserMessage(content=text)

    @staticmethod
    def said(text: str) -> Message:
        return AssistantMessage(content=text)

    @staticmethod
    def asks(*ids: str, arguments: str = "{}") -> Message:
        return AssistantMessage(content=tuple(ToolCall(id=each, name="tool", arguments=arguments) for each in ids))

    @staticmethod
    def result(call_id: str, body: str, *, stored: bool = False) -> ToolMessage:
        ref = OutputRef(ref=f"tool-output-{call_id.encode().hex()}", bytes=len(body), lines=1, tool_name="tool")
        return ToolMessage(call_id=call_id, name="tool", content=body, output_ref=ref if stored else None)

    def steps(self, count: int, chars: int, *, prefix: str = "c", stored: bool = True) -> list[Message]:
        """Return closed steps whose results have `chars` characters and begin with the id of their call."""
        return [
            message
            for number in range(count)
            for message in (
                self.asks(f"{prefix}{number}"),
                self.result(f"{prefix}{number}", f"[{prefix}{number}] ".ljust(chars, "."), stored=stored),
            )
        ]

    @staticmethod
    def paired(messages: Sequence[Message]) -> bool:
        """Return whether every result stands behind its call, and only the last step waits for one."""
        waiting: list[str] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                if message.call_id not in waiting:
                    return False
                waiting.remove(message.call_id)
                continue
            if waiting:
                return False
            waiting = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
        return True


@pytest.fixture
def bench() -> Bench:
    return Bench()
