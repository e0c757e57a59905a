"""Check a finished model input against what the run guarantees."""

from collections import Counter
from collections.abc import Iterable, Sequence

from copyfit.errors import InvalidContext
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import AssistantMessage, Message
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.stages import PlacedSection
from copyfit.shapes.tools import ToolSpec

DROPPED_PROTECTED_SECTION = "dropped protected section"
GOVERNED_TOOL_SET = "governed tool set changed"
ORPHAN_TOOL_RESULT = "orphan tool result"


class ContextValidator:
    """The last gate before the provider; it changes nothing, and checks no message of a growing history twice."""

    def __init__(self) -> None:
        self._sound: Growing[Message] = Growing()

    def validate(
        self, model_input: ModelInput, *, protected: Iterable[PlacedSection], tools: Sequence[ToolSpec]
    ) -> None:
        """Return when `model_input` keeps every rule.

        Each of the `protected` sections stands word for word in the system prompt; the tools are the governed
        `tools` by name, each once; every tool result follows the message that declares its call. A call may wait
        for its result.

        Raises:
            InvalidContext: a rule is broken; `rule` and `where` say which and by what.

        """
        for placed in protected:
            if placed.section.content not in model_input.system:
                raise InvalidContext(DROPPED_PROTECTED_SECTION, placed.section.id)
        _check_tools(Counter(tool.name for tool in model_input.tools), Counter(tool.name for tool in tools))
        messages = model_input.messages
        self._check_results(messages if isinstance(messages, Growing) else Growing(messages))

    def _check_results(self, messages: Growing[Message]) -> None:
        for place in range(self._sound.shared_with(messages), len(messages)):
            message = messages[place]
            if message.role == "tool" and not _is_declared(message.call_id, messages, before=place):
                raise InvalidContext(ORPHAN_TOOL_RESULT, message.call_id)
        self._sound = messages


def _check_tools(sent: Counter[str], governed: Counter[str]) -> None:
    wrong = sorted(name for name in sent | governed if sent[name] != 1 or governed[name] != 1)
    if wrong:
        raise InvalidContext(GOVERNED_TOOL_SET, ", ".join(wrong))


def _is_declared(call_id: str, messages: Sequence[Message], *, before: int) -> bool:
    """Return whether a message before the place `before` declares the call; the nearest ones are asked first."""
    earlier = (messages[place] for place in range(before - 1, -1, -1))
    return any(
        call.id == call_id
        for message in earlier
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    )
