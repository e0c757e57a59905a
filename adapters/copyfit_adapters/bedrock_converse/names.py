"""Give each document of a request the name that the API demands: of few characters, and of no other document.

The first document of a name keeps it, so that a longer history changes no name in the shorter one.
"""

import re
from collections.abc import Sequence

from copyfit.shapes.messages import FilePart, Message
from copyfit_adapters.bedrock_converse.media import DOCUMENT_TYPES

MAX_NAME = 200
"""Code points; the API's limit."""
NEUTRAL = "document"
"""The name of a document that has none; AWS advises a neutral one, for a model may take it as an instruction."""

_ALLOWED = re.compile(r"[A-Za-z0-9()\[\]-]+(?: [A-Za-z0-9()\[\]-]+)*")
_FOREIGN = re.compile(r"[^A-Za-z0-9()\[\]\s-]+")
_ENDING = re.compile(rf"\.(?:{'|'.join(DOCUMENT_TYPES)})\Z", re.IGNORECASE)
_ROOM_FOR_NUMBER = 10


class DocumentNames:
    """The names of one request's documents, given out in their order."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, filename: str | None) -> str:
        """Return the name of the next document: `filename` as far as it is allowed, numbered where it is taken."""
        name = allowed_name(filename)
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name[: MAX_NAME - _ROOM_FOR_NUMBER].rstrip()} {number}"
        self._taken.add(found)
        return found


def allowed_name(filename: str | None) -> str:
    """Return the name that the API allows for a file called `filename`; an allowed one stays as it is.

    The ending goes where the format says the same, and each other character that is not allowed is a hyphen.
    """
    if filename is None:
        return NEUTRAL
    if len(filename) <= MAX_NAME and _ALLOWED.fullmatch(filename):
        return filename
    words = _FOREIGN.sub("-", _ENDING.sub("", filename)).split()
    return " ".join(words)[:MAX_NAME].strip(" -") or NEUTRAL


def renamed(messages: Sequence[Message]) -> dict[int, Message]:
    """Return by number the messages that say a name again, each with the names that its documents travel under."""
    names = DocumentNames()
    found: dict[int, Message] = {}
    for index, message in enumerate(messages):
        if isinstance(message.content, str):
            continue
        given = {at: part for at, part in enumerate(message.content) if isinstance(part, FilePart)}
        taken = {at: names.take(part.filename) for at, part in given.items()}
        if any(taken[at] != allowed_name(part.filename) for at, part in given.items()):
            content = tuple(
                part.model_copy(update={"filename": taken[at]}) if at in taken else part
                for at, part in enumerate(message.content)
            )
            found[index] = message.model_copy(update={"content": content})
    return found
