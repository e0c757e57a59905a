"""The names of the protocol that both directions share."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PROTOCOL = "cohere-v2"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

TOOL_PLAN = "tool_plan"
"""The field of an assistant's message for what the model says to its calls, beside the content."""
PLANNED: Mapping[str, Any] = MappingProxyType({"type": TOOL_PLAN})
"""The `extra` of the text part that holds a tool plan."""
DOCUMENT = "document"
"""The type of the part that holds JSON data for the model to cite."""
