"""Read a model's limits out of what a provider's models endpoint answers.

There is no common form: the window and the most output stand under different names, some of them in an object of
the entry. A window in tokens is the first of these that is a whole number (Cohere may write it as a float):

    loaded_context_length         LM Studio, as loaded
    context_window                Groq
    max_model_len                 vLLM
    n_ctx                         llama.cpp (in meta)
    max_context_length            Mistral, LM Studio
    context_length                OpenRouter, Together, Moonshot, Cohere
    inputTokenLimit               Gemini
    max_input_tokens              Anthropic, LiteLLM's proxy
    ARCHITECTURE.context_length   Ollama (in model_info)
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from copyfit.shapes.budgets import ModelLimits

_WINDOWS = (
    "loaded_context_length",
    "context_window",
    "max_model_len",
    "n_ctx",
    "max_context_length",
    "context_length",
    "inputTokenLimit",
    "max_input_tokens",
)
_OUTPUTS = ("max_completion_tokens", "max_output_tokens", "outputTokenLimit", "max_output_length", "max_tokens")
_NESTED = ("meta", "top_provider", "model_info", "limits")


def read_limits(reply: Any, model: str) -> ModelLimits | None:
    """Return the limits of `model` in a `reply` that tells of one model or lists many; None if it says none."""
    entry = next(_entries(reply, model), None)
    if entry is None:
        return None
    fields = dict(entry)
    for name in _NESTED:
        inner = entry.get(name)
        fields |= inner if isinstance(inner, Mapping) else {}
    window = _first(fields, _WINDOWS) or _first(fields, [name for name in fields if ".context_length" in name])
    if window is None:
        return None
    output = _first(fields, _OUTPUTS)
    # A cap as large as the window caps nothing.
    return ModelLimits(context_tokens=window, max_output_tokens=None if output == window else output)


def _entries(reply: Any, model: str) -> Iterator[Mapping[str, Any]]:
    """Yield what is said of `model`: an entry of a list that bears its name, or a reply that is no list."""
    listed = reply
    if isinstance(reply, Mapping):
        listed = next((reply[name] for name in ("data", "models") if isinstance(reply.get(name), list)), None)
        if listed is None:
            yield reply
            return
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, Mapping) and _is_named(entry, model):
            yield entry


def _is_named(entry: Mapping[str, Any], model: str) -> bool:
    names = [entry.get(name) for name in ("id", "name", "model", "key")]
    bare = [name.removeprefix("models/").removesuffix(":latest") for name in names if isinstance(name, str)]
    return model.removesuffix(":latest") in bare


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 and value % 1 == 0:
            return int(value)
    return None
