"""Look models up in the table of limits that litellm's wheel bundles, without importing litellm.

The import takes seconds; reading the file takes 40 milliseconds, once.
"""

import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from copyfit.shapes.budgets import ModelLimits

FILE = "model_prices_and_context_window_backup.json"


def model_limits(model: str) -> ModelLimits | None:
    """Return the limits, in tokens, of the model that litellm calls `model`, or None when its table has none.

    The model may be named with or without its provider (``groq/llama-3.3-70b``, ``gpt-5.1``); a row found under
    the bare name has to be of the provider that was named. The table says the most input and the most output. A
    provider that counts the two apart takes more in all than the most input, so `context_tokens` is on the safe
    side. An answer that may be as long as the window is bounded by the window alone: then, and where the table
    says nothing, `max_output_tokens` is None.
    """
    row = next(_rows(model), {})
    window, output, either = (_tokens(row.get(f"max_{name}tokens")) for name in ("input_", "output_", ""))
    # Rows of older tables that have one number give it as max_tokens, which beside the input means the output.
    context = window or either
    if context is None:
        return None
    longest = output or (either if window else None)
    return ModelLimits(
        context_tokens=context,
        max_output_tokens=longest if longest is not None and longest < context else None,
    )


def _rows(model: str) -> Iterator[Mapping[str, Any]]:
    """Yield what the table holds on `model`: under its whole name, then under what follows each slash."""
    table = _table()
    if model in table:
        yield table[model]
    provider, _, rest = model.partition("/")
    while rest:
        row = table.get(rest)
        if row is not None and _same_provider(provider, row.get("litellm_provider")):
            yield row
        rest = rest.partition("/")[2]


def _same_provider(named: str, listed: Any) -> bool:
    """Whether a provider and a row's are one: ``bedrock`` is also called ``bedrock_converse``."""
    return isinstance(listed, str) and (listed.startswith(named) or named.startswith(listed))


def _tokens(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 else None


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows by name, aliases among them; none when litellm is not installed or bundles no table."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        try:
            rows = json.loads((Path(folder) / FILE).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(rows, dict):
            return MappingProxyType(
                _with_aliases({name: row for name, row in rows.items() if isinstance(row, dict)})
            )
    return MappingProxyType({})


def _with_aliases(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found = {name: rows.get(row.get("alias_of", name), row) for name, row in rows.items()}
    for row in rows.values():
        aliases = row.get("aliases")
        for alias in aliases if isinstance(aliases, list) else ():
            found.setdefault(alias, row)
    return found
