"""What the model is told about a tool."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from copyfit.shapes.messages import Shape


class ToolSpec(Shape):
    """A tool's name, purpose and JSON Schema of its arguments, as the model sees them."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool | None = None
    extra: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    """Fields of one wire protocol that copyfit does not model, keyed by the protocol's name."""
