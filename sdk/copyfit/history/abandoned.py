"""Close the calls that the run went on without, and bring late results home to their calls."""

from collections.abc import Iterable

from copyfit.shapes.messages import AssistantMessage, Message, ToolCall, ToolMessage
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript

NO_RESULT = "[no result] The run went on before this call returned; nothing is known about what it did."
"""The body of the result that stands in for the one that never came; a trace can tell it by this text."""

UNNAMED_TOOL = "unknown_tool"
"""The tool of a call that is declared again for a result that does not name its tool."""


def close_abandoned_calls(history: Transcript) -> tuple[Transcript, tuple[str, ...]]:
    """Return `history` with every result at its call and every call answered but those of its last step.

    A call without a result that is not in the last step gets a failed result that says so. A result that stands
    apart from its call belongs to the latest earlier declaration of that id: it is put there, in the place of the
    stand-in if there is one, and dropped if the call has a real result already. A result that no message declares,
    because its call was summarised or lost, has its call declared again in front of it, without arguments. The ids
    are those of the calls just declared again or closed. A history with none of this is returned as it is.
    """
    if _is_settled(history):
        return history, ()
    drafts, ids = _bring_home(history.steps)
    for draft in drafts[:-1]:
        stand_ins = _stand_ins(draft)
        draft += stand_ins
        ids += (marker.call_id for marker in stand_ins)
    return Transcript(message for draft in drafts for message in draft), tuple(ids)


def is_no_result(message: Message) -> bool:
    """Return whether `message` stands in for a result that never came."""
    return isinstance(message, ToolMessage) and message.is_error and message.content == NO_RESULT


def _is_settled(history: Transcript) -> bool:
    marks = history.landmarks
    return not marks.strays and all(place == len(history.steps) - 1 for place in marks.open)


def _bring_home(steps: Iterable[Step]) -> tuple[list[list[Message]], list[str]]:
    """Return the messages of each step, with every stray result at its call, and the calls declared again."""
    drafts: list[list[Message]] = []
    homes: dict[str, list[Message]] = {}
    again: list[str] = []
    for step in steps:
        first, *_ = messages = list(step.messages)
        if isinstance(first, ToolMessage):
            if first.call_id in homes:
                _answer(homes[first.call_id], first)
                continue
            again.append(first.call_id)
            call = ToolCall(id=first.call_id, name=first.name or UNNAMED_TOOL)
            first = AssistantMessage(content=(call,))
            messages.insert(0, first)
        drafts.append(messages)
        if isinstance(first, AssistantMessage):
            homes.update((call.id, messages) for call in first.tool_calls)
    return drafts, again


def _answer(draft: list[Message], result: ToolMessage) -> None:
    """Give the call of `result` that result, unless it has a real one."""
    for place, message in enumerate(draft):
        if isinstance(message, ToolMessage) and message.call_id == result.call_id:
            if is_no_result(message):
                draft[place] = result
            return
    draft.append(result)


def _stand_ins(draft: list[Message]) -> list[ToolMessage]:
    """Return a stand-in for each result that the step lacks, in declared order."""
    first = draft[0]
    if not isinstance(first, AssistantMessage):
        return []
    answered = {message.call_id for message in draft if isinstance(message, ToolMessage)}
    return [
        ToolMessage(call_id=call.id, name=call.name, content=NO_RESULT, is_error=True)
        for call in first.tool_calls
        if call.id not in answered
    ]
