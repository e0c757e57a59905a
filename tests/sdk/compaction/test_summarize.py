import asyncio
import re
from collections.abc import Sequence

import pytest

from copyfit.compaction.checkpoint import build_checkpoint, read_checkpoint
from copyfit.compaction.sections import CHECKPOINT_CHARS, HEADINGS, write_sections
from copyfit.compaction.summarize import CheckpointWriter, Summary
from copyfit.errors import Unavailable
from copyfit.ports.summarizer import SummaryRequest
from copyfit.shapes.messages import AssistantMessage, Message, ToolMessage, UserMessage
from copyfit.shapes.stages import SummaryPlan
from copyfit.shapes.steps import Step
from copyfit.shapes.tools import ToolSpec
from copyfit.tokens.ledger import TokenLedger

pytestmark = pytest.mark.anyio


class LengthEstimator:
    """A token a character, and one more a message."""

    method = "length"

    def count_message(self, message: Message) -> int:
        return len(message.text) + 1

    def count_system(self, text: str) -> int:
        return len(text)

    def count_tools(self, tools: Sequence[ToolSpec]) -> int:
        return 0


class Scripted:
    """Gives its answers in turn, the last one for ever, and keeps the requests; an exception is raised."""

    def __init__(self, *answers: str | BaseException) -> None:
        self.answers = list(answers)
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def answer(words: str) -> str:
    return write_sections(["", words, *[""] * 6])


def plan(*messages: Message) -> SummaryPlan:
    return SummaryPlan(summarize=tuple(Step((message,)) for message in messages), keep=())


LONG = AssistantMessage(content="completed observation " * 200)
PREVIOUS = build_checkpoint(["the first request", *[""] * 7])


async def write(
    summarizer: Scripted,
    *messages: Message,
    retries: int = 1,
    window_tokens: int | None = None,
    previous: UserMessage | None = None,
) -> Summary:
    writer = CheckpointWriter(
        summarizer=summarizer,
        ledger=TokenLedger(LengthEstimator()),
        retries=retries,
        window_tokens=window_tokens,
    )
    return await writer.write(plan(*(messages or (LONG,))), previous=previous, active_request="the task")


async def test_an_accepted_answer_becomes_the_checkpoint() -> None:
    summarizer = Scripted(answer("all is well"))
    summary = await write(summarizer)
    assert summary.checkpoint is not None
    assert "all is well" in read_checkpoint(summary.checkpoint)
    assert (summary.attempts, summary.rejected) == (1, 0)
    assert summary.source_tokens == len(LONG.text) + 1
    assert summary.checkpoint_tokens == len(summary.checkpoint.text) + 1 < summary.source_tokens
    assert summary.input_chars == len(summarizer.requests[0].prompt)
    assert summary.output_chars == len(answer("all is well"))
    assert summary.warnings == ()


async def test_an_answer_that_is_not_smaller_than_its_source_is_asked_for_again() -> None:
    """Case: HCP-05."""
    summarizer = Scripted(answer("first " * 10_000), answer("short"))
    summary = await write(summarizer)
    assert summary.checkpoint is not None
    assert (summary.attempts, summary.rejected) == (2, 1)
    assert "more concise" not in summarizer.requests[0].prompt
    assert "more concise" in summarizer.requests[1].prompt
    assert summary.input_chars == len(summarizer.requests[0].prompt)


async def test_a_checkpoint_of_the_same_size_is_no_gain() -> None:
    overhead = len(build_checkpoint(["", "x", *[""] * 6]).text) - 1
    source = AssistantMessage(content="s" * (overhead + 100))
    assert (await write(Scripted(answer("x" * 100)), source, retries=0)).checkpoint is None
    assert (await write(Scripted(answer("x" * 99)), source, retries=0)).checkpoint is not None


@pytest.mark.parametrize("useless", ["", "   ", "I cannot help with that.", write_sections([""] * 8)])
async def test_an_answer_that_says_nothing_under_a_heading_is_rejected(useless: str) -> None:
    summarizer = Scripted(useless)
    summary = await write(summarizer, retries=2)
    assert summary.checkpoint is None
    assert (summary.attempts, summary.rejected) == (3, 3)
    assert "eight headings exactly" in summarizer.requests[1].prompt.removeprefix(summarizer.requests[0].prompt)


async def test_attempts_are_bounded_by_the_retries() -> None:
    """Case: HCP-32."""
    for retries in (0, 1, 3):
        summarizer = Scripted(answer("x" * 100_000))
        summary = await write(summarizer, AssistantMessage(content="y" * 2_000), retries=retries)
        assert summary.checkpoint is None
        assert (summary.attempts, summary.rejected) == (retries + 1, retries + 1)
        assert len(summarizer.requests) == retries + 1


@pytest.mark.parametrize("failure", [Unavailable("It is down.", provider="p"), ValueError("odd"), KeyError("k")])
async def test_a_failing_summarizer_is_not_asked_again(failure: Exception) -> None:
    """Case: HCP-30."""
    summarizer = Scripted(failure)
    summary = await write(summarizer, retries=3)
    assert summary.checkpoint is None
    assert (summary.attempts, summary.rejected) == (1, 0)
    assert summary.warnings[0].startswith(f"The summarizer failed: {type(failure).__name__}")


