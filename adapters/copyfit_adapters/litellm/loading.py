"""Import litellm when it is first needed, from its own files alone and without what it prints."""

import importlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from copyfit_adapters.errors import MissingExtra

OWN_FILES: Mapping[str, str] = MappingProxyType(
    {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True"}
)
"""Variables that make litellm read its tables of models and of beta headers from its wheel, not from the web."""

# Two threads that load at once would each restore the environment that the other one set.
_LOADING = threading.Lock()


def load() -> Any:
    """Return the litellm module, which is imported here unless the program did it before; it takes seconds.

    A litellm that the program imported itself is left as it is. One that is imported here reads what it bundles
    instead of downloading it, and has three of its settings changed, because they have no counterpart in a call:
    ``suppress_debug_info`` (or it prints advice on every error), ``disable_hf_tokenizer_download`` (or it may
    download a vocabulary to count an answer) and ``disable_aiohttp_transport`` (or what it sends through clients
    of its own passes neither family of httpx).

    Raises:
        MissingExtra: litellm is not installed.

    """
    with _LOADING:
        if "litellm" in sys.modules:
            return _module("litellm")
        with _environment(OWN_FILES):
            litellm = _module("litellm")
            # Its first request to an Anthropic model would download them.
            _module("litellm.anthropic_beta_headers_manager").get_provider_name("anthropic")
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        litellm.disable_aiohttp_transport = True
        return litellm


def part(name: str) -> Any:
    """Return the module `name` of litellm, or of the openai SDK that it is built on; litellm is loaded already."""
    return importlib.import_module(name)


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name == "litellm":
            raise MissingExtra("litellm", "litellm") from e
        raise


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
