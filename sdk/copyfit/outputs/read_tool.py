"""The read_tool_output tool over a store."""

from collections.abc import Mapping
from typing import Any, Protocol

from copyfit.outputs.cutting import byte_length
from copyfit.outputs.read_reply import ReadLog, render_reply
from copyfit.outputs.read_request import PAGE_BYTES, parse_read, read_tool_spec
from copyfit.outputs.reading import read_page
from copyfit.shapes.budgets import OutputBounds
from copyfit.shapes.messages import OutputRef
from copyfit.shapes.tools import ToolSpec


class DescribingStore(Protocol):
    """A store that also knows which tool an output came from."""

    def get(self, ref: str) -> str:
        """Return the whole text kept under `ref`."""
        ...

    def describe(self, ref: str) -> OutputRef:
        """Return the size and the tool of the output kept under `ref`."""
        ...


class ToolOutputReader:
    """Answers the read_tool_output calls of one run, each with at most `page_bytes` bytes of stored text."""

    def __init__(
        self, store: DescribingStore, *, bounds: OutputBounds | None = None, page_bytes: int = PAGE_BYTES
    ) -> None:
        self._store = store
        self._page_bytes = page_bytes
        self._bounds = bounds or OutputBounds()
        self._log = ReadLog()

    @property
    def spec(self) -> ToolSpec:
        """What the model is told about the tool."""
        return read_tool_spec()

    def read(self, arguments: Mapping[str, Any]) -> str:
        """Return the answer to a call with `arguments`.

        Raises:
            ToolOutputError: the arguments make no request, or the ref leads nowhere.

        """
        ref, request = parse_read(arguments)
        page = read_page(self._store.get(ref), request, page_bytes=self._page_bytes)
        self._log, advice = self._log.after(ref, request, page_bytes=byte_length(page.text), bounds=self._bounds)
        return render_reply(page, stored=self._store.describe(ref), advice=advice)
