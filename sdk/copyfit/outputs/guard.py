"""Bound what a tool result may show, and keep the whole of a long one in the store."""

from dataclasses import dataclass, field

from copyfit.errors import ToolOutputError
from copyfit.outputs.cutting import Side, bound_lines, byte_length, count_lines, format_size, split_lines
from copyfit.ports.outputs import ToolOutputStore
from copyfit.shapes.budgets import OutputBounds
from copyfit.shapes.messages import OutputRef

TAIL_TOOLS = frozenset({"run_npu_job", "run_python", "run_r", "run_shell"})
"""Tools whose end says most, for a failure is told last (behaviour.md section 16.3)."""

SELF_BOUNDED_FACTOR = 4
"""How many times the bounds a tool may show that bounds its output itself (behaviour.md section 16.3)."""
PREFERRED_PERCENT = 65
"""The share of the bounds that the more telling end of a cut output gets (behaviour.md section 16.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedOutput:
    """What the model sees of a tool output, and where the whole is kept, if it is."""

    text: str
    output_ref: OutputRef | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputGuard:
    """Stands between the tools and the history; no result fails because of it.

    `store` keeps what is too long to show (None: nothing is kept); for the tools of `tail_tools` the end of a
    cut output is preferred, for all others its beginning.
    """

    bounds: OutputBounds = field(default_factory=OutputBounds)
    store: ToolOutputStore | None = None
    tail_tools: frozenset[str] = TAIL_TOOLS

    def bound(self, text: str, *, tool_name: str, self_bounded: bool = False) -> GuardedOutput:
        """Return `text` as the model may see it; a tool that is `self_bounded` may show four times as much."""
        factor = SELF_BOUNDED_FACTOR if self_bounded else 1
        size, lines = byte_length(text), count_lines(text)
        truncated = size > self.bounds.max_bytes * factor or lines > self.bounds.max_lines * factor
        retained = not self_bounded and size > self.bounds.retention_bytes
        ref = self._store(text, tool_name) if truncated or retained else None
        if not truncated:
            return GuardedOutput(text=text, output_ref=ref)
        header = f"[bounded tool output] {tool_name} produced {lines} lines ({format_size(size)})."
        shown = f"{header}\n{_where(ref)}\n\n{self._preview(text, tool_name)}"
        return GuardedOutput(text=shown, output_ref=ref, truncated=True)

    def _store(self, text: str, tool_name: str) -> OutputRef | None:
        if self.store is None:
            return None
        try:
            return self.store.put(text, tool_name=tool_name)
        except ToolOutputError:
            return None

    def _preview(self, text: str, tool_name: str) -> str:
        preferred: Side = "tail" if tool_name in self.tail_tools else "head"
        head_percent = PREFERRED_PERCENT if preferred == "head" else 100 - PREFERRED_PERCENT
        lines = split_lines(text)
        head_lines = max(1, self.bounds.max_lines * head_percent // 100)
        head_bytes = self.bounds.max_bytes * head_percent // 100
        head = bound_lines(lines, max_lines=head_lines, max_bytes=head_bytes, side="head")
        tail = bound_lines(
            lines,
            max_lines=max(1, self.bounds.max_lines - head_lines),
            max_bytes=self.bounds.max_bytes - head_bytes,
            side="tail",
        )
        omitted_lines = max(0, len(lines) - head.lines - tail.lines)
        omitted_bytes = byte_length(text) - byte_length(head.text) - byte_length(tail.text)
        note = f"[... {omitted_lines} lines ({format_size(omitted_bytes)}) omitted from the middle ...]"
        return f"{_closed(head.text)}{note}\n{tail.text}"


def _where(ref: OutputRef | None) -> str:
    if ref is None:
        return (
            "The whole output could not be stored; run the tool again with a narrower request to see more of it."
        )
    return (
        f'The whole output is stored under ref "{ref.ref}": call read_tool_output with this ref and a query, or '
        "with offset and limit for lines, or charOffset and charLimit for one over-wide line."
    )


def _closed(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
