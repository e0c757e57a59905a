"""An immutable sequence of messages that remembers its steps."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from copyfit.shapes.messages import AssistantMessage, Message, Origin, ToolMessage, UserMessage
from copyfit.shapes.steps import Step, split_steps


class Transcript(Sequence[Message]):
    """The messages of a conversation in order; growing it makes a new transcript that shares the old parts.

    Messages and steps are never copied, so a fact kept for one of them stays valid in every later transcript.
    """

    __slots__ = ("_messages", "_steps")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)
        self._steps: tuple[Step, ...] | None = None

    @classmethod
    def of_steps(cls, steps: Iterable[Step]) -> "Transcript":
        """Return the transcript whose steps are exactly `steps`."""
        kept = tuple(steps)
        transcript = cls(message for step in kept for message in step.messages)
        transcript._steps = kept
        return transcript

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages, oldest first."""
        return self._messages

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, oldest first."""
        if self._steps is None:
            self._steps = split_steps(self._messages)
        return self._steps

    def append(self, *messages: Message) -> "Transcript":
        """Return this transcript followed by `messages`; only the last step is looked at again."""
        grown = Transcript(self._messages + messages)
        if self._steps:
            *closed, last = self._steps
            grown._steps = (*closed, *split_steps(last.messages + messages))
        return grown

    @property
    def checkpoint(self) -> UserMessage | None:
        """The standing checkpoint, or None."""
        for message in self._messages:
            if isinstance(message, UserMessage) and message.origin is Origin.CHECKPOINT:
                return message
        return None

    @property
    def anchor(self) -> UserMessage | None:
        """The active user request: the latest canonical user message, or None."""
        for message in reversed(self._messages):
            if isinstance(message, UserMessage) and message.origin is Origin.CANONICAL:
                return message
        return None

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transcript) and self._messages == other._messages

    def __hash__(self) -> int:
        return hash(len(self._messages))

    def __repr__(self) -> str:
        return f"Transcript({len(self._messages)} messages)"


def calls_by_id(messages: Iterable[Message]) -> dict[str, str]:
    """Return the tool name of every call declared in `messages`, keyed by call id."""
    return {
        call.id: call.name
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }


def results(messages: Iterable[Message]) -> Iterator[ToolMessage]:
    """Yield the tool results among `messages`, in order."""
    return (message for message in messages if isinstance(message, ToolMessage))
