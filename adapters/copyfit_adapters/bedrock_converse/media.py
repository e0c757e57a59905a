"""The formats of images and documents that the protocol names, and the media types that they stand for.

The formats are those of botocore 1.44's model of the service.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

IMAGE_TYPES: Mapping[str, str] = MappingProxyType(
    {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
)
DOCUMENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    }
)
STORED = "s3://"
"""How the only addresses begin that the protocol has a form for."""

_OTHER_TYPES: Mapping[str, str] = MappingProxyType(
    {"image/jpg": "jpeg", "application/csv": "csv", "text/x-markdown": "md"}
)
_OTHER_ENDINGS: Mapping[str, str] = MappingProxyType({"jpg": "jpeg", "htm": "html", "markdown": "md"})


def format_of(kind: str, media_type: str | None, url: str | None) -> str | None:
    """Return the format of an ``image`` or a ``file`` by its media type, or else by the end of its address.

    A text of a type that has no format of its own is plain text. None where there is no format.
    """
    known = _types(kind)
    if media_type is None:
        ending = (url or "").rpartition(".")[2].lower()
        found: str | None = _OTHER_ENDINGS.get(ending, ending)
    else:
        bare = media_type.partition(";")[0].strip().lower()
        other = _OTHER_TYPES.get(bare, "txt" if bare.startswith("text/") else None)
        found = next((name for name, word in known.items() if word == bare), other)
    return found if found in known else None


def media_type_of(kind: str, part: Mapping[str, Any]) -> str | None:
    """Return the media type of the format in which an image or a file `part`, as plain data, travels."""
    found = format_of(kind, part.get("media_type"), part.get("url"))
    return None if found is None else _types(kind)[found]


def _types(kind: str) -> Mapping[str, str]:
    return IMAGE_TYPES if kind == "image" else DOCUMENT_TYPES
