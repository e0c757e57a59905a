"""What decoding a stream of 2,000 events costs, beside the official SDK on the same bytes in the same run."""

import gc
import json
import statistics
from collections.abc import Callable
from time import process_time
from typing import Any

import httpx
import httpx2
import pytest

from copyfit.shapes.model_output import Finished
from copyfit_adapters.anthropic_messages.stream import MessagesStream
from copyfit_adapters.cohere_v2.stream import CohereStream
from copyfit_adapters.gemini.stream import GeminiStream
from copyfit_adapters.openai_chat.stream import ChatStream
from copyfit_adapters.openai_responses.stream import ResponsesStream

EVENTS = 2000
WORDS = [f" word{index}" for index in range(EVENTS)]


def sse(*events: dict[str, Any], done: bool = False) -> bytes:
    frames = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join([*frames, "data: [DONE]\n\n" if done else ""]).encode()


def chat() -> bytes:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in WORDS]
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return sse(*({**base, "choices": [delta]} for delta in [*deltas, last]), done=True)


def responses() -> bytes:
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed"}
    whole: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    part = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
    place = {"output_index": 0, "content_index": 0, "item_id": "i"}
    deltas = [
        {"type": "response.output_text.delta", **place, "delta": word, "sequence_number": index, "logprobs": []}
        for index, word in enumerate(WORDS)
    ]
    added: dict[str, Any] = {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**item, "content": []},
    }
    done = {"type": "response.completed", "response": {**whole, "output": [{**item, "content": [part]}]}}
    return sse({"type": "response.created", "response": {**whole, "output": []}}, added, *deltas, done)


def messages() -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    message |= {"content": [], "usage": usage, "stop_reason": None, "stop_sequence": None}
    deltas = [{"type": "text_delta", "text": word} for word in WORDS]
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    )


def gemini() -> bytes:
    said = [{"content": {"role": "model", "parts": [{"text": word}]}, "index": 0} for word in WORDS]
    last = {"content": {"role": "model", "parts": []}, "index": 0, "finishReason": "STOP"}
    return sse(*({"candidates": [each], "responseId": "r", "modelVersion": "m"} for each in [*said, last]))


def cohere() -> bytes:
    deltas = [{"message": {"content": {"text": word}}} for word in WORDS]
    begun = {"message": {"content": {"type": "text", "text": ""}}}
    return sse(
        {"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "content-start", "index": 0, "delta": begun},
        *({"type": "content-delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    )


def answering(family: Any, body: bytes) -> Any:
    answer = family.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    return family.Client(transport=family.MockTransport(lambda _: answer))


def official_chat(body: bytes) -> str:
    import openai

    with answering(httpx2, body) as http:
        client: Any = openai.OpenAI(api_key="k", http_client=http)
        chunks = client.chat.completions.create(model="m", messages=[], stream=True)
        return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def official_responses(body: bytes) -> str:
    import openai

    with answering(httpx2, body) as http:
        client: Any = openai.OpenAI(api_key="k", http_client=http)
        events = client.responses.create(model="m", input="x", stream=True)
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def official_messages(body: bytes) -> str:
    import anthropic

    with answering(httpx2, body) as http:
        client: Any = anthropic.Anthropic(api_key="k", http_client=http)
        asked = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
        with client.messages.stream(**asked) as events:
            return "".join(events.text_stream)


def official_gemini(body: bytes) -> str:
    from google.genai import Client, types

    with answering(httpx, body) as http:
        client: Any = Client(api_key="k", http_options=types.HttpOptions(httpx_client=http))
        chunks = client.models.generate_content_stream(model="m", contents="x")
        parts = (part for chunk in chunks for part in chunk.candidates[0].content.parts or ())
        return "".join(part.text or "" for part in parts)


def official_cohere(body: bytes) -> str:
    import cohere as sdk

    with answering(httpx, body) as http:
        client: Any = sdk.ClientV2(api_key="k", httpx_client=http)
        events = client.chat_stream(model="m", messages=[{"role": "user", "content": "x"}])
        return "".join(event.delta.message.content.text for event in events if event.type == "content-delta")


STREAMS: dict[str, tuple[Callable[[], bytes], Callable[[], Any], Callable[[bytes], str]]] = {
    "openai-chat": (chat, ChatStream, official_chat),
    "openai-responses": (responses, ResponsesStream, official_responses),
    "anthropic-messages": (messages, MessagesStream, official_messages),
    "gemini": (gemini, GeminiStream, official_gemini),
    "cohere-v2": (cohere, CohereStream, official_cohere),
}


def ours(open_stream: Callable[[], Any], body: bytes) -> str:
    decoder = open_stream()
    last = [*decoder.feed(body), *decoder.close()][-1]
    assert isinstance(last, Finished)
    return last.output.message.text


@pytest.mark.benchmark
def test_decoding_a_stream_of_2000_events_beside_the_official_sdk(
    machine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"\n{machine}", f"decoding a stream of {EVENTS} events, median ms of CPU:"]
    lines.append(f"{'protocol':20} {'ours':>7} {'official SDK':>13}")
    for protocol, (write, open_stream, official) in STREAMS.items():
        body = write()
        assert ours(open_stream, body) == official(body) == "".join(WORDS)
        rounds = [(_once(ours, open_stream, body), _once(official, body)) for _ in range(7)]
        mine, theirs = (statistics.median(times) for times in zip(*rounds, strict=True))
        lines.append(f"{protocol:20} {mine:7.1f} {theirs:13.1f}")
    with capsys.disabled():
        print("\n".join(lines))


def _once(work: Callable[..., Any], *given: Any) -> float:
    """Return the milliseconds of CPU that `work` takes."""
    gc.collect()
    started = process_time()
    work(*given)
    return (process_time() - started) * 1000
