"""What `encode` writes, `readback` reads: nothing is lost but what is declared."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.shapes.canonical import canonical_json
from copyfit.shapes.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings
from copyfit_adapters.codec.losses import without_losses
from copyfit_adapters.openai_responses.decode import decode
from copyfit_adapters.openai_responses.dialect import CACHE_MARK, CONTINUES, ITEM, PROTOCOL
from copyfit_adapters.openai_responses.encode import encode
from copyfit_adapters.openai_responses.losses import LOSSES
from copyfit_adapters.openai_responses.readback import readback
from copyfit_adapters.openai_responses.stream import ResponsesStream
from copyfit_harness.conformance.codec import Codec, CodecConformance
from copyfit_harness.conformance.inputs import JSON, TEXTS, InputStrategies, extras, files, images

NAMES = (CACHE_MARK, "x_note", "status", "phase")
AROUND = (ITEM, ("id", "status", "phase"))
PLAIN = extras(PROTOCOL, *NAMES)
SAID = extras(PROTOCOL, *NAMES, nested=dict([AROUND]))
NOTES = st.dictionaries(st.sampled_from(["id", "status", "action"]), JSON, max_size=2)
CARRIED_ITEMS = NOTES.map(lambda notes: TextPart(text="", extra={PROTOCOL: {"type": "web_search_call"} | notes}))
CARRIED_PARTS = st.builds(
    lambda text, around: TextPart(text="", extra={PROTOCOL: {"type": "refusal", "refusal": text, ITEM: around}}),
    TEXTS,
    NOTES,
)
REASONING = st.builds(
    ThinkingPart,
    text=TEXTS,
    signature=st.none() | TEXTS,
    provider=st.sampled_from([PROTOCOL, "anthropic-messages"]),
    opaque=st.dictionaries(st.sampled_from(["id", "status", "x_note"]), JSON, max_size=2),
)
STRUCTURED = st.builds(
    lambda texts: ThinkingPart(
        text="\n\n".join(texts),
        provider=PROTOCOL,
        opaque={"id": "rs_1", "content": [{"type": "reasoning_text", "text": text} for text in texts]},
    ),
    st.lists(TEXTS, max_size=3),
)


class Strategies(InputStrategies):
    """Adds users whose message item has fields of its own; what an assistant said has none as a whole."""

    def messages(self) -> st.SearchStrategy[Message]:
        content = TEXTS | st.lists(self.said, max_size=3).map(tuple)
        return super().messages() | st.builds(UserMessage, content=content, extra=PLAIN)


STRATEGIES = Strategies(
    said=st.builds(TextPart, text=TEXTS, extra=SAID) | CARRIED_ITEMS | CARRIED_PARTS | images(SAID) | files(SAID),
    thought=REASONING | STRUCTURED,
    message_extra=st.sampled_from([{}, {"x-other": {"a": 1}}]),
    tool_message_extra=PLAIN,
    call_extra=extras(PROTOCOL, "id", "status", "x_note"),
    tool_extra=PLAIN,
    settings_extra=extras(PROTOCOL, "x_note", "store", "include", "reasoning", nested={"text": ("verbosity",)}),
)
STREAM: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}},
    {"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}},
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {"type": "message", "id": "m", "content": []},
    },
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Hé"},
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "l\u2028lo\U0001f600"},
    {
        "type": "response.completed",
        "response": {
            "id": "r",
            "status": "completed",
            "output": [
                {"type": "reasoning", "id": "rs"},
                {
                    "type": "message",
                    "id": "m",
                    "content": [{"type": "output_text", "text": "Hél\u2028lo\U0001f600"}],
                },
            ],
        },
    },
]


class TestOpenAIResponses(CodecConformance):
    codec = Codec(
        encode=lambda model_input: encode(model_input, "m").body,
        readback=readback,
        losses=LOSSES,
        decode=decode,
        open_stream=ResponsesStream,
        marking=lambda model_input: encode(model_input, "m", cache="30m").body,
    )
    strategies = STRATEGIES
    needs = {
        "foreign-extra": ModelInput("", (UserMessage(content="x", extra={"openai-chat": {"a": 1}}),)),
        "cache-marks": ModelInput("", (UserMessage(content="x"),)),
        "names": ModelInput("", (UserMessage(content="x", name="ann"),)),
        "tool-error-flag": ModelInput("", (ToolMessage(call_id="c", content="x", is_error=True),)),
        "seed": ModelInput("", (), settings=ModelSettings(seed=1)),
        "stop": ModelInput("", (), settings=ModelSettings(stop=("END",))),
        "stateless": ModelInput("", ()),
        "foreign-thinking": ModelInput(
            "", (AssistantMessage(content=(ThinkingPart(text="t", provider="openai-chat"), TextPart(text="x"))),)
        ),
        "arguments-text": ModelInput(
            "", (AssistantMessage(content=(ToolCall(id="c", name="f", arguments='{"a'),)),)
        ),
        "closing-thinking": ModelInput(
            "", (AssistantMessage(content=(TextPart(text="x"), ThinkingPart(text="t", provider=PROTOCOL))),)
        ),
        "image-detail": ModelInput("", (UserMessage(content=(ImagePart(url="https://a/b.png"),)),)),
        "media-type": ModelInput(
            "", (UserMessage(content=(ImagePart(url="https://a/b.png", media_type="image/png"),)),)
        ),
        "data-url": ModelInput("", (UserMessage(content=(ImagePart(url="data:image/png;base64,QUJD"),)),)),
        "neighbours": ModelInput("", (AssistantMessage(content="x"), AssistantMessage(content="y"))),
        "text-form": ModelInput("", (UserMessage(content=(TextPart(text="x"),)), UserMessage(content="y"))),
        "surrogate-pairs": ModelInput("", (UserMessage(content="\ud83d\ude00"),)),
    }
    answer = (
        b'{"status":"completed","output":[{"type":"message","role":"assistant",'
        b'"content":[{"type":"output_text","text":"Hello."}]}]}'
    )
    stream = b"".join(
        f"event: {chunk['type']}\ndata: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in STREAM
    )
    stream_text = "Hél\u2028lo\U0001f600"


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=2, max_size=4), NOTES)
def test_the_parts_of_one_message_item_stay_in_one_item(texts: list[str], around: dict[str, Any]) -> None:
    own = [{ITEM: around} if around else {}] + [{CONTINUES: True}] * (len(texts) - 1)
    parts = tuple(
        TextPart(text=text, extra={PROTOCOL: fields} if fields else {})
        for text, fields in zip(texts, own, strict=True)
    )
    said = ModelInput("", (AssistantMessage(content=(*parts, ToolCall(id="c", name="f"), TextPart(text="z"))),))
    body = encode(said, "m").body
    assert [len(item.get("content", "")) for item in json.loads(body)["input"]] == [len(texts), 0, 1]
    kept, gone = (without_losses(found.as_data(), LOSSES) for found in (said, readback(body)))
    assert canonical_json(kept) == canonical_json(gone)
