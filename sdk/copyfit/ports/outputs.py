"""Where whole tool outputs are kept while the model sees only a part of them."""

from typing import Protocol

from copyfit.shapes.messages import OutputRef


class ToolOutputStore(Protocol):
    """Keeps tool outputs under a ref for as long as the session lives."""

    def put(self, text: str, *, tool_name: str) -> OutputRef:
        """Keep `text` and return its ref.

        Raises:
            ToolOutputError: it could not be kept.

        """
        ...

    def get(self, ref: str) -> str:
        """Return the whole text kept under `ref`.

        Raises:
            ToolOutputError: `ref` is malformed, or nothing is kept under it any more.

        """
        ...
