"""An immutable sequence of messages that remembers its steps."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from copyfit.shapes.growing import Growing
from copyfit.shapes.landmarks import Landmarks
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.steps import Step, split_steps


class Transcript(Sequence[Message]):
    """The messages of a conversation in order; growing it makes a new transcript that shares the old parts.

    Messages and steps are never copied while a conversation grows at its end, and what was found out about a
    transcript is carried on, so a long conversation costs no more per turn than a short one. Going on from an
    earlier transcript a second time copies the list of its messages once.
    """

    __slots__ = ("_messages", "_settled", "_steps")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = Growing(messages)
        self._steps: Growing[Step] = Growing()
        self._settled = Landmarks()
        self._set_last(split_steps(self._messages))

    @classmethod
    def of_steps(cls, steps: Iterable[Step]) -> "Transcript":
        """Return the transcript whose steps are exactly `steps`."""
        kept = tuple(steps)
        transcript = cls()
        transcript._messages = Growing(message for step in kept for message in step.messages)
        transcript._set_last(kept)
        return transcript

    @property
    def messages(self) -> Growing[Message]:
        """The messages, oldest first."""
        return self._messages

    @property
    def steps(self) -> Growing[Step]:
        """The steps, oldest first; the last one is the tail, for it may still take in results."""
        return self._steps

    @property
    def landmarks(self) -> Landmarks:
        """The places of the steps that stages ask for."""
        return self._settled.after(self._steps.tail, first=self._steps.shared)

    @property
    def checkpoint(self) -> UserMessage | None:
        """The standing checkpoint, or None."""
        return self._user_at(self.landmarks.checkpoint)

    @property
    def anchor(self) -> UserMessage | None:
        """The active user request: the latest canonical user message, or None."""
        return self._user_at(self.landmarks.anchor)

    def append(self, *messages: Message) -> "Transcript":
        """Return this transcript followed by `messages`; only the last step is looked at again."""
        again = (message for step in self._steps.tail for message in step.messages)
        grown = Transcript.__new__(Transcript)
        grown._messages = self._messages.extended(messages)
        grown._steps, grown._settled = self._steps, self._settled
        grown._set_last(split_steps((*again, *messages)))
        return grown

    def _set_last(self, last: tuple[Step, ...]) -> None:
        """Put the steps `last` in the place of the last step; all of them but the newest are settled."""
        settled, newest = last[:-1], last[-1:]
        self._settled = self._settled.after(settled, first=self._steps.shared)
        self._steps = self._steps.extended(settled, tail=newest)

    def _user_at(self, place: int | None) -> UserMessage | None:
        head = None if place is None else self._steps[place].messages[0]
        return head if isinstance(head, UserMessage) else None

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
