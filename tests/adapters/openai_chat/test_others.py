"""What others really sent and received: public cassettes of a dozen servers, beside the official SDK."""

import json
from typing import Any

import pytest

from copyfit.errors import ProviderError
from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import ThinkingPart, ToolCall
from copyfit.shapes.model_output import Finished, ModelOutput
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.openai_chat.decode import decode
from copyfit_adapters.openai_chat.dialect import THINKING_FIELDS
from copyfit_adapters.openai_chat.encode import encode
from copyfit_adapters.openai_chat.losses import LOSSES
from copyfit_adapters.openai_chat.readback import readback
from copyfit_adapters.openai_chat.stream import ChatStream

SERVERS = (
    "azure-ai chat",
    "azure-openai chat",
    "cerebras chat",
    "deepseek chat",
    "gemini chat",
    "groq chat",
    "huggingface ",
    "openai chat",
    "openrouter chat",
    "snowflake chat",
    "together chat",
    "writer chat-v1",
    "xai chat",
    "zai chat",
)


def spoken(recording: Any) -> list[Any]:
    return [each for each in recording if each.sent.startswith(b"{") and b'"messages"' in each.sent]


def streamed(body: bytes) -> ModelOutput:
    stream = ChatStream()
    *_, last = [*stream.feed(body), *stream.close()]
    assert isinstance(last, Finished)
    return last.output


def official(body: bytes) -> dict[str, Any]:
    """Return the first choice, usage and id of a whole answer as the official SDK's types read it."""
    from openai.types.chat import ChatCompletion

    return dict(ChatCompletion.model_validate_json(body).model_dump())


def official_stream(body: bytes) -> tuple[str, list[list[str]], str | None, dict[str, Any] | None]:
    """Return text, calls, finish reason and usage that the official SDK's chunks add up to."""
    import httpx2
    import openai

    answer = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)
    text, calls, finish, usage = "", dict[int, list[str]](), None, None
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as http,
        openai.OpenAI(api_key="k", http_client=http) as client,
    ):
        for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
            usage = chunk.usage.model_dump() if chunk.usage else usage
            for choice in chunk.choices[:1]:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
                for call in choice.delta.tool_calls or ():
                    held = calls.setdefault(call.index, ["", "", ""])
                    held[0] = held[0] or call.id or ""
                    held[1] += (call.function and call.function.name) or ""
                    held[2] += (call.function and call.function.arguments) or ""
    return text, [[*named, arguments or "{}"] for *named, arguments in calls.values()], finish, usage


def calls_of(output: ModelOutput) -> list[list[str]]:
    return [[part.id, part.name, part.arguments] for part in output.message.parts if isinstance(part, ToolCall)]


@pytest.mark.recorded(*SERVERS)
def test_a_recorded_request_reads_back_and_goes_out_again_but_for_declared_losses(recording: Any) -> None:
    for each in spoken(recording):
        read = readback(each.sent)
        again = readback(encode(read, json.loads(each.sent).get("model", "m")).body)
        kept, gone = (without_losses(found.as_data(), LOSSES) for found in (read, again))
        assert canonical_json(kept) == canonical_json(gone)


@pytest.mark.recorded(*SERVERS)
def test_a_recorded_answer_says_to_us_what_it_says_to_the_official_sdk(recording: Any) -> None:
    for each in spoken(recording):
        if each.status >= 400:
            with pytest.raises(ProviderError):
                decode(each.status, each.answer)
            continue
        if each.streamed:
            ours = streamed(each.answer)
            text, calls, finish, usage = official_stream(each.answer)
        else:
            ours, theirs = decode(each.status, each.answer), official(each.answer)
            said, usage = theirs["choices"][0]["message"], theirs["usage"]
            text, finish = said["content"] or "", theirs["choices"][0]["finish_reason"]
            found = [call["function"] | {"id": call["id"]} for call in said["tool_calls"] or ()]
            calls = [[call["id"], call["name"], call["arguments"]] for call in found]
            thoughts = next((said[name] for name in THINKING_FIELDS if said.get(name)), "")
            ours_thought = "".join(part.text for part in ours.message.parts if isinstance(part, ThinkingPart))
            assert ours_thought == thoughts
        # Gemini's compatible endpoint gives calls no id; ours are told in test_decode.
        calls = [[call[0] or own[0], *call[1:]] for call, own in zip(calls, calls_of(ours), strict=True)]
        assert (ours.message.text, calls_of(ours), ours.raw_finish_reason) == (text, calls, finish)
        counted = usage or {"prompt_tokens": None, "completion_tokens": None}
        assert ours.usage.input_tokens == counted["prompt_tokens"]
        assert ours.usage.output_tokens == counted["completion_tokens"]


@pytest.mark.captured("*.chat*.json", "litellm-*.chat*.json")
def test_a_captured_answer_decodes_or_is_a_typed_error(capture: Any) -> None:
    try:
        output = streamed(capture.answer) if capture.streamed else decode(capture.status, capture.answer)
    except ProviderError:
        return
    assert capture.status == 200
    assert output.message.content or output.message.tool_calls or output.raw_finish_reason
