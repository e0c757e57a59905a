"""The names under which tool outputs are kept."""

import hashlib
import re

from copyfit.errors import ToolOutputError

_DIGITS = 16
"""Hexadecimal digits of a ref (behaviour.md section 16.4)."""
_SHAPE = re.compile(r"tool-output-[0-9a-f]+")


def ref_for(text: str, *, session: str, tool_name: str, salt: int = 0) -> str:
    """Return the ref of an output: a digest of what it is, so that a replayed run gets the refs of the first.

    `salt` counts the other outputs that happened to have the same ref.
    """
    facts = hashlib.sha256()
    for fact in (session, tool_name, str(salt), text):
        data = fact.encode("utf-8", "surrogatepass")
        facts.update(len(data).to_bytes(8, "big"))
        facts.update(data)
    return f"tool-output-{facts.hexdigest()[:_DIGITS]}"


def check_ref(ref: str) -> None:
    """Let a well-formed `ref` pass.

    Raises:
        ToolOutputError: `ref` is not the name of a stored output.

    """
    if not _SHAPE.fullmatch(ref):
        raise ToolOutputError(
            ref, f"Unknown tool output ref {ref!r}; give one as it stands in a tool result, tool-output-<hex>."
        )


def no_longer_available(ref: str) -> ToolOutputError:
    """Return the error that nothing is kept under `ref`."""
    return ToolOutputError(ref, f"The tool output {ref} is no longer available; run its tool again.")
