"""Have a checkpoint written: ask, check, ask again within bounds, and give up rather than lose anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from copyfit.compaction.checkpoint import build_checkpoint, escape, read_checkpoint
from copyfit.compaction.sections import HEADINGS, Sections, bound_sections, read_sections, refs_in, write_sections
from copyfit.compaction.summary_request import ENTRY_GAP, Again, build_request, render_entry
from copyfit.errors import ContextOverflow
from copyfit.ports.summarizer import HistorySummarizer, SummaryRequest
from copyfit.shapes.messages import UserMessage
from copyfit.shapes.stages import SummaryPlan
from copyfit.tokens.ledger import TokenLedger

MIN_ROOM_TOKENS = 256
"""The least that a request must have left for messages; with less, a long history would take hundreds of them."""


_CONTINUED = " [continued in the next part]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The checkpoint that was written, if one was, and what it took; tokens unless the name says otherwise.

    `input_chars` is the length of the last prompt without its plea to do better, `output_chars` that of the last
    answer; `warnings` belong to the last answer, or say why there is no checkpoint. `refused_tokens` is set when a
    request was too long: its size as counted here, or the window that the summarizer named, if that is less.
    """

    source_tokens: int
    checkpoint: UserMessage | None = None
    attempts: int = 0
    rejected: int = 0
    checkpoint_tokens: int | None = None
    input_chars: int | None = None
    output_chars: int | None = None
    refused_tokens: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass
class _Tally:
    """What the attempts at one checkpoint came to so far."""

    attempts: int = 0
    rejected: int = 0
    checkpoint_tokens: int | None = None
    input_chars: int | None = None
    output_chars: int | None = None
    refused_tokens: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointWriter:
    """Has checkpoints written by `summarizer`, whose input may have `window_tokens` (None: any number).

    A source that does not fit is folded in, chunk by chunk. `retries` is how often each chunk is asked for again
    after an answer that was rejected.
    """

    summarizer: HistorySummarizer
    ledger: TokenLedger
    retries: int = 1
    window_tokens: int | None = None

    async def write(self, plan: SummaryPlan, *, previous: UserMessage | None, active_request: str) -> Summary:
        """Return the checkpoint of the steps to summarise, merged with the `previous` one.

        An answer is rejected that is blank, has none of the sections, or makes a checkpoint that is not smaller
        than its source. When every attempt is rejected or the summarizer fails, there is no checkpoint.

        """
        messages = tuple(message for step in plan.summarize for message in step.messages)
        source_tokens = self.ledger.messages(messages) + (self.ledger.message(previous) if previous else 0)
        tally = _Tally()
        checkpoint = None
        if source_tokens <= self.ledger.message(build_checkpoint([""] * len(HEADINGS))):
            tally.warnings = ("The old steps are smaller than any checkpoint; they stay.",)
        else:
            entries = [render_entry(message) for message in messages]
            told = read_checkpoint(previous) if previous else ""
            source = _Source(
                entries=entries,
                previous=told,
                active_request=active_request,
                known_refs=refs_in([told, *entries]),
                tokens=source_tokens,
            )
            checkpoint = await self._fold(source, tally)
        return Summary(checkpoint=checkpoint, source_tokens=source_tokens, **vars(tally))

    async def _fold(self, source: "_Source", tally: _Tally) -> UserMessage | None:
        """Return the checkpoint of the whole source, or None."""
        while True:
            chunk = self._take(source)
            if not chunk:
                tally.warnings = ("The summarizer's window has no room for the messages to summarise.",)
                return None
            sections = await self._ask(source, chunk, tally)
            if sections is None:
                return None
            if not source.entries:
                return build_checkpoint(sections.bodies)
            source.previous = write_sections(bound_sections(sections.bodies))

    async def _ask(self, source: "_Source", chunk: Sequence[str], tally: _Tally) -> Sections | None:
        """Return the first answer to `chunk` that is accepted, or None."""
        request = source.request(chunk)
        tally.input_chars = len(request.prompt)
        again: Again | None = None
        for _ in range(1 + self.retries):
            tally.attempts += 1
            answer = await self._answer(source.request(chunk, again), tally)
            if answer is None:
                return None
            sections = read_sections(answer, known_refs=source.known_refs)
            tally.output_chars = len(answer)
            tally.warnings = sections.warnings
            tally.checkpoint_tokens = self.ledger.message(build_checkpoint(sections.bodies))
            is_last = not source.entries
            if not sections.shaped:
                again = "shaped"
            elif is_last and tally.checkpoint_tokens >= source.tokens:
                again = "shorter"
            else:
                return sections
            tally.rejected += 1
        return None

    async def _answer(self, request: SummaryRequest, tally: _Tally) -> str | None:
        try:
            return await self.summarizer.summarize(request)
        except Exception as error:  # noqa: BLE001 - foreign code; the history is kept whatever goes wrong in it
            tally.warnings = (f"The summarizer failed: {type(error).__name__}: {error}",)
            if isinstance(error, ContextOverflow):
                size = self.ledger.estimator.count_system(request.system) + self._tokens(request.prompt)
                tally.refused_tokens = min(size, error.limit_tokens or size)
            return None

    def _take(self, source: "_Source") -> list[str]:
        """Take from the source as many entries as the summarizer's window has room for, in part if need be."""
        if self.window_tokens is None:
            chunk, source.entries = source.entries, []
            return chunk
        # The plea for a better answer is counted in from the start, so that a retry fits as well.
        empty = source.request([], "shaped")
        room = self.window_tokens - self.ledger.estimator.count_system(empty.system) - self._tokens(empty.prompt)
        if room < MIN_ROOM_TOKENS:
            return []
        chunk = []
        while source.entries:
            entry = source.entries[0]
            cost = self._tokens(escape(entry) + ENTRY_GAP)
            if cost <= room:
                chunk.append(entry)
                del source.entries[0]
                room -= cost
                continue
            if not chunk:
                beginning = self._beginning(entry, room)
                chunk.append(beginning + _CONTINUED)
                source.entries[0] = entry[len(beginning) :]
            break
        return chunk

    def _beginning(self, entry: str, room: int) -> str:
        """Return a beginning of `entry` that costs at most `room`."""
        length = len(entry)
        while length > 1 and self._tokens(escape(entry[:length]) + _CONTINUED + ENTRY_GAP) > room:
            length //= 2
        return entry[:length]

    def _tokens(self, text: str) -> int:
        return self.ledger.estimator.count_message(UserMessage(content=text))


@dataclass(kw_only=True)
class _Source:
    """What is still to be summarised, and what was before it."""

    entries: list[str]
    previous: str
    active_request: str
    known_refs: frozenset[str]
    tokens: int

    def request(self, entries: Sequence[str], again: Again | None = None) -> SummaryRequest:
        return build_request(entries, previous=self.previous, active_request=self.active_request, again=again)
