"""The names and numbers of the Converse protocol that both directions share."""

import re

from copyfit_adapters.codec import call_ids

PROTOCOL = "bedrock-converse"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

MARK = "cachePoint"
"""The block behind which a prefix ends that the provider shall cache; it is no part of what the model sees."""

KINDS = frozenset(
    {
        "text",
        "image",
        "document",
        "video",
        "audio",
        "toolUse",
        "toolResult",
        "json",
        "guardContent",
        "reasoningContent",
        "citationsContent",
        "searchResult",
        "toolAddition",
        "toolRemoval",
        MARK,
    }
)
"""The members of a content block, of which each block has one; from botocore 1.44's model of the service."""

MAX_MARKS = 4
"""Marks for the cache in one request; the API refuses a fifth."""

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def sendable_id(call_id: str) -> str:
    """Return `call_id` in the form that the API takes, which is in botocore 1.44's model of the service."""
    return call_ids.sendable_id(call_id, _ID)
