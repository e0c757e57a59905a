"""What the codecs cost: encoding after one appended step, and decoding a stream beside the official SDK."""

import gc
import json
import statistics
from collections.abc import Callable, Iterator
from itertools import islice
from time import process_time
from typing import Any

import pytest

from copyfit.shapes.identity_memo import IdentityMemo
from copyfit.shapes.messages import Message, UserMessage
from copyfit.shapes.model_input import ModelInput
from copyfit.shapes.model_output import Finished
from copyfit_adapters.anthropic_messages.encode import encode as encode_messages
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.openai_chat.encode import encode as encode_chat
from copyfit_adapters.openai_chat.stream import ChatStream

STEPS = 205
"""Steps of 489 tokens in the mean: 100,000 tokens."""
EVENTS = 2000
ENCODERS: dict[str, Callable[..., Any]] = {
    "openai-chat": encode_chat,
    "anthropic-messages": encode_messages,
}


@pytest.mark.benchmark
@pytest.mark.parametrize("protocol", ENCODERS)
def test_encoding_100k_tokens_after_one_appended_step(
    protocol: str, make_steps: Callable[[], Iterator[tuple[Message, Message]]], capsys: pytest.CaptureFixture[str]
) -> None:
    encode, steps = ENCODERS[protocol], make_steps()
    messages: list[Message] = [UserMessage(content="Compare the trials.")]
    for step in islice(steps, STEPS):
        messages += step
    known: IdentityMemo[bytes] = IdentityMemo()
    body = encode(ModelInput("Be brief.", tuple(messages)), "m", known=known).body
    times: list[float] = []
    for step in islice(steps, 40):
        messages += step
        model_input = ModelInput("Be brief.", tuple(messages))
        gc.collect()
        started = process_time()
        encode(model_input, "m", known=known)
        times.append((process_time() - started) * 1000)
    first = _once(lambda: encode(ModelInput("Be brief.", tuple(messages)), "m"))
    with capsys.disabled():
        print(
            f"\n{protocol}: encode {len(body) / 1e6:.2f} MB after one appended step: median "
            f"{statistics.median(times):.2f} ms, worst {max(times):.2f} ms of CPU; all anew {first:.1f} ms"
        )


def chat_stream() -> bytes:
    """Write a stream of `EVENTS` text deltas as OpenAI frames them."""
    base: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [
        {"index": 0, "delta": {"content": f" word{index}"}, "finish_reason": None} for index in range(EVENTS)
    ]
    chunks = [base | {"choices": [delta]} for delta in deltas]
    chunks.append(base | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    frames = [f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n" for chunk in chunks]
    return "".join([*frames, "data: [DONE]\n\n"]).encode()


def messages_stream() -> bytes:
    """Write a stream of `EVENTS` text deltas as Anthropic frames them."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    message |= {"content": [], "usage": usage}
    message |= {"stop_reason": None, "stop_sequence": None}
    deltas = [{"type": "text_delta", "text": f" word{index}"} for index in range(EVENTS)]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def official_chat(body: bytes) -> str:
    import httpx2
    import openai

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        openai.OpenAI(api_key="k", http_client=http) as client,
    ):
        chunks = client.chat.completions.create(model="m", messages=[], stream=True)
        return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def official_messages(body: bytes) -> str:
    import anthropic
    import httpx2

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        anthropic.Anthropic(api_key="k", http_client=http) as client,
    ):
        asked: Any = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        with client.messages.stream(**asked) as events:
            return "".join(events.text_stream)


def ours(open_stream: Callable[[], Any], body: bytes) -> str:
    decoder = open_stream()
    last = [*decoder.feed(body), *decoder.close()][-1]
    assert isinstance(last, Finished)
    return last.output.message.text


STREAMS: dict[str, tuple[Callable[[], bytes], Callable[[], Any], Callable[[bytes], str]]] = {
    "openai-chat": (chat_stream, ChatStream, official_chat),
    "anthropic-messages": (messages_stream, MessagesStream, official_messages),
}


@pytest.mark.benchmark
@pytest.mark.parametrize("protocol", STREAMS)
def test_decoding_a_stream_of_2000_events_beside_the_official_sdk(
    protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write, open_stream, official = STREAMS[protocol]
    body = write()
    assert ours(open_stream, body) == official(body)
    rounds = [(_once(lambda: ours(open_stream, body)), _once(lambda: official(body))) for _ in range(7)]
    mine, theirs = (statistics.median(times) for times in zip(*rounds, strict=True))
    with capsys.disabled():
        print(f"\n{protocol}: decode {EVENTS} events: {mine:.1f} ms of CPU, the official SDK {theirs:.1f} ms")


def _once(work: Callable[[], Any]) -> float:
    """Return the milliseconds of CPU that `work` takes."""
    gc.collect()
    started = process_time()
    work()
    return (process_time() - started) * 1000
