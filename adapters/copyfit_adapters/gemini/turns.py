"""What a message has to know of its neighbours before it can be written.

A result names the function that it answers. Where a `ToolMessage` does not, the name is that of the last call
before it with its id. Such a message is written anew in every request, for its bytes depend on another message;
one that has its name, as the runtime makes them, depends on nothing but itself.
"""

from collections.abc import Iterable, Mapping

from copyfit.shapes.messages import AssistantMessage, Message, ToolMessage
from copyfit_adapters.codec.turns import with_names
from copyfit_adapters.gemini.dialect import Dialect


def prepared(messages: Iterable[Message], dialect: Dialect) -> list[Message]:
    """Return `messages` with a name on every result whose call is known.

    Where ids do not travel, the results that follow a message stand in the order of its calls, so that a late one
    changes the bytes of the results that came before it.
    """
    kept = with_names(messages)
    return kept if dialect.call_ids else _in_order_of_calls(kept)


def _in_order_of_calls(messages: Iterable[Message]) -> list[Message]:
    """Return `messages` with each run of results in the order of the calls before it; others stay behind them."""
    kept: list[Message] = []
    run: list[ToolMessage] = []
    order: dict[str, int] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            run.append(message)
            continue
        kept += _sorted(run, order)
        run = []
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        order = {call.id: index for index, call in reversed(list(enumerate(calls)))}
        kept.append(message)
    return [*kept, *_sorted(run, order)]


def _sorted(run: list[ToolMessage], order: Mapping[str, int]) -> list[ToolMessage]:
    return sorted(run, key=lambda result: order.get(result.call_id, len(order)))
