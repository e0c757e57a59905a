"""An immutable sequence of messages that remembers its steps."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from copyfit.shapes.messages import Message, Origin, UserMessage
from copyfit.shapes.steps import Step, split_steps


class Transcript(Sequence[Message]):
    """The messages of a conversation in order; growing it makes a new transcript that shares the old parts.

    Messages and steps are never copied, and what was found out about a transcript is carried on when it grows, so
    a long conversation costs no more per turn than a short one.
    """

    __slots__ = ("_messages", "_standing", "_steps")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)
        self._steps: tuple[Step, ...] | None = None
        self._standing: _Standing | None = None

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

    @property
    def checkpoint(self) -> UserMessage | None:
        """The standing checkpoint, or None."""
        return self._found.checkpoint

    @property
    def anchor(self) -> UserMessage | None:
        """The active user request: the latest canonical user message, or None."""
        return self._found.anchor

    def append(self, *messages: Message) -> "Transcript":
        """Return this transcript followed by `messages`; only the last step is looked at again."""
        grown = Transcript(self._messages + messages)
        steps = self.steps
        grown._steps = (*steps[:-1], *split_steps(steps[-1].messages + messages)) if steps else None
        grown._standing = self._found.after(messages)
        return grown

    @property
    def _found(self) -> "_Standing":
        if self._standing is None:
            self._standing = _Standing().after(self._messages)
        return self._standing

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


@dataclass(frozen=True, slots=True)
class _Standing:
    """The two messages that every stage asks for."""

    anchor: UserMessage | None = None
    checkpoint: UserMessage | None = None

    def after(self, messages: Sequence[Message]) -> "_Standing":
        """Return what stands when `messages` have come behind: the newest request, the first checkpoint."""
        return _Standing(
            anchor=next(_users(reversed(messages), Origin.CANONICAL), self.anchor),
            checkpoint=self.checkpoint or next(_users(messages, Origin.CHECKPOINT), None),
        )


def _users(messages: Iterable[Message], origin: Origin) -> Iterator[UserMessage]:
    return (message for message in messages if message.role == "user" and message.origin is origin)
