"""Where the steps stand that every stage asks for."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from copyfit.shapes.messages import Message, Origin
from copyfit.shapes.steps import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmarks:
    """Places of steps in a history, oldest first; a place counts from 0.

    `requests` are the canonical user messages, `checkpoint` is the first checkpoint, `latest_user` the last user
    message of any origin, `open` the steps with open calls, `strays` the results that stand apart from their call,
    and `stored` the closed steps with a result that stands here whole and is in the store too.
    """

    requests: tuple[int, ...] = ()
    checkpoint: int | None = None
    latest_user: int | None = None
    open: tuple[int, ...] = ()
    strays: tuple[int, ...] = ()
    stored: tuple[int, ...] = ()

    @property
    def anchor(self) -> int | None:
        """The active user request: the last canonical user message."""
        return self.requests[-1] if self.requests else None

    def after(self, steps: Iterable[Step], *, first: int) -> "Landmarks":
        """Return the landmarks with `steps` behind the history, the first of them at the place `first`."""
        marks = self
        for place, step in enumerate(steps, start=first):
            marks = marks._with(place, step)
        return marks

    def _with(self, place: int, step: Step) -> "Landmarks":
        marks, head = self, step.messages[0]
        if step.open_calls:
            marks = replace(marks, open=(*marks.open, place))
        elif any(map(_is_stored_whole, step.messages)):
            marks = replace(marks, stored=(*marks.stored, place))
        if head.role == "tool":
            return replace(marks, strays=(*marks.strays, place))
        if head.role != "user":
            return marks
        marks = replace(marks, latest_user=place)
        if head.origin is Origin.CANONICAL:
            return replace(marks, requests=(*marks.requests, place))
        if head.origin is Origin.CHECKPOINT and marks.checkpoint is None:
            return replace(marks, checkpoint=place)
        return marks


def _is_stored_whole(message: Message) -> bool:
    return message.role == "tool" and message.output_ref is not None and not message.projected
