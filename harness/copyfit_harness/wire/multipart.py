"""Read a multipart body into its parts, so that two bodies compare without their random boundaries."""

from dataclasses import dataclass
from email.message import Message


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its header lines as written, sorted, names in lower case; and its content."""

    headers: tuple[tuple[str, str], ...]
    content: bytes


def parts_of(body: bytes, content_type: str) -> tuple[Part, ...]:
    """Return the parts of a multipart `body` in order, cut by the boundary that `content_type` names.

    Raises:
        ValueError: no boundary is named, or the body is not cut by it as RFC 2046 says.

    """
    boundary = _boundary(content_type)
    # Every delimiter begins on a line of its own; the first may be the first line of the body.
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1"))
    if len(pieces) < 2 or pieces[-1].rstrip(b" \t\r\n") != b"--":
        raise ValueError("The body does not end with its closing boundary.")
    return tuple(_part(piece) for piece in pieces[1:-1])


def _boundary(content_type: str) -> str:
    message = Message()
    message["content-type"] = content_type
    boundary = message.get_boundary()
    if not boundary:
        raise ValueError("The content type names no boundary.")
    return boundary


def _part(piece: bytes) -> Part:
    padding, first_break, rest = piece.partition(b"\r\n")
    # A part without headers has its blank line right after the delimiter.
    head, blank_line, content = (b"\r\n" + rest).partition(b"\r\n\r\n")
    if padding.strip(b" \t") or not first_break or not blank_line:
        raise ValueError("A part has no blank line after its headers.")
    headers = []
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if line:
            headers.append((name.strip().lower(), value.strip()))
    return Part(tuple(sorted(headers)), content)
