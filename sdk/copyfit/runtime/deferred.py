"""Tools that the model is told of by name alone, until it searches for them or the request calls for them."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from copyfit.shapes.tools import ToolSpec
from copyfit.state.values import compact_json

TOOL_SEARCH: Final = "tool_search"
FOUND_CAP: Final = 5
"""Tools that one search by word or pattern promotes (behaviour.md section 16.6)."""
PREFERRED_CAP: Final = 3
"""Tools that the request promotes when a run starts (behaviour.md section 16.6)."""
_QUERY_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class PreferWhen:
    """Asks to prefer a tool when the request mentions one of `keywords`; a higher priority goes first."""

    keywords: tuple[str, ...]
    priority: int = 0

    def called_for(self, request: str) -> bool:
        """Return whether `request` mentions a keyword, in any letter case."""
        return any(keyword.casefold() in request.casefold() for keyword in self.keywords)


class DeferredTools:
    """Which deferred tools of a run are promoted so far, and how the model finds the others.

    Args:
        specs: the deferred tools by name, in registration order.
        preferences: when which tool of the run is preferred, deferred or not, by name.
        is_available: whether the tool of a name may be used now.

    """

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        preferences: Mapping[str, PreferWhen],
        is_available: Callable[[str], bool],
    ) -> None:
        self._specs = specs
        self._preferences = preferences
        self._is_available = is_available
        self._promoted: set[str] = set()

    @property
    def hidden(self) -> frozenset[str]:
        """The names of the deferred tools that are not promoted."""
        return frozenset(self._specs.keys() - self._promoted)

    def offers(self, name: str) -> bool:
        """Return whether the tool `name` may be used now; `tool_search` may while there is a tool to find."""
        if name == TOOL_SEARCH and self._specs:
            return bool(self._available())
        return self._is_available(name)

    def promote_preferred(self, request: str) -> None:
        """Promote the available deferred tools that the text of the `request` calls for, the first three."""
        wanted = [
            name
            for name in self._available()
            if name in self._preferences and self._preferences[name].called_for(request)
        ]
        wanted.sort(key=lambda name: -self._preferences[name].priority)
        self._promoted.update(wanted[:PREFERRED_CAP])

    def search(self, query: str) -> str:
        """Promote the tools that `query` finds, and return their schemas as JSON; see `tool_search_spec`."""
        query = query.strip()
        if query.startswith("select:"):
            names = [name.strip() for name in query.removeprefix("select:").split(",")]
            found = [name for name in self._available() if name in names]
        elif query.startswith("+"):
            found = self._by_word(query[1:].split())[:FOUND_CAP]
        else:
            found = self._by_pattern(query)[:FOUND_CAP]
        self._promoted.update(found)
        if found:
            return compact_json({"tools": [_as_data(self._specs[name]) for name in found]})
        listed = ", ".join(sorted(self._available()))
        return compact_json({"tools": [], "message": f"No tool matches {query!r}. The names are: {listed}."})

    def prompt_sections(self) -> tuple[str, ...]:
        """Return what the system prompt says: the deferred names, promoted or not, and which tools to prefer."""
        names = sorted(self._available())
        hints = [
            f"- {name}: {', '.join(preference.keywords)}"
            for name, preference in sorted(self._preferences.items())
            if self._is_available(name)
        ]
        sections = []
        if names:
            sections.append(
                f"Deferred tools, of which {TOOL_SEARCH} gives the schemas; search for one before calling it: "
                f"{', '.join(names)}"
            )
        if hints:
            sections.append("\n".join(["Prefer these tools when the request is about:", *hints]))
        return tuple(sections)

    def _available(self) -> list[str]:
        return [name for name in self._specs if self._is_available(name)]

    def _by_word(self, words: Sequence[str]) -> list[str]:
        """Return the names that hold the first word, those that more of the other words describe first."""
        if not words:
            return []
        required, *rest = (word.casefold() for word in words)
        named = [name for name in self._available() if required in name.casefold()]
        return sorted(named, key=lambda name: -sum(word in self._text(name) for word in rest))

    def _by_pattern(self, query: str) -> list[str]:
        """Return the names that the pattern is found in, and behind them those that it describes."""
        if not query:
            return []
        pattern = _pattern(query)
        named = [name for name in self._available() if pattern.search(name)]
        described = [name for name in self._available() if pattern.search(self._specs[name].description)]
        return list(dict.fromkeys(named + described))

    def _text(self, name: str) -> str:
        return f"{name}\n{self._specs[name].description}".casefold()


def tool_search_spec() -> ToolSpec:
    """Return what the model is told about `tool_search`."""
    return ToolSpec(
        name=TOOL_SEARCH,
        description=(
            "Load deferred tools: their schemas are returned, and they can be called from the next step on. "
            f"'select:first,second' loads tools by name; '+word others' those whose name holds word, at most "
            f"{FOUND_CAP}, best described by others first; anything else is a regular expression over names and "
            f"descriptions, at most {FOUND_CAP}."
        ),
        parameters={
            "type": "object",
            "properties": {"query": {"type": "string", "minLength": 1, "maxLength": _QUERY_CHARS}},
            "required": ["query"],
            "additionalProperties": False,
        },
    )


def _pattern(query: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings(action="ignore"):  # a model's pattern is no business of the developer's
            return re.compile(query, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(query), re.IGNORECASE)


def _as_data(spec: ToolSpec) -> dict[str, object]:
    return {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
