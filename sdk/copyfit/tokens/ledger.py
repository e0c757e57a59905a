"""Count every message once, and a growing transcript only by what it grew."""

from collections.abc import Sequence

from copyfit.ports.estimator import TokenEstimator
from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message
from copyfit.shapes.running import RunningFact
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.shapes.transcript import Transcript


class TokenLedger:
    """Remembers what each message, system prompt and list of tools costs; every answer is in tokens.

    A message is counted once in its life and forgotten with it. A transcript that grew out of one that was
    counted costs its new messages alone; the last few transcripts are kept alive for that.
    """

    def __init__(self, estimator: TokenEstimator) -> None:
        self._estimator = estimator
        self._messages: IdentityMemo[int] = IdentityMemo()
        self._totals: RunningFact[Message, int] = RunningFact(0, self._plus)
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
        return self._totals.of(transcript.messages)

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

    def _plus(self, total: int, _: int, message: Message) -> int:
        return total + self.message(message)
