"""Strategies for model inputs of every kind, for hypothesis: odd texts, every part, extras of one's own.

A codec that has no form for something, and so refuses it, is given strategies without it: in the fields of
`InputStrategies`, or in a subclass whose `messages` maps what it draws.
"""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from copyfit.shapes.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    Origin,
    ThinkingPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from copyfit.shapes.model_input import ModelInput, ModelSettings, ResponseSchema
from copyfit.shapes.tools import ToolSpec

Extras = st.SearchStrategy[dict[str, dict[str, Any]]]

TEXTS = st.one_of(
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs", "Lo", "So", "Cc"]), max_size=6),
    st.sampled_from(
        ["", "null", "data:text/plain;base64,QUJD", '{"role":"system"}', "\ud83d\ude00", "\ude00\ud83d"]
    ),
)
"""Texts with lone surrogates, halves of pairs, control characters, and things that look like JSON or a URL."""
KEYS = st.text(max_size=12)
"""Without lone surrogates: pydantic's dump of a JSON value refuses them in keys, so `as_data` has none."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)
ARGUMENTS = TEXTS | OBJECTS.map(lambda value: json.dumps(value, indent=1))
"""Arguments of a call: objects with spacing of their own, and texts that are no object."""
MEDIA_TYPES = st.sampled_from(["image/png", "application/pdf", "text/plain", "text/plain;charset=utf-8", ""])
DATA = st.binary(max_size=9).map(lambda data: b64encode(data).decode())
URLS = TEXTS | st.sampled_from(["https://a/b.png", "data:image/png;base64,QUJD", "data:,x"])
CHOICES = st.sampled_from([None, "auto", "none", "required"]) | TEXTS.map("tool:{}".format)
STOPS: st.SearchStrategy[tuple[str, ...]] = st.lists(TEXTS, max_size=2).map(tuple)
SCHEMAS = st.none() | st.builds(
    ResponseSchema,
    json_schema=OBJECTS,
    name=TEXTS,
    description=st.none() | TEXTS,
    strict=st.none() | st.booleans(),
)


def extras(protocol: str, *names: str, nested: Mapping[str, tuple[str, ...]] | None = None) -> Extras:
    """Return the strategy of an `extra` with fields called `names` under `protocol` and under another protocol.

    `nested` adds objects with fields of their own, by the object's name.
    """
    own = st.dictionaries(st.sampled_from(names), JSON, max_size=2)
    inside = {
        name: st.dictionaries(st.sampled_from(inner), JSON, min_size=1, max_size=2)
        for name, inner in (nested or {}).items()
    }
    mine = st.builds(lambda flat, deep: flat | deep, own, st.fixed_dictionaries({}, optional=inside))
    return st.fixed_dictionaries({}, optional={protocol: mine, "x-other": own})


def thinking(protocol: str) -> st.SearchStrategy[ThinkingPart]:
    """Return the strategy of reasoning that `protocol` made, with and without a signature, and of foreign one."""
    return st.builds(
        ThinkingPart,
        text=TEXTS,
        signature=st.none() | TEXTS,
        provider=st.sampled_from([protocol, "x-other"]),
        opaque=st.just({}),
    )


def images(extra: Extras) -> st.SearchStrategy[ImagePart]:
    """Return the strategy of images by URL and as data."""
    detail = st.none() | TEXTS
    return st.one_of(
        st.builds(ImagePart, url=URLS, media_type=st.none() | MEDIA_TYPES, detail=detail, extra=extra),
        st.builds(ImagePart, data=DATA, media_type=MEDIA_TYPES, detail=detail, extra=extra),
    )


def files(extra: Extras) -> st.SearchStrategy[FilePart]:
    """Return the strategy of files by id, by URL and as data."""
    name = st.none() | TEXTS
    return st.one_of(
        st.builds(FilePart, file_id=TEXTS, media_type=st.none() | MEDIA_TYPES, filename=name, extra=extra),
        st.builds(FilePart, data=DATA, media_type=MEDIA_TYPES, filename=name, extra=extra),
        st.builds(FilePart, url=URLS, media_type=st.none() | MEDIA_TYPES, filename=name, extra=extra),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InputStrategies:
    """What model inputs are drawn from: parts, and the extras of messages, calls, tools and settings.

    `said` are the parts that every message can have, `thought` the reasoning of an assistant. `choices`, `stops`
    and `schemas` are the settings `tool_choice`, `stop` and `response_schema`, which a codec may refuse.
    """

    said: st.SearchStrategy[Any]
    thought: st.SearchStrategy[ThinkingPart]
    arguments: st.SearchStrategy[str] = ARGUMENTS
    message_extra: Extras
    tool_message_extra: Extras
    call_extra: Extras
    tool_extra: Extras
    settings_extra: Extras
    call_ids: st.SearchStrategy[str] = TEXTS
    tool_names: st.SearchStrategy[str | None] = st.none() | TEXTS
    parameters: st.SearchStrategy[dict[str, Any]] = OBJECTS
    choices: st.SearchStrategy[str | None] = CHOICES
    stops: st.SearchStrategy[tuple[str, ...]] = STOPS
    schemas: st.SearchStrategy[ResponseSchema | None] = SCHEMAS

    def messages(self) -> st.SearchStrategy[Message]:
        """Return the strategy of messages under every role."""
        # A composite, for the repr of the whole strategy is too long for an error to show.
        said = st.deferred(lambda: self.said)
        content = TEXTS | st.lists(said, max_size=3).map(tuple)
        calls = st.builds(ToolCall, id=self.call_ids, name=TEXTS, arguments=self.arguments, extra=self.call_extra)
        parts = st.lists(said | self.thought | calls, max_size=5).map(tuple)
        name = st.none() | TEXTS
        extra = self.message_extra
        return st.one_of(
            st.builds(UserMessage, content=content, name=name, extra=extra, origin=st.sampled_from(list(Origin))),
            st.builds(AssistantMessage, content=TEXTS | parts, name=name, extra=extra),
            st.builds(
                ToolMessage,
                call_id=self.call_ids,
                content=content,
                name=self.tool_names,
                is_error=st.booleans(),
                projected=st.booleans(),
                extra=self.tool_message_extra,
            ),
        )

    def model_inputs(self) -> st.SearchStrategy[ModelInput]:
        """Return the strategy of whole model inputs."""
        rates = st.none() | st.floats(min_value=-2, max_value=2)
        optional = st.none() | st.booleans()
        tools = st.builds(
            ToolSpec,
            name=TEXTS,
            description=TEXTS,
            parameters=self.parameters,
            strict=optional,
            extra=self.tool_extra,
        )
        settings = st.builds(
            ModelSettings,
            max_output_tokens=st.none() | st.integers(min_value=1),
            temperature=rates,
            top_p=rates,
            seed=st.none() | st.integers(),
            stop=self.stops,
            tool_choice=self.choices,
            parallel_tool_calls=optional,
            response_schema=self.schemas,
            extra=self.settings_extra,
        )
        return st.builds(
            ModelInput,
            system=TEXTS,
            messages=st.lists(self.messages(), max_size=4).map(tuple),
            tools=st.lists(tools, max_size=2).map(tuple),
            settings=settings,
        )
