"""Take the authority out of text that comes from outside, such as a fetched page.

A page may carry a forged ``<system-reminder>``, an envelope of ours, or a line that pretends to end the user's
input. Such tags lose their angle bracket and such lines their dashes; everything else stays as it is. The output
of local tools is left alone, for code and logs may well speak of a ``<system>``.
"""

import re
from functools import cache
from typing import Final

from copyfit.contributors.authority import escape_body

AUTHORITY_TAGS: Final = (
    "available_skills",
    "developer",
    "instruction",
    "instructions",
    "system",
    "systemreminder",
    "system_reminder",
)
"""Tags that models are trained or told to obey, besides our own envelopes; dashes in a tag do not matter."""

_BOUNDARY: Final = re.compile(
    r"(?<!-)-{2,}+\s*+((?:BEGIN|END)\s++(?:OF\s++)?(?:USER|SYSTEM)\s++(?:INPUT|MESSAGE|PROMPT))\s*+-{2,}+",
    re.IGNORECASE,
)


def neutralize(text: str) -> str:
    """Return `text` without anything that reads as a tag of authority or as a boundary of the user's input."""
    inert = _BOUNDARY.sub(r"[\1]", escape_body(text))
    return _tags().sub(lambda found: f"&#x{ord(found[0]):x};", inert)


@cache
def _tags() -> re.Pattern[str]:
    """Return the pattern of a bracket that such a tag follows, with dashes, blanks or invisible letters strewn in.

    The repeats are possessive, so that a hostile page costs linear time.
    """
    brackets = "<\uff1c\ufe64"
    strewn = f"[^a-z0-9_{brackets}]*+"
    names = "|".join(strewn.join(tag) for tag in AUTHORITY_TAGS)
    return re.compile(f"[{brackets}](?={strewn}(?:{names})(?![a-z0-9_]))", re.IGNORECASE)
