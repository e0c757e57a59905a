"""The names of the generateContent protocol that both directions share, and what differs between its servers."""

from dataclasses import dataclass

PROTOCOL = "gemini"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

CARRIED = "part"
"""In a text part's extra: the whole wire part of a kind that has no shape."""
UNDER = "response_field"
"""In a tool message's extra: the field of the response that its text is; None when it is the JSON of the whole."""

OUTPUT = "output"
ERROR = "error"
"""The fields of a response in which a tool's text travels, as the API documents them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one of the servers wants its requests; reading takes both.

    `call_ids` says whether calls and results carry their ids. Vertex AI refuses a request with one ("Unknown name
    "id" at 'contents[1].parts[0].function_call'"); there, the results of one turn belong to its calls by name and
    order.
    """

    call_ids: bool = True


DEVELOPER = Dialect()
VERTEX = Dialect(call_ids=False)
