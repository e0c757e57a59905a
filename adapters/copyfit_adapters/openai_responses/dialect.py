"""The names and numbers of the Responses protocol that both directions share."""

from collections.abc import Mapping
from typing import Any

PROTOCOL = "openai-responses"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

ITEM = "$item"
"""In the extra of an assistant's part: the fields of the message item around it, such as its id and status."""

CONTINUES = "$continues"
"""In the extra of an assistant's part: true where it stands in the same message item as the part before it."""

CACHE_MARK = "prompt_cache_breakpoint"
"""The field of a content part that ends a prefix for the provider's cache."""

STATELESS: Mapping[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}
"""What a request says where the settings do not: keep nothing, and give me the reasoning to send back myself."""
