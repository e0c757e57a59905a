"""Cut old tool bodies to head, tail and the ref under which the whole is stored (behaviour.md section 11.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

from copyfit.outputs.cutting import byte_length, cut_head, cut_tail
from copyfit.shapes.messages import TextPart, ToolMessage, UserPart
from copyfit.shapes.steps import Step
from copyfit.shapes.transcript import Transcript
from copyfit.tokens.ledger import TokenLedger

MIN_PREVIEW_BYTES = 256
"""The smallest head and tail together (behaviour.md section 1.3)."""
HEAD_PERCENT = 65
"""The share of the preview that is the head, rounded down (behaviour.md section 1.3)."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A history with some tool bodies cut, the refs of those bodies in the order they were cut, and its tokens."""

    history: Transcript
    refs: tuple[str, ...]
    tokens: int


def project_tool_bodies(
    history: Transcript, *, ledger: TokenLedger, target: int, preview_bytes: int, spare_newest: bool = False
) -> Projection:
    """Return `history` with tool bodies cut one by one, the oldest first, until it has at most `target` tokens.

    Only results in closed steps with a stored output are cut, each once, and only where that makes the body
    smaller in bytes and the message in tokens. The newest step's bodies are thus the last to be cut; with
    `spare_newest` they are not cut at all.
    """
    tokens = ledger.transcript(history)
    steps = list(history.steps)
    cut: list[ToolMessage] = []
    for place, position, message in _candidates(history):
        if tokens <= target or (spare_newest and place == len(steps) - 1):
            break
        projected = project_body(message, preview_bytes=preview_bytes)
        if projected is None or ledger.message(projected) >= ledger.message(message):
            continue
        steps[place] = _with(steps[place], position, projected)
        cut.append(projected)
        tokens += ledger.message(projected) - ledger.message(message)
    refs = tuple(message.output_ref.ref for message in cut if message.output_ref)
    return Projection(Transcript.of_steps(steps) if cut else history, refs, tokens)


def project_body(message: ToolMessage, *, preview_bytes: int) -> ToolMessage | None:
    """Return `message` with its text cut to head, tail and ref; None where it may not be cut or would not shrink.

    Images and files of the result stay, for the store keeps only the text.
    """
    if message.output_ref is None or message.projected:
        return None
    body = message.text
    budget = max(MIN_PREVIEW_BYTES, preview_bytes)
    head = budget * HEAD_PERCENT // 100
    text = "\n".join(
        (
            "[tool output compacted] Its two ends are shown; the session's store keeps the whole.",
            f"ref={message.output_ref.ref}; look up one missing fact with read_tool_output.",
            "[head preview]",
            cut_head(body, head),
            "[tail preview]",
            cut_tail(body, budget - head),
        )
    )
    if byte_length(text) >= byte_length(body):
        return None
    return message.model_copy(update={"content": _content(message, text), "projected": True})


def _content(message: ToolMessage, text: str) -> str | tuple[UserPart, ...]:
    if isinstance(message.content, str):
        return text
    return (TextPart(text=text), *(part for part in message.content if not isinstance(part, TextPart)))


def _candidates(history: Transcript) -> Iterator[tuple[int, int, ToolMessage]]:
    """Yield each result of the closed steps that have stored ones: its step's place, its own in it, and itself."""
    for place in history.landmarks.stored:
        for position, message in enumerate(history.steps[place].messages):
            if isinstance(message, ToolMessage):
                yield place, position, message


def _with(step: Step, position: int, message: ToolMessage) -> Step:
    messages = (*step.messages[:position], message, *step.messages[position + 1 :])
    return Step(messages, step.open_calls)
