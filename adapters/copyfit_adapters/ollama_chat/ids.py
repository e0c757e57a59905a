"""Give calls and results an id where the wire has none.

Ollama gives ids since 0.12.10, and its official Python client (0.6) drops them on the way back. copyfit pairs each
result with its call by id, so what comes without one gets one here; it travels from then on, and a server that
knows no ids ignores it.
"""

from collections.abc import Mapping
from typing import Any

from copyfit_adapters.answers.reply import digest_of


def made_id(reply: Mapping[str, Any], index: int) -> str:
    """Return an id for the call at `index` of an answer, or of a piece of one: the same when it is replayed."""
    return f"call-{digest_of(reply)}-{index}"


def with_ids(messages: list[Any]) -> list[Any]:
    """Return the wire `messages` with an id for every call, and for every result that of the call it answers.

    A result without one answers the first open call of its tool, or the first open call where it names no tool.
    """
    found: list[Any] = []
    waiting: list[tuple[Any, Any]] = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            found.append(message)
        elif isinstance(message.get("tool_calls"), list):
            calls = [_with_id(call, f"call-{index}-{place}") for place, call in enumerate(message["tool_calls"])]
            waiting = [(call["id"], _name_of(call)) for call in calls if isinstance(call, dict)]
            found.append(message | {"tool_calls": calls})
        elif message.get("role") == "tool":
            found.append(_answering(message, waiting, otherwise=f"result-{index}"))
        else:
            found.append(message)
    return found


def _with_id(call: Any, made: str) -> Any:
    return call | {"id": made} if isinstance(call, dict) and call.get("id") is None else call


def _name_of(call: dict[str, Any]) -> Any:
    function = call.get("function")
    return function.get("name") if isinstance(function, dict) else None


def _answering(message: dict[str, Any], waiting: list[tuple[Any, Any]], *, otherwise: str) -> dict[str, Any]:
    """Return the result with the id of its call, which waits no longer."""
    answered, tool = message.get("tool_call_id"), message.get("tool_name")
    if answered is None:
        of_tool = [call_id for call_id, name in waiting if name == tool]
        answered = next(iter(of_tool or [call_id for call_id, _ in waiting]), otherwise)
    waiting[:] = [call for call in waiting if call[0] != answered]
    return message | {"tool_call_id": answered}
