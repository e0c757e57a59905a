"""The names of the Converse protocol that both directions share."""

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
