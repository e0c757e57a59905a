"""Read every SCIENCE_AGENT_* variable once into one frozen object.

    settings = Settings.from_environment()
    budgets = settings.budgets(client.limits)

An explicit argument is named like its variable without the prefix and in lower case (``prompt_budget_chars``,
``trace_dir``, ``tool_output_max_bytes``, ``llm_max_tokens``) and beats the environment.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, create_model

from copyfit.errors import SettingsError
from copyfit.shapes.budgets import (
    COUNT,
    POSITIVE,
    SAFE_INTEGER,
    ContextBudgets,
    ModelLimits,
    OutputBounds,
    WholeNumbers,
    allowed_for,
    variable,
)
from copyfit.shapes.scope import Mode

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings
    from pydantic_settings import PydanticBaseSettingsSource as Source

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BASED: Final = re.compile(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+")
_SWITCH: Final = MappingProxyType({"1": True, "true": True, "on": True, "0": False, "false": False, "off": False})


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
    tool_outputs: OutputBounds = field(default_factory=OutputBounds)
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
        found = _read(os.environ if environ is None else environ, explicit)
        home = Path(data_dir).resolve()
        budget_values = _part(found, ContextBudgets)
        _check_model_independent(budget_values)
        return cls(
            trace=TraceSettings(
                enabled=found.get("trace", False), directory=found.get("trace_dir", home / "context-traces")
            ),
            budget_values=MappingProxyType(budget_values),
            tool_outputs=OutputBounds(**_part(found, OutputBounds, "tool_output_")),
            llm=LlmSettings(**_part(found, LlmSettings, "llm_")),
            data_dir=home,
            **{name: found[name] for name in ("mode", "max_parallel_tool_calls", "example_dir") if name in found},
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


def _part(found: Mapping[str, Any], record: type, prefix: str = "") -> dict[str, Any]:
    """Return what `found` has for the fields of `record`, each under its field name."""
    names = [each.name for each in fields(record)]
    return {name: found[prefix + name] for name in names if prefix + name in found}


def _check_model_independent(budget_values: Mapping[str, int]) -> None:
    """Refuse contradictions that no model's limits could resolve, before any model is known."""
    of_model = {"model_max_tokens", "output_reserve_tokens"}
    both_known = of_model <= budget_values.keys()
    ContextBudgets(**{name: value for name, value in budget_values.items() if both_known or name not in of_model})


def _read(environ: Mapping[str, str], explicit: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings that are set, `explicit` before `environ`; None and blank texts are not set."""
    from pydantic_settings import EnvSettingsSource

    model = _model()
    for name in sorted(explicit.keys() - model.model_fields.keys()):
        raise SettingsError(name, explicit[name], f"one of the settings: {', '.join(sorted(model.model_fields))}")
    source = EnvSettingsSource(model)
    # Left alone, the source reads the process's environment, and on Windows it ignores the case of names.
    source.env_vars, source.case_sensitive = environ, True
    values = source() | {_variable(name): value for name, value in explicit.items() if value is not None}
    trimmed = {key: value.strip() if isinstance(value, str) else value for key, value in values.items()}
    try:
        found = model.model_validate({key: value for key, value in trimmed.items() if value != ""})
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        allowed = str(model.model_fields[name].description)
        raise SettingsError(_variable(name), trimmed[_variable(name)], allowed) from error
    return found.model_dump(exclude_unset=True)


@cache
def _model() -> "type[BaseSettings]":
    """Return the model of all settings: filled by variable; a field's description says what it must be.

    The library behind it is loaded here and not with the package, which stays quick to import.
    """
    from pydantic_settings import BaseSettings, SettingsConfigDict

    class Given(BaseSettings):
        """Settings with no source but the values that they are given."""

        model_config = SettingsConfigDict(alias_generator=_variable, loc_by_alias=False, validate_default=False)

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], init_settings: "Source", *_: "Source", **__: "Source"
        ) -> "tuple[Source, ...]":
            return (init_settings,)

    lower = BeforeValidator(lambda value: str(value).lower())
    switch = BeforeValidator(lambda value: _SWITCH.get(str(value).lower()))
    folder = Annotated[Path, AfterValidator(Path.resolve), Field(description="a path")]
    seconds = Field(gt=0, le=SAFE_INTEGER, description="a positive number of seconds")
    kinds = {
        "mode": Annotated[Mode, lower, Field(description="dynamic, legacy, or shadow")],
        "trace": Annotated[bool, switch, Field(description="1, true or on, or 0, false, off or empty")],
        "trace_dir": folder,
        "example_dir": folder,
        "llm_max_tokens": _whole(POSITIVE),
        "llm_timeout_seconds": Annotated[float, BeforeValidator(_number), seconds],
        "llm_max_retries": _whole(COUNT),
        "max_parallel_tool_calls": _whole(POSITIVE),
        **{each.name: _whole(allowed_for(each.name)) for each in fields(ContextBudgets)},
        **{f"tool_output_{each.name}": _whole(POSITIVE) for each in fields(OutputBounds)},
    }
    settings: dict[str, Any] = {name: (kind, None) for name, kind in kinds.items()}
    return create_model("Variables", __base__=Given, **settings)


def _whole(numbers: WholeNumbers) -> Any:
    limits = Field(ge=numbers.least, le=numbers.most, description=numbers.words)
    return Annotated[int, BeforeValidator(_number), limits]


def _number(value: object) -> float:
    """Return the number that the reference's language reads in `value` (behaviour.md section 1.1)."""
    if isinstance(value, str):
        if _BASED.fullmatch(value):
            return int(value, 0)
        if _DECIMAL.fullmatch(value):
            return float(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("not a number")


def _variable(name: str) -> str:
    """Return the environment variable of the setting `name`."""
    if name.startswith(("tool_output_", "llm_", "max_parallel_")):
        return "SCIENCE_AGENT_" + name.upper()
    return variable(name)
