"""What makes a server one of a protocol: where it is asked, how it answers, and its words for too long an input.

Functions that are pure: the same answer under the same heading is the same bytes.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from copyfit_harness.scripted.chat_replies import PIECE_CHARS, Heading, Refuse, Say, dumped

SEAL: Final = b64encode(bytes(range(200, 232)) * 2).decode()
"""What seals the reasoning of a model: a signature, or the reasoning itself, encrypted. It goes back unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLong:
    """A refusal of `requested` tokens by a server whose window has `limit`; some servers name neither."""

    requested: int
    limit: int


@dataclass(frozen=True, slots=True)
class FillsUp:
    """A stream that breaks off for length after `text`."""

    text: str


Line = Say | TooLong | FillsUp
"""What a script has a server say, in no protocol's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """One protocol, as its servers speak it.

    Args:
        path: matches the end of the path at which a whole answer is asked for.
        stream_path: the same of a streamed one; None where the body's ``stream`` says what is asked for.
        streams_unasked: whether a body without ``stream`` asks for one.
        media_type: of a stream.
        whole: the JSON object of an answer.
        stream: the chunks of a streamed answer.
        refuse: the status and the JSON object that refuse an input of so many tokens for a limit of so many.
        fill_up: the chunks of a stream that breaks off for length.

    """

    path: re.Pattern[str]
    stream_path: re.Pattern[str] | None = None
    streams_unasked: bool = False
    media_type: str = "text/event-stream"
    whole: Callable[[Say, Heading], Mapping[str, Any]]
    stream: Callable[[Say, Heading], Iterator[bytes]]
    refuse: Callable[[TooLong], Refuse]
    fill_up: Callable[[FillsUp, Heading], Iterator[bytes]]

    def asked_for_stream(self, path: str, fields: Mapping[str, Any]) -> bool | None:
        """Return whether the request asks for a stream, or None if its `path` is none of the protocol's."""
        if self.stream_path is not None and self.stream_path.search(path):
            return True
        if not self.path.search(path):
            return None
        return self.stream_path is None and bool(fields.get("stream", self.streams_unasked))


def event(value: Mapping[str, Any], *, kind: str = "") -> bytes:
    """Return `value` as one server-sent event, which names its `kind` if there is one."""
    named = f"event: {kind}\n".encode() if kind else b""
    return named + b"data: " + dumped(value) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """Yield `text` in the pieces in which a stream brings it."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]
