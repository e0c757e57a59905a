"""The names of the generateContent protocol that both directions share, and what differs between its servers."""

from dataclasses import dataclass

PROTOCOL = "gemini"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

CARRIED = "part"
"""In a text part's extra: the whole wire part of a kind that has no shape."""
UNDER = "response_field"
"""In a tool message's extra: the field of the response that its text is; None when it is the JSON of the whole."""

SIGNATURE = "thoughtSignature"
"""The field of a part that seals the thinking behind it."""
UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The signature of a call without one: ``skip_thought_signature_validator`` in base64, for a signature is bytes.

Gemini 3 signs the first call of each of its contents, and refuses a history where that signature is missing. This
one is what both of Google's APIs document for calls that another model made, or nobody
(ai.google.dev/gemini-api/docs/thought-signatures, under FAQs).
"""

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
