"""Read the JSON of one wire protocol: what must be there, and values that the shapes have a place for.

A value reader returns None for what has no place in the shapes; the field then stays whole in an `extra`.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from copyfit_adapters.codec.json_text import loads
from copyfit_adapters.errors import UnreadableRequest

DATA_URL = re.compile(r"data:([^;,]+);base64,([^:]*)")
"""A URL that holds base64 data and names its media type."""

_EXACT_INTEGERS = 2**53
"""Up to here every integer is also a float (IEEE 754), so that reading one as a temperature changes nothing."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads what `protocol` demands, and says by JSON path what is not there."""

    protocol: str

    def request(self, body: bytes) -> dict[str, Any]:
        """Return the object in a request `body`.

        Raises:
            UnreadableRequest: it is no JSON object in UTF-8.

        """
        try:
            value = loads(body.decode())
        except (ValueError, RecursionError) as e:
            raise UnreadableRequest(self.protocol, "the body", "is not JSON in UTF-8") from e
        return self.object(value, "$")

    def object(self, value: Any, where: str) -> dict[str, Any]:
        """Return `value` if it is a JSON object.

        Raises:
            UnreadableRequest: it is something else.

        """
        if not isinstance(value, dict):
            raise UnreadableRequest(self.protocol, where, "is not an object")
        return value

    def list(self, value: Any, where: str) -> list[Any]:
        """Return `value` if it is a list.

        Raises:
            UnreadableRequest: it is something else.

        """
        if not isinstance(value, list):
            raise UnreadableRequest(self.protocol, where, "is not a list")
        return value

    def text(self, value: Any, where: str) -> str:
        """Return `value` if it is a text.

        Raises:
            UnreadableRequest: it is something else.

        """
        if not isinstance(value, str):
            raise UnreadableRequest(self.protocol, where, "is not text")
        return value

    def extra(self, rest: Mapping[str, Any], **nested: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return `rest`, with what is left of each `nested` object, as the `extra` of a shape."""
        own = dict(rest) | {name: dict(inner) for name, inner in nested.items() if inner}
        return {self.protocol: own} if own else {}


def without(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return `fields` without those named."""
    return {name: value for name, value in fields.items() if name not in names}


def given_fields(body: Mapping[str, Any], outside: Collection[str], modelled: Collection[str]) -> dict[str, Any]:
    """Return the fields of a request that are not `outside` its settings; a null among the `modelled` is none."""
    return {
        name: value
        for name, value in body.items()
        if name not in outside and not (value is None and name in modelled)
    }


def take(fields: dict[str, Any], readers: Mapping[str, tuple[str, Callable[[Any], Any]]]) -> dict[str, Any]:
    """Take out of `fields` what has a place among the settings, and return it under its name there.

    `readers` give for each field its name in the settings and its reader.
    """
    settings: dict[str, Any] = {}
    for wire, (name, read) in readers.items():
        value = read(fields[wire]) if wire in fields else None
        if value is not None:
            settings[name] = value
            del fields[wire]
    return settings


def pop_text(fields: dict[str, Any], name: str) -> str | None:
    """Take a text out of `fields`; what is no text stays there, and a null is none."""
    value = fields.get(name)
    if value is None or isinstance(value, str):
        fields.pop(name, None)
        return value
    return None


def system_text(messages: list[Any], *roles: str) -> str | None:
    """Return the text of the first of the `messages` if it says that and its role, one of `roles`, and no more."""
    match messages:
        case [{"role": role, "content": content, **rest}, *_] if role in roles and not rest:
            match content:
                case str(text):
                    return text
                case [{"type": "text", "text": str(text), **inner}] if not inner:
                    return text
    return None


def split_system(messages: list[Any], *roles: str) -> tuple[str, list[tuple[str, Any]]]:
    """Return the `system_text`, empty where there is none, and every other message behind its JSON path."""
    system = system_text(messages, *roles)
    others = [(f"$.messages[{index}]", message) for index, message in enumerate(messages)]
    return system or "", others if system is None else others[1:]


def positive(value: Any) -> int | None:
    """Return a whole number above 0, such as a cap in tokens."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def integer(value: Any) -> int | None:
    """Return a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def real(value: Any) -> float | None:
    """Return a number that a float holds exactly."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isinstance(value, float) or abs(value) <= _EXACT_INTEGERS else None


def boolean(value: Any) -> bool | None:
    """Return true or false."""
    return value if isinstance(value, bool) else None


def string(value: Any) -> str | None:
    """Return a text."""
    return value if isinstance(value, str) else None


def texts(value: Any) -> tuple[str, ...] | None:
    """Return a list of texts."""
    whole = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    return tuple(value) if whole else None


def text_or_texts(value: Any) -> tuple[str, ...] | None:
    """Return a list of texts, of which there may be only one without a list."""
    return (value,) if isinstance(value, str) else texts(value)
