"""Group messages into steps: the units that compaction and the window keep or drop whole."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolMessage


@dataclass(frozen=True, slots=True)
class Step:
    """One message, or an assistant message with the tool results that directly follow it.

    `open_calls` holds the ids of declared calls that have no result yet, in declared order; a step with none is
    closed.
    """

    messages: tuple[Message, ...]
    open_calls: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether a declared call still waits for its result."""
        return bool(self.open_calls)

    @property
    def is_checkpoint(self) -> bool:
        """Whether the step is a checkpoint."""
        return self.messages[0].origin is Origin.CHECKPOINT


def split_steps(messages: Iterable[Message]) -> tuple[Step, ...]:
    """Return the steps of `messages` in order.

    A declaring message takes in the results that directly follow it, as long as each answers a call that is
    still pending; a result that answers nothing is a closed step of its own.
    """
    return tuple(_walk(messages))


def _walk(messages: Iterable[Message]) -> Iterator[Step]:
    unit: list[Message] = []
    pending: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage) and message.call_id in pending:
            unit.append(message)
            pending.remove(message.call_id)
            continue
        if unit:
            yield Step(tuple(unit), tuple(pending))
        unit = [message]
        pending = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    if unit:
        yield Step(tuple(unit), tuple(pending))
