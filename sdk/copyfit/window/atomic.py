"""Choose the messages that go out this turn: whole steps, the newest first, within the input limit."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from copyfit.errors import WindowCannotFit
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Diagnostic
from copyfit.shapes.growing import Growing
from copyfit.shapes.landmarks import Landmarks
from copyfit.shapes.messages import Message
from copyfit.shapes.stages import Composed, Windowed, WindowStatistics
from copyfit.shapes.steps import Step
from copyfit.tokens.ledger import TokenLedger

SOURCE = "context.window"
"""The contributor id of the diagnostics that the window adds."""
BUDGET_EXCEEDED = "CONTEXT_WINDOW_BUDGET_EXCEEDED"
HISTORY_WINDOWED = "CONTEXT_HISTORY_WINDOWED"


class AtomicHistoryWindowPolicy:
    """Leaves out the oldest whole steps until the input fits; the canonical history keeps them.

    Never left out: the active user request (the task anchor), the newest canonical step, every step with an open
    call, and the checkpoint.
    """

    def select(
        self,
        composed: Composed,
        *,
        budgets: ContextBudgets,
        reserved_tokens: int,
        ledger: TokenLedger,
    ) -> Windowed:
        """Return the messages that fit `budgets` beside the `reserved_tokens` of system prompt and tools.

        A limit of rounds wins over one of messages; either keeps whole rounds, the newest always, and an older
        step that is never left out does not count against it. Then the limit of the whole input in tokens applies:
        the oldest steps go first, contributions last. What must stay may still exceed it; a diagnostic says so,
        and `require_fit` makes it an error.
        """
        history, limit = composed.history, budgets.input_limit_tokens
        marks = history.landmarks
        first = _first_of_the_kept_rounds(history.steps, marks.requests, len(composed.contributed), budgets)
        whole = reserved_tokens + ledger.transcript(history) + ledger.messages(composed.contributed)
        if first == 0 and whole <= limit:
            return _windowed(composed, history.messages.followed_by(composed.contributed), whole, limit)
        steps = history.steps.followed_by(Step((message,)) for message in composed.contributed)
        kept = _must_keep(history.steps, marks)
        spent = reserved_tokens + sum(ledger.step(steps[place]) for place in kept)
        for place in range(len(steps) - 1, first - 1, -1):
            if place in kept:
                continue
            price = ledger.step(steps[place])
            if spent + price > limit:
                break
            spent += price
            kept.add(place)
        messages = Growing(message for place in sorted(kept) for message in steps[place].messages)
        return _windowed(composed, messages, spent, limit)


def require_fit(windowed: Windowed, budgets: ContextBudgets) -> None:
    """Return when the windowed input is within the input limit.

    Raises:
        WindowCannotFit: what must stay is already too much, so nothing is sent.

    """
    required = windowed.statistics.estimated_input_tokens
    if required > budgets.input_limit_tokens:
        raise WindowCannotFit(required, budgets.input_limit_tokens)


def _must_keep(steps: Sequence[Step], marks: Landmarks) -> set[int]:
    """Return the indices of the anchor, the newest step, the open steps and the first checkpoint."""
    newest = len(steps) - 1 if steps else None
    return {index for index in (*marks.open, marks.anchor, marks.checkpoint, newest) if index is not None}


def _first_of_the_kept_rounds(
    steps: Sequence[Step], requests: Sequence[int], contributed: int, budgets: ContextBudgets
) -> int:
    """Return the index of the oldest step that the limits of rounds and messages leave in.

    A round begins with a user request; what stands before the first request is a round too, and the `contributed`
    messages belong to the newest one.
    """
    begins = [*requests] if requests and requests[0] == 0 else [0, *requests]
    if budgets.window_rounds is not None:
        return begins[-budgets.window_rounds] if budgets.window_rounds < len(begins) else 0
    if budgets.window_messages is None:
        return 0
    first = begins[-1]
    total = contributed + _messages_in(steps[first:])
    for begin, end in reversed(list(pairwise(begins))):
        total += _messages_in(steps[begin:end])
        if total > budgets.window_messages:
            break
        first = begin
    return first


def _messages_in(steps: Sequence[Step]) -> int:
    return sum(len(step.messages) for step in steps)


def _windowed(composed: Composed, messages: Growing[Message], spent: int, limit: int) -> Windowed:
    statistics = WindowStatistics(
        estimated_input_tokens=spent,
        input_messages=len(composed.history) + len(composed.contributed),
        output_messages=len(messages),
    )
    return Windowed(messages=messages, statistics=statistics, diagnostics=tuple(_diagnostics(statistics, limit)))


def _diagnostics(statistics: WindowStatistics, limit: int) -> Iterator[Diagnostic]:
    if statistics.estimated_input_tokens > limit:
        yield Diagnostic(
            code=BUDGET_EXCEEDED,
            message=f"What must stay needs {statistics.estimated_input_tokens} tokens, over the limit of {limit}.",
            contributor_id=SOURCE,
            details={"requiredTokens": statistics.estimated_input_tokens, "limitTokens": limit},
        )
    if statistics.removed_messages:
        yield Diagnostic(
            code=HISTORY_WINDOWED,
            severity="info",
            message=f"The window left out {statistics.removed_messages} of {statistics.input_messages} messages.",
            contributor_id=SOURCE,
            details={"removedMessages": statistics.removed_messages, "keptMessages": statistics.output_messages},
        )