@pytest.mark.parametrize("cancelled", [asyncio.CancelledError(), KeyboardInterrupt()])
async def test_cancellation_goes_through(cancelled: BaseException) -> None:
    """Case: HCP-31."""
    with pytest.raises(type(cancelled)):
        await write(Scripted(cancelled))


async def test_the_previous_checkpoint_is_merged_and_counted_and_no_message_of_the_transcript() -> None:
    """Case: HCP-34."""
    summarizer = Scripted(answer("merged"))
    summary = await write(summarizer, LONG, previous=PREVIOUS)
    prompt = summarizer.requests[0].prompt
    assert "the first request" in prompt.split("<existing_summary>")[1].split("</existing_summary>")[0]
    assert "the first request" not in prompt.split("<new_messages>")[1]
    assert summary.source_tokens == len(LONG.text) + 1 + len(PREVIOUS.text) + 1


async def test_steps_smaller_than_any_checkpoint_cost_no_model_call() -> None:
    summarizer = Scripted(answer("x"))
    summary = await write(summarizer, AssistantMessage(content="older work"))
    assert (summary.checkpoint, summary.attempts, summarizer.requests) == (None, 0, [])
    assert "smaller than any checkpoint" in summary.warnings[0]


async def test_refs_of_the_source_and_of_the_previous_checkpoint_are_known() -> None:
    """Case: HCP-03."""
    result = ToolMessage(call_id="c", content='ref "tool-output-abcdef12" ' + "x" * 4_000)
    before = build_checkpoint(["see tool-output-01", *[""] * 7])
    cites = [f"about {name}" for name in HEADINGS]
    cites[2] = "tool-output-abcdef12 and tool-output-01"
    summary = await write(Scripted(write_sections(cites)), result, previous=before)
    assert summary.checkpoint is not None
    assert summary.warnings == ()
    summary = await write(Scripted(write_sections(cites)), result)
    assert summary.warnings == ("Unverified stored-output ref tool-output-01.",)


class Noting(Scripted):
    """Answers with every mark (a letter, digits, an exclamation mark) that it is shown in any block."""

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        return answer("seen: " + " ".join(sorted(set(re.findall(r"[ab]\d+!", request.prompt)))))


@pytest.mark.parametrize("sizes", [[4_000] * 6, [30_000], [100, 20_000, 100, 5_000]])
async def test_a_source_too_big_for_the_summarizer_is_folded_in_chunk_by_chunk(sizes: list[int]) -> None:
    messages = [AssistantMessage(content=f"a{n}!{'<' * (size // 4)}b{n}!") for n, size in enumerate(sizes)]
    summarizer = Noting("")
    summary = await write(summarizer, *messages, window_tokens=9_000)
    assert summary.checkpoint is not None
    for number in range(len(sizes)):
        assert f"a{number}!" in summary.checkpoint.text
        assert f"b{number}!" in summary.checkpoint.text
    assert summary.attempts == len(summarizer.requests) > 1
    assert all(len(each.system) + len(each.prompt) <= 9_000 for each in summarizer.requests)
    new_parts = [
        each.prompt.split("<new_messages>")[1].split("</new_messages>")[0] for each in summarizer.requests
    ]
    assert sum(part.count("&lt;") for part in new_parts) == sum(size // 4 for size in sizes)


async def test_a_plea_for_a_better_answer_fits_the_window_as_well() -> None:
    messages = [AssistantMessage(content="x" * 97) for _ in range(300)]
    for window in range(4_000, 4_100, 3):
        summarizer = Scripted("", answer("ok"))
        await write(summarizer, *messages, window_tokens=window)
        assert max(len(each.system) + len(each.prompt) for each in summarizer.requests) <= window


async def test_a_source_that_fits_is_asked_for_at_once() -> None:
    summarizer = Scripted(answer("ok"))
    await write(summarizer, window_tokens=100_000)
    assert len(summarizer.requests) == 1


async def test_a_window_without_room_gives_no_checkpoint_and_no_call() -> None:
    summarizer = Scripted(answer("ok"))
    summary = await write(summarizer, window_tokens=500)
    assert (summary.checkpoint, summarizer.requests) == (None, [])
    assert "no room" in summary.warnings[0]


async def test_a_chunk_that_is_rejected_ends_the_folding() -> None:
    summarizer = Scripted(answer("ok"), "")
    summary = await write(summarizer, AssistantMessage(content="x" * 30_000), window_tokens=9_000)
    assert summary.checkpoint is None
    assert (summary.attempts, summary.rejected) == (3, 2)


async def test_an_answer_far_over_the_bound_is_cut_to_it() -> None:
    summary = await write(Scripted(answer("x" * 100_000)), AssistantMessage(content="y" * 50_000))
    assert summary.checkpoint is not None
    assert len(read_checkpoint(summary.checkpoint)) <= CHECKPOINT_CHARS
