"""Close the calls that the run went on without, and bring late results home to their calls."""

from collections.abc import Iterable, Sequence
from operator import attrgetter, itemgetter

from copyfit.shapes.messages import AssistantMessage, Message, ToolMessage
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript

NO_RESULT = "[no result] The run went on before this call returned; nothing is known about what it did."
"""The body of the result that stands in for the one that never came; a trace can tell it by this text."""


def close_abandoned_calls(history: Transcript) -> tuple[Transcript, tuple[str, ...]]:
    """Return `history` with every call answered but those of its last step, and the ids of the calls just closed.

    A call without a result that is not in the last step gets a failed result that says so. A result that stands
    apart from its call belongs to the latest earlier declaration of that id: it is put there, in the place of the
    stand-in if there is one, and dropped if the call has a real result already. A result that no message declares
    is left for the validator to refuse. A history with none of this is returned as it is.
    """
    if _is_settled(history.steps):
        return history, ()
    drafts = _bring_home(history.steps)
    closed: list[str] = []
    for draft in drafts[:-1]:
        stand_ins = _stand_ins(draft)
        draft += stand_ins
        closed += (marker.call_id for marker in stand_ins)
    return Transcript(message for draft in drafts for message in draft), tuple(closed)


def is_no_result(message: Message) -> bool:
    """Return whether `message` stands in for a result that never came."""
    return isinstance(message, ToolMessage) and message.is_error and message.content == NO_RESULT


def _is_settled(steps: Sequence[Step]) -> bool:
    # This looks at the whole history on every turn, so the loops are those of the interpreter.
    firsts = map(itemgetter(0), map(attrgetter("messages"), steps))
    return not any(map(attrgetter("open_calls"), steps[:-1])) and ToolMessage not in map(type, firsts)


def _bring_home(steps: Iterable[Step]) -> list[list[Message]]:
    """Return the messages of each step, with every stray result where its call is."""
    drafts: list[list[Message]] = []
    homes: dict[str, list[Message]] = {}
    for step in steps:
        first = step.messages[0]
        if isinstance(first, ToolMessage) and first.call_id in homes:
            _answer(homes[first.call_id], first)
            continue
        drafts.append(list(step.messages))
        if isinstance(first, AssistantMessage):
            homes.update((call.id, drafts[-1]) for call in first.tool_calls)
    return drafts


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
