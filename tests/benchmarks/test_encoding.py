"""What encoding costs after one appended step, in every protocol."""

import gc
import statistics
from collections.abc import Callable, Iterator
from itertools import islice
from time import process_time
from typing import Any

import pytest

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit_adapters.anthropic_messages.encode import encode as encode_messages
from copyfit_adapters.bedrock_converse.encode import encode as encode_converse
from copyfit_adapters.cohere_v2.encode import encode as encode_cohere
from copyfit_adapters.gemini.encode import encode as encode_gemini
from copyfit_adapters.mistral_chat.encode import encode as encode_mistral
from copyfit_adapters.ollama_chat.encode import encode as encode_ollama
from copyfit_adapters.openai_chat.encode import encode as encode_chat
from copyfit_adapters.openai_responses.encode import encode as encode_responses

STEPS = 205
"""Steps of 489 tokens in the mean: 100,000 tokens."""
ENCODERS: dict[str, Callable[..., Any]] = {
    "openai-chat": encode_chat,
    "openai-responses": encode_responses,
    "anthropic-messages": encode_messages,
    "gemini": encode_gemini,
    "bedrock-converse": encode_converse,
    "mistral-chat": encode_mistral,
    "cohere-v2": encode_cohere,
    "ollama-chat": encode_ollama,
}


@pytest.mark.benchmark
def test_encoding_100k_tokens_after_one_appended_step(
    make_steps: Callable[[], Iterator[tuple[Message, Message]]], machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"\n{machine}", "encoding 100k tokens after one appended step, ms of CPU:"]
    lines.append(f"{'protocol':20} {'median':>7} {'worst':>7} {'all anew':>9} {'MB':>6}")
    for protocol, encode in ENCODERS.items():
        appended, anew, size = _times(encode, make_steps())
        cells = f"{statistics.median(appended):7.2f} {max(appended):7.2f} {anew:9.1f} {size / 1e6:6.2f}"
        lines.append(f"{protocol:20} {cells}")
    with capsys.disabled():
        print("\n".join(lines))


def _times(encode: Callable[..., Any], steps: Iterator[tuple[Message, Message]]) -> tuple[list[float], float, int]:
    """Return what each appended step takes, what the whole takes anew (ms of CPU), and the bytes of the body."""
    messages: list[Message] = [UserMessage(content="Compare the trials.")]
    for step in islice(steps, STEPS):
        messages += step
    known: IdentityMemo[bytes] = IdentityMemo()
    size = len(encode(ModelInput("Be brief.", tuple(messages)), "m", known=known).body)
    times: list[float] = []
    for step in islice(steps, 40):
        messages += step
        model_input = ModelInput("Be brief.", tuple(messages))
        gc.collect()
        started = process_time()
        encode(model_input, "m", known=known)
        times.append((process_time() - started) * 1000)
    started = process_time()
    encode(ModelInput("Be brief.", tuple(messages)), "m")
    return times, (process_time() - started) * 1000, size
