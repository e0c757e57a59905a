"""One canonical JSON text for any JSON value, and its digest."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> bytes:
    """Return the one JSON text of `value`: sorted keys, no blanks, UTF-8.

    Integers of any size and the difference between ``1`` and ``1.0`` survive. Non-ASCII text is written as
    itself; only a text that holds a lone surrogate, which UTF-8 cannot carry, is written with escapes.

    Raises:
        TypeError: `value` holds something that JSON has no form for.
        ValueError: `value` holds NaN or an infinity.

    """
    options: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "allow_nan": False}
    try:
        return json.dumps(value, ensure_ascii=False, **options).encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, **options).encode()


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
