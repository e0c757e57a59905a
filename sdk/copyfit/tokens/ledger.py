"""Count every message once, and a growing transcript only by what it grew."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from copyfit.ports.estimator import TokenEstimator
from copyfit.shapes.messages import Message
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript

_LINEAGES = 4
"""How many growing transcripts are followed at once: a run has one canonical history, a shadow run two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """Who spends how many tokens of a window; `reserve` is kept free for the answer."""

    system: int
    tools: int
    contributed: int
    history: int
    reserve: int

    @property
    def input(self) -> int:
        """The tokens of the whole input."""
        return self.system + self.tools + self.contributed + self.history

    @property
    def total(self) -> int:
        """The tokens of the window that are spoken for."""
        return self.input + self.reserve


class TokenLedger:
    """Remembers what each message, system prompt and list of tools costs; every answer is in tokens.

    A message is counted once in its life and forgotten with it. A transcript that grew out of one that was
    counted costs its new messages alone; the last few transcripts are kept alive for that.
    """

    def __init__(self, estimator: TokenEstimator) -> None:
        self._estimator = estimator
        self._messages = _Costs()
        self._lineages: list[_Lineage] = []
        self._system: tuple[str, int] | None = None
        self._tools: tuple[tuple[ToolSpec, ...], int] | None = None

    @property
    def estimator(self) -> TokenEstimator:
        """The estimator that counts what is not remembered."""
        return self._estimator

    def message(self, message: Message) -> int:
        """Return what `message` costs."""
        cost = self._messages.get(message)
        if cost is None:
            cost = self._estimator.count_message(message)
            self._messages.keep(message, cost)
        return cost

    def messages(self, messages: Sequence[Message]) -> int:
        """Return what all of `messages` cost."""
        return sum(map(self.message, messages))

    def step(self, step: Step) -> int:
        """Return what all messages of `step` cost."""
        return self.messages(step.messages)

    def transcript(self, transcript: Transcript) -> int:
        """Return what all messages of `transcript` cost."""
        length = len(transcript)
        return self._lineage(transcript.messages).sums[length - 1] if length else 0

    def system(self, text: str) -> int:
        """Return what the system prompt `text` costs."""
        if self._system is None or self._system[0] != text:
            self._system = (text, self._estimator.count_system(text))
        return self._system[1]

    def tools(self, specs: Sequence[ToolSpec]) -> int:
        """Return what the tools cost; 0 for none."""
        kept = tuple(specs)
        if self._tools is None or self._tools[0] != kept:
            self._tools = (kept, self._estimator.count_tools(kept))
        return self._tools[1]

    def _lineage(self, messages: tuple[Message, ...]) -> "_Lineage":
        for place, lineage in enumerate(self._lineages):
            if lineage.follows(messages):
                lineage.grow(messages, self.message)
                self._lineages.insert(0, self._lineages.pop(place))
                return lineage
        fresh = _Lineage()
        fresh.grow(messages, self.message)
        self._lineages = [fresh, *self._lineages[: _LINEAGES - 1]]
        return fresh


class _Lineage:
    """The longest transcript of a growing line, with the running sum of costs after each message."""

    __slots__ = ("messages", "sums")

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()
        self.sums: list[int] = []

    def follows(self, messages: tuple[Message, ...]) -> bool:
        """Return whether one of the two transcripts begins with the other."""
        common = min(len(messages), len(self.messages))
        if not common or messages[common - 1] is not self.messages[common - 1]:
            return False
        # Tuples compare the same objects by identity, in C: this stays cheap for tens of thousands of messages.
        return messages[:common] == self.messages[:common]

    def grow(self, messages: tuple[Message, ...], cost: Callable[[Message], int]) -> None:
        """Take in what `messages` has beyond the messages that are known."""
        known = len(self.messages)
        if len(messages) <= known:
            return
        so_far = self.sums[-1] if self.sums else 0
        self.sums.extend(islice(accumulate(map(cost, messages[known:]), initial=so_far), 1, None))
        self.messages = messages


class _Costs:
    """Costs by the identity of the message, which need not be hashable; an entry goes when its message goes."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Message], int]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, message: Message) -> int | None:
        entry = self._entries.get(id(message))
        return entry[1] if entry is not None and entry[0]() is message else None

    def keep(self, message: Message, cost: int) -> None:
        entries, key = self._entries, id(message)

        def forget(ref: weakref.ref[Message]) -> None:
            # Another message may live at the same address by now.
            if entries.get(key, (None, 0))[0] is ref:
                del entries[key]

        entries[key] = (weakref.ref(message, forget), cost)
