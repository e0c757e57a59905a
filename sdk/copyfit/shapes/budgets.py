"""How much may go into a model input, how much a tool output may show, and the limits that follow."""

from dataclasses import dataclass, replace
from typing import Final

from copyfit.errors import SettingsError

PREFIX: Final = "SCIENCE_AGENT_CONTEXT_"
OUTPUT_PREFIX: Final = "SCIENCE_AGENT_TOOL_OUTPUT_"


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """The whole numbers from `least` to `most`, and the `words` that an error says for them."""

    least: int
    most: int
    words: str

    def require(self, variable: str, value: object) -> None:
        """Refuse a `value` of `variable` that is none of these numbers.

        Raises:
            SettingsError: it is none of them.

        """
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise SettingsError(variable, value, self.words)


SAFE_INTEGER: Final = 2**53 - 1
"""The largest whole number that the reference's number type holds exactly (behaviour.md section 1.1)."""

POSITIVE: Final = WholeNumbers(1, SAFE_INTEGER, "a positive integer")
COUNT: Final = WholeNumbers(0, SAFE_INTEGER, "a non-negative integer")
PERCENT: Final = WholeNumbers(1, 100, "an integer between 1 and 100")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """What a model can take, in tokens: the whole window, and the most it may answer (None: not known)."""

    context_tokens: int
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBudgets:
    """Every budget of an assembly; the defaults are the reference's (behaviour.md section 1.1).

    Fields that end in `_tokens`, `_chars` (code points), `_bytes` and `_percent` (of the input limit) say their
    unit; the others count things.

    Raises:
        SettingsError: a value is out of its range, or the reserve leaves no room for input.

    """

    model_max_tokens: int = 131_072
    output_reserve_tokens: int = 16_384
    window_tokens: int | None = None
    window_messages: int | None = None
    window_rounds: int | None = None
    prompt_budget_chars: int = 300_000
    section_max_chars: int = 100_000
    data_budget_chars: int = 500_000
    attachment_max_chars: int = 200_000
    contributed_message_budget_chars: int = 100_000
    max_contributed_messages: int = 50
    compaction_pressure_percent: int = 80
    compaction_retain_percent: int = 16
    compaction_tool_preview_bytes: int = 2_048
    compaction_summary_retries: int = 1

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None or not name.startswith("window_"):
                allowed_for(name).require(variable(name), value)
        if self.output_reserve_tokens >= self.model_max_tokens:
            raise SettingsError(
                variable("output_reserve_tokens"),
                self.output_reserve_tokens,
                f"smaller than {variable('model_max_tokens')} ({self.model_max_tokens}), or no room is left for "
                "input: lower the reserve, or name a larger window",
            )
        if self.compaction_retain_percent >= self.compaction_pressure_percent:
            raise SettingsError(
                variable("compaction_retain_percent"),
                self.compaction_retain_percent,
                f"smaller than {variable('compaction_pressure_percent')} ({self.compaction_pressure_percent})",
            )

    @property
    def input_limit_tokens(self) -> int:
        """The tokens that a whole input may have: the window less the reserve, or the smaller explicit window."""
        room = self.model_max_tokens - self.output_reserve_tokens
        return room if self.window_tokens is None else min(self.window_tokens, room)

    @property
    def pressure_line_tokens(self) -> int:
        """The share of the input limit at which pressure handling starts, rounded down."""
        return self.input_limit_tokens * self.compaction_pressure_percent // 100

    @property
    def retain_tokens(self) -> int:
        """The share of the input limit that compaction keeps verbatim as the recent suffix; at least 1."""
        return max(1, self.input_limit_tokens * self.compaction_retain_percent // 100)

    def within(self, limit_tokens: int) -> "ContextBudgets":
        """Return these budgets for a window that turned out to have `limit_tokens` in all.

        A reserve that would fill more than half of the smaller window is cut to that half, so that learning a
        limit in mid-run never leaves a run without room for input; for the same reason a limit under 2 is ignored.
        """
        if not 2 <= limit_tokens < self.model_max_tokens:
            return self
        reserve = min(self.output_reserve_tokens, max(1, limit_tokens // 2))
        return replace(self, model_max_tokens=limit_tokens, output_reserve_tokens=reserve)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputBounds:
    """What a tool result may show, in bytes unless the name says lines; the defaults are the reference's.

    A result longer than `retention_bytes` is stored even where it is shown whole. The two advisory bounds say how
    much may be read back of one output before the reader is told.

    Raises:
        SettingsError: a bound is not a positive integer, or the strong advisory comes before the ordinary one.

    """

    max_bytes: int = 51_200
    max_lines: int = 2_000
    retention_bytes: int = 8_192
    read_advisory_bytes: int = 65_536
    read_strong_advisory_bytes: int = 98_304

    def __post_init__(self) -> None:
        for name in self.__slots__:
            POSITIVE.require(OUTPUT_PREFIX + name.upper(), getattr(self, name))
        if self.read_strong_advisory_bytes < self.read_advisory_bytes:
            raise SettingsError(
                OUTPUT_PREFIX + "READ_STRONG_ADVISORY_BYTES",
                self.read_strong_advisory_bytes,
                f"at least {OUTPUT_PREFIX}READ_ADVISORY_BYTES ({self.read_advisory_bytes})",
            )


def variable(name: str) -> str:
    """Return the environment variable of the context setting `name`."""
    return PREFIX + name.upper()


def allowed_for(name: str) -> WholeNumbers:
    """Return what the budget field `name` may be when it is set."""
    if name == "compaction_summary_retries":
        return COUNT
    return PERCENT if name.endswith("_percent") else POSITIVE
