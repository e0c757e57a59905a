"""ModelInput: the thing that must arrive at the provider exactly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import Field

from copyfit.shapes.canonical import canonical_json, digest
from copyfit.shapes.growing import Growing
from copyfit.shapes.messages import LOCAL_FIELDS, Message, Shape
from copyfit.shapes.tools import ToolSpec


class ResponseSchema(Shape):
    """The form that the answer's text must have: a JSON Schema, and the `name` that some protocols give it."""

    json_schema: Mapping[str, Any]
    name: str = "answer"
    description: str | None = None
    strict: bool | None = None


class ModelSettings(Shape):
    """How the model shall answer; None leaves the choice to the provider."""

    max_output_tokens: int | None = Field(default=None, gt=0)
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tool_choice: str | None = None
    """``auto``, ``none``, ``required``, or the name of the one tool to call after ``tool:``."""
    parallel_tool_calls: bool | None = None
    response_schema: ResponseSchema | None = None
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Request fields of one wire protocol that copyfit does not model, keyed by the protocol's name."""


@dataclass(frozen=True)
class ModelInput:
    """One complete model input: system text, messages, tools and settings, in no provider's dialect."""

    system: str
    messages: tuple[Message, ...] | Growing[Message]
    tools: tuple[ToolSpec, ...] = ()
    settings: ModelSettings = field(default_factory=ModelSettings)

    def as_data(self) -> dict[str, Any]:
        """Return what the provider is meant to see as plain JSON data, without the fields that stay at home."""
        return {
            "system": self.system,
            "messages": [
                message.model_dump(mode="json", exclude=set(LOCAL_FIELDS), exclude_none=True)
                for message in self.messages
            ],
            "tools": [tool.model_dump(mode="json", exclude_none=True) for tool in self.tools],
            "settings": self.settings.model_dump(mode="json", exclude_none=True),
        }

    @cached_property
    def canonical_bytes(self) -> bytes:
        """The canonical JSON of `as_data`, in UTF-8."""
        return canonical_json(self.as_data())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of `canonical_bytes`, in hexadecimal."""
        return digest(self.canonical_bytes)
