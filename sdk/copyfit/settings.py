"""Read every SCIENCE_AGENT_* variable once into one frozen object.

    settings = Settings.from_environment()
    budgets = settings.budgets(client.limits)

An explicit argument is named like its variable without the prefix and in lower case (``prompt_budget_chars``,
``trace_dir``, ``tool_output_max_bytes``, ``llm_max_tokens``) and beats the environment.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from copyfit.errors import SettingsError
from copyfit.shapes.budgets import PREFIX as CONTEXT_PREFIX
from copyfit.shapes.budgets import ContextBudgets, ModelLimits
from copyfit.shapes.scope import Mode

T = TypeVar("T")

_PREFIX: Final = "SCIENCE_AGENT_"
_SAFE_INTEGER: Final = 2**53 - 1
"""The largest whole number that the reference's number type holds exactly (behaviour.md section 1.1)."""

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BASES: Final = MappingProxyType({"0x": 16, "0o": 8, "0b": 2})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutputSettings:
    """The bounds of tool outputs, in bytes unless the name says lines (behaviour.md section 1.4)."""

    max_bytes: int = 51_200
    max_lines: int = 2_000
    retention_bytes: int = 8_192
    read_advisory_bytes: int = 65_536
    read_strong_advisory_bytes: int = 98_304


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSettings:
    """How a model is asked: the longest answer in tokens, the timeout in seconds, the HTTP retries."""

    max_tokens: int = 16_384
    timeout_seconds: float = 600.0
    max_retries: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSettings:
    """Whether turns are traced, and the absolute folder that the files go to."""

    enabled: bool = False
    directory: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a run reads from its environment; `budget_values` holds only what was set on purpose."""

    mode: Mode = Mode.DYNAMIC
    trace: TraceSettings
    budget_values: Mapping[str, int] = field(default_factory=dict)
    tool_outputs: ToolOutputSettings = ToolOutputSettings()
    llm: LlmSettings = LlmSettings()
    max_parallel_tool_calls: int = 10
    data_dir: Path
    example_dir: Path | None = None

    @classmethod
    def from_environment(
        cls,
        environ: Mapping[str, str] | None = None,
        *,
        data_dir: str | Path = ".copyfit",
        **explicit: object,
    ) -> "Settings":
        """Return the settings of `environ` (default: the process's), with `explicit` arguments before them.

        `data_dir` is the folder for what a run leaves behind; relative paths are resolved now. None as an explicit
        argument means that it is not given.

        Raises:
            SettingsError: a value is not allowed, two values contradict each other, or an argument has no meaning.

        """
        source = _Source(os.environ if environ is None else environ, explicit)
        home = Path(data_dir).resolve()
        budget_values = source.given(_BUDGETS)
        _check_model_independent(budget_values)
        outputs = ToolOutputSettings(**source.given(_OUTPUTS))
        if outputs.read_strong_advisory_bytes < outputs.read_advisory_bytes:
            raise SettingsError(
                _variable("tool_output_read_strong_advisory_bytes"),
                outputs.read_strong_advisory_bytes,
                f"at least {_variable('tool_output_read_advisory_bytes')} ({outputs.read_advisory_bytes})",
            )
        return cls(
            mode=source.take("mode", _mode, "dynamic, legacy, or shadow") or Mode.DYNAMIC,
            trace=TraceSettings(
                enabled=source.take("trace", _switch, "1, true or on, or 0, false, off or empty") or False,
                directory=source.take("trace_dir", _path, "a path") or home / "context-traces",
            ),
            budget_values=MappingProxyType(budget_values),
            tool_outputs=outputs,
            llm=LlmSettings(
                **source.given(_LLM),
                timeout_seconds=source.take("llm_timeout_seconds", _seconds, "a positive number of seconds")
                or LlmSettings().timeout_seconds,
            ),
            max_parallel_tool_calls=source.whole("max_parallel_tool_calls", _POSITIVE) or 10,
            data_dir=home,
            example_dir=source.take("example_dir", _path, "a path"),
        )

    def budgets(self, limits: ModelLimits | None = None) -> ContextBudgets:
        """Return the budgets for a model with `limits`.

        What was set on purpose wins. The window is otherwise the model's; the reserve is otherwise the longest
        answer that will be asked for, or less where the model cannot answer that much.

        Raises:
            SettingsError: the reserve leaves no room for input.

        """
        facts = {"output_reserve_tokens": self.llm.max_tokens}
        if limits is not None:
            facts["model_max_tokens"] = limits.context_tokens
            if limits.max_output_tokens is not None:
                facts["output_reserve_tokens"] = min(self.llm.max_tokens, limits.max_output_tokens)
        return ContextBudgets(**{**facts, **self.budget_values})


@dataclass(frozen=True, slots=True)
class _Range:
    low: int
    high: int
    words: str


_POSITIVE: Final = _Range(1, _SAFE_INTEGER, "a positive integer")
_COUNT: Final = _Range(0, _SAFE_INTEGER, "a non-negative integer")
_PERCENT: Final = _Range(1, 100, "an integer between 1 and 100")


def _budget_range(name: str) -> _Range:
    if name == "compaction_summary_retries":
        return _COUNT
    return _PERCENT if name.endswith("_percent") else _POSITIVE


_BUDGETS: Final = MappingProxyType(
    {each.name: (each.name, _budget_range(each.name)) for each in fields(ContextBudgets)}
)
_OUTPUTS: Final = MappingProxyType(
    {each.name: (f"tool_output_{each.name}", _POSITIVE) for each in fields(ToolOutputSettings)}
)
_LLM: Final = MappingProxyType(
    {"max_tokens": ("llm_max_tokens", _POSITIVE), "max_retries": ("llm_max_retries", _COUNT)}
)
_CONTEXT_NAMES: Final = frozenset({*_BUDGETS, "mode", "trace", "trace_dir", "example_dir"})
_NAMES: Final = _CONTEXT_NAMES.union(
    (name for name, _ in (*_OUTPUTS.values(), *_LLM.values())), ("llm_timeout_seconds", "max_parallel_tool_calls")
)


def _variable(name: str) -> str:
    return (CONTEXT_PREFIX if name in _CONTEXT_NAMES else _PREFIX) + name.upper()


def _check_model_independent(budget_values: Mapping[str, int]) -> None:
    """Refuse contradictions that no model's limits could resolve, before any model is known."""
    of_model = {"model_max_tokens", "output_reserve_tokens"}
    ContextBudgets(
        **{
            name: value
            for name, value in budget_values.items()
            if name not in of_model or of_model <= budget_values.keys()
        }
    )


class _Source:
    """The explicit arguments, and the environment behind them."""

    def __init__(self, environ: Mapping[str, str], explicit: Mapping[str, object]) -> None:
        for name in sorted(explicit.keys() - _NAMES):
            raise SettingsError(name, explicit[name], f"one of the settings: {', '.join(sorted(_NAMES))}")
        self._environ = environ
        self._explicit = explicit

    def take(self, name: str, read: Callable[[object], T | None], allowed: str) -> T | None:
        """Return the setting `name` as `read` understands it; None when it is not set or blank."""
        value = self._explicit.get(name)
        if value is None:
            value = self._environ.get(_variable(name), "")
        if isinstance(value, str):
            value = value.strip()
            if not value:
                return None
        result = read(value)
        if result is None:
            raise SettingsError(_variable(name), value, allowed)
        return result

    def whole(self, name: str, allowed: _Range) -> int | None:
        """Return the whole number `name`; None when it is not set."""
        return self.take(name, lambda value: _whole(value, allowed), allowed.words)

    def given(self, table: Mapping[str, tuple[str, _Range]]) -> dict[str, int]:
        """Return the fields of `table` that are set, each under its field name."""
        found = {key: self.whole(name, allowed) for key, (name, allowed) in table.items()}
        return {key: value for key, value in found.items() if value is not None}


def _number(text: str) -> float:
    """Return `text` as the number that the reference's language reads in it; NaN when it reads none."""
    base = _BASES.get(text[:2].lower())
    if base is not None:
        digits = text[2:]
        try:
            return float(int(digits, base)) if digits.isascii() and digits.isalnum() else math.nan
        except (ValueError, OverflowError):
            return math.nan
    return float(text) if _DECIMAL.fullmatch(text) else math.nan


def _whole(value: object, allowed: _Range) -> int | None:
    number = _number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if isinstance(number, float) and not number.is_integer():
        return None
    return int(number) if allowed.low <= number <= allowed.high else None


def _seconds(value: object) -> float | None:
    number = _number(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number) if 0 < number <= _SAFE_INTEGER else None


def _mode(value: object) -> Mode | None:
    return {mode.value: mode for mode in Mode}.get(str(value).lower())


def _switch(value: object) -> bool | None:
    return {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}.get(str(value).lower())


def _path(value: object) -> Path | None:
    return Path(value).resolve() if isinstance(value, str | Path) else None
