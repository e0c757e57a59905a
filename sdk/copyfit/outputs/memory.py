"""Keep tool outputs in memory, for tests and runs that need no second look after they end."""

from copyfit.outputs.cutting import byte_length, count_lines
from copyfit.outputs.refs import check_ref, no_longer_available, ref_for
from copyfit.shapes.messages import OutputRef


class MemoryToolOutputStore:
    """Keeps whole tool outputs for as long as the object lives; satisfies `ToolOutputStore`."""

    def __init__(self, *, session: str = "session") -> None:
        self._session = session
        self._kept: dict[str, tuple[OutputRef, str]] = {}

    def put(self, text: str, *, tool_name: str) -> OutputRef:
        """Keep `text` and return its ref; the same text of the same tool has the same ref."""
        salt = 0
        while True:
            name = ref_for(text, session=self._session, tool_name=tool_name, salt=salt)
            kept = self._kept.get(name)
            if kept is None:
                ref = OutputRef(ref=name, bytes=byte_length(text), lines=count_lines(text), tool_name=tool_name)
                self._kept[name] = (ref, text)
                return ref
            if kept[1] == text:
                return kept[0]
            salt += 1

    def get(self, ref: str) -> str:
        """Return the whole text kept under `ref`.

        Raises:
            ToolOutputError: `ref` is malformed, or nothing is kept under it.

        """
        return self._find(ref)[1]

    def describe(self, ref: str) -> OutputRef:
        """Return the size and the tool of the output kept under `ref`.

        Raises:
            ToolOutputError: `ref` is malformed, or nothing is kept under it.

        """
        return self._find(ref)[0]

    def forget_session(self) -> None:
        """Drop every output."""
        self._kept.clear()

    def _find(self, ref: str) -> tuple[OutputRef, str]:
        check_ref(ref)
        kept = self._kept.get(ref)
        if kept is None:
            raise no_longer_available(ref)
        return kept
