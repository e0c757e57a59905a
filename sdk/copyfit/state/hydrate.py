"""Rebuild durable state from a canonical history, before its first compaction."""

from collections.abc import Iterable

from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage
from copyfit.state.channels import DurableState, ToolObservation
from copyfit.state.values import reads_as_failure


def hydrate(state: DurableState, history: Iterable[Message]) -> None:
    """Let `state` observe every answered call of `history`, in order.

    A result whose call was never declared is ignored, and so is a second result of one call. A result counts as
    failed when it is marked as an error or reads as one, for older histories carry no mark.
    """
    waiting: dict[str, ToolCall] = {}
    for message in history:
        if isinstance(message, AssistantMessage):
            waiting.update((call.id, call) for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            call = waiting.pop(message.call_id, None)
            if call is not None:
                state.observe(_observation(call, message, state.next_sequence()))


def _observation(call: ToolCall, result: ToolMessage, sequence: int) -> ToolObservation:
    content = result.text
    return ToolObservation(
        tool_name=call.name,
        call_id=call.id,
        arguments=call.arguments,
        content=content,
        failed=result.is_error or reads_as_failure(content),
        sequence=sequence,
    )
