"""Read OLLAMA_HOST, which says where the user's Ollama is."""

import os
from dataclasses import replace
from urllib.parse import urlsplit

from copyfit.errors import SettingsError
from copyfit_adapters.auth import Home

VARIABLE = "OLLAMA_HOST"
_ALLOWED = "a host, a host and port, or an http or https address without a query"


def at_named_host(home: Home) -> Home:
    """Return `home` at the address that OLLAMA_HOST names, or as it is where the variable is not set.

    The variable is read as Ollama's own clients read it: a host without a scheme is http at the home's port. The
    home's key belongs to that address too, for the user named both.

    Raises:
        SettingsError: the variable holds no such address.

    """
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return home
    own = urlsplit(home.url)
    try:
        parts = urlsplit(named if "://" in named else f"http://{named}")
        port = parts.port or (None if "://" in named else own.port)
    except ValueError as e:
        raise SettingsError(VARIABLE, _shown(named), _ALLOWED) from e
    whole = parts.scheme in ("http", "https") and parts.hostname
    if not whole or parts.query or parts.fragment or "@" in parts.netloc:
        raise SettingsError(VARIABLE, _shown(named), _ALLOWED)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    at = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
    return replace(home, url=at + parts.path.rstrip("/") + own.path)


def _shown(named: str) -> str:
    return "[masked]" if "@" in named or "?" in named else named
