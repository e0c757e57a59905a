"""Choose the messages that go out this turn: whole steps, the newest first, within the input limit."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from copyfit.errors import WindowCannotFit
from copyfit.shapes.budgets import ContextBudgets
from copyfit.shapes.contributions import Diagnostic
from copyfit.shapes.messages import Origin
from copyfit.shapes.stages import Composed, Windowed, WindowStatistics
from copyfit.shapes.steps import Step
from copyfit.state.running import RunningFact

SOURCE = "context.window"
"""The contributor id of the diagnostics that the window adds."""
BUDGET_EXCEEDED = "CONTEXT_WINDOW_BUDGET_EXCEEDED"
HISTORY_WINDOWED = "CONTEXT_HISTORY_WINDOWED"


class AtomicHistoryWindowPolicy:
    """Leaves out the oldest whole steps until the input fits; the canonical history keeps them.

    Never left out: the active user request (the task anchor), the newest canonical step, every step with an open
    call, and the checkpoint. A policy belongs to one run, whose growing history it does not search twice.
    """

    def __init__(self) -> None:
        self._landmarks = RunningFact(_Landmarks(), _with_step)

    def select(
        self,
        composed: Composed,
        *,
        budgets: ContextBudgets,
        reserved_tokens: int,
        cost: Callable[[Step], int],
    ) -> Windowed:
        """Return the messages that fit `budgets` beside the `reserved_tokens` of system prompt and tools.

        A limit of rounds wins over one of messages; either keeps whole rounds, the newest always, and an older
        step that is never left out does not count against it. Then the limit of the whole input in tokens applies:
        the oldest steps go first, contributions last. What must stay may still exceed it; a diagnostic says so,
        and `require_fit` makes it an error.
        """
        steps = composed.history.steps
        contributed = tuple(Step((message,)) for message in composed.contributed)
        marks = self._landmarks.of(steps)
        must = _must_keep(steps, marks)
        first = _first_of_the_kept_rounds(steps, marks.requests, len(contributed), budgets)
        movable = chain(
            ((len(steps) + index, contributed[index]) for index in reversed(range(len(contributed)))),
            ((index, steps[index]) for index in range(len(steps) - 1, first - 1, -1) if index not in must),
        )
        limit = budgets.input_limit_tokens
        spent = reserved_tokens + sum(cost(steps[index]) for index in must)
        kept = set(must)
        for index, step in movable:
            price = cost(step)
            if spent + price > limit:
                break
            spent += price
            kept.add(index)
        return _windowed(composed, (*steps, *contributed), kept, spent=spent, limit=limit)


def require_fit(windowed: Windowed, budgets: ContextBudgets) -> None:
    """Return when the windowed input is within the input limit.

    Raises:
        WindowCannotFit: what must stay is already too much, so nothing is sent.

    """
    required = windowed.statistics.estimated_input_tokens
    if required > budgets.input_limit_tokens:
        raise WindowCannotFit(required, budgets.input_limit_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landmarks:
    """Indices of steps, oldest first: user requests, the first checkpoint, and steps with open calls."""

    requests: tuple[int, ...] = ()
    checkpoint: int | None = None
    open: tuple[int, ...] = ()

    @property
    def anchor(self) -> int | None:
        return self.requests[-1] if self.requests else None


def _with_step(marks: _Landmarks, index: int, step: Step) -> _Landmarks:
    if step.open_calls:
        marks = replace(marks, open=(*marks.open, index))
    head = step.messages[0]
    if head.role == "user" and head.origin is Origin.CANONICAL:
        return replace(marks, requests=(*marks.requests, index))
    if head.role == "user" and head.origin is Origin.CHECKPOINT and marks.checkpoint is None:
        return replace(marks, checkpoint=index)
    return marks


def _must_keep(steps: Sequence[Step], marks: _Landmarks) -> set[int]:
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


def _windowed(
    composed: Composed, steps: Sequence[Step], kept: Collection[int], *, spent: int, limit: int
) -> Windowed:
    if len(kept) < len(steps):
        messages = tuple(message for index in sorted(kept) for message in steps[index].messages)
    else:
        messages = (*composed.history.messages, *composed.contributed)
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
