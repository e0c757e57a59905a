"""Check a finished model input against what the run guarantees."""

from collections import Counter
from collections.abc import Iterable, Sequence

from copyfit.errors import InvalidContext
from copyfit.shapes.messages import Message
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.stages import PlacedSection
from copyfit.shapes.tools import ToolSpec

DROPPED_PROTECTED_SECTION = "dropped protected section"
GOVERNED_TOOL_SET = "governed tool set changed"
ORPHAN_TOOL_RESULT = "orphan tool result"


class ContextValidator:
    """The last gate before the provider; it changes nothing."""

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
        _check_results(model_input.messages)


def _check_tools(sent: Counter[str], governed: Counter[str]) -> None:
    wrong = sorted(name for name in sent | governed if sent[name] != 1 or governed[name] != 1)
    if wrong:
        raise InvalidContext(GOVERNED_TOOL_SET, ", ".join(wrong))


def _check_results(messages: Iterable[Message]) -> None:
    declared: set[str] = set()
    for message in messages:
        if message.role == "assistant":
            if not isinstance(message.content, str):
                declared.update([part.id for part in message.content if part.type == "tool_call"])
        elif message.role == "tool" and message.call_id not in declared:
            raise InvalidContext(ORPHAN_TOOL_RESULT, message.call_id)
