"""The name of the protocol, and the form that it demands of the id of a call."""

import re
from hashlib import sha256
from string import ascii_letters, digits

PROTOCOL = "mistral-chat"
"""The name under which `extra` and `ThinkingPart.provider` hold what belongs to this protocol."""

BRIDGE = "OK."
"""What stands between the result of a call and a user's message for a model that refuses the two side by side."""

_ID = re.compile(r"[a-zA-Z0-9]{9}")
_DIGITS = digits + ascii_letters


def sendable_id(call_id: str) -> str:
    """Return `call_id` in the form that the API takes: nine characters out of a-z, A-Z and 0-9.

    An id of this form stays. Any other becomes one of its digest, the same wherever it stands, so that a call and
    its result still meet. Only models with a tokenizer of version 13 or later take other ids (mistral-common
    1.13.1, ``MistralRequestValidatorV13``); the API refuses them for the others, with code 3280 ("Tool call id was
    … but must be a-z, A-Z, 0-9, with a length of 9"), for ``devstral-medium-2512`` still in September 2026
    (mistralai/mistral-vibe, issue 1075).
    """
    if _ID.fullmatch(call_id):
        return call_id
    number = int.from_bytes(sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8])
    made = ""
    while len(made) < 9:
        number, digit = divmod(number, len(_DIGITS))
        made += _DIGITS[digit]
    return made
