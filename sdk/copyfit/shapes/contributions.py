"""What a contributor may give to one turn: sections, messages, attachments and diagnostics."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from copyfit.shapes.messages import Shape, UserMessage

SECTION_HARD_CAP_CHARS = 100_000
"""Code points; a longer section is refused at registration (behaviour.md section 1.3)."""
ATTACHMENT_HARD_CAP_CHARS = 1_000_000
"""Code points; a longer attachment is refused at registration (behaviour.md section 1.3)."""

_ID = re.compile(r"[a-z][a-z0-9]*(?:[._-][a-z0-9]+)*")


def check_id(value: str) -> str:
    """Return `value` if it is a well-formed id of a contributor, factory, section or attachment.

    Raises:
        ValueError: it is not a lower-case letter followed by letters and digits, in groups separated by single
            ``.``, ``_`` or ``-``.

    """
    if not _ID.fullmatch(value):
        raise ValueError(
            f"id is invalid: {value!r}; use lower-case letters and digits in groups joined by '.', '_' or '-'"
        )
    return value


Id = Annotated[str, AfterValidator(check_id)]


class Slot(StrEnum):
    """The place of a section in the system prompt; lower priority comes first."""

    IDENTITY = "identity"
    GOVERNANCE = "governance"
    RUN_CONTRACT = "run_contract"
    TASK_STATE = "task_state"
    CAPABILITIES = "capabilities"
    WORKING_CONTEXT = "working_context"
    FOOTER = "footer"

    @property
    def priority(self) -> int:
        """The base that a section's order is added to (behaviour.md section 1.3)."""
        return _PRIORITY[self]


_PRIORITY = {
    Slot.IDENTITY: 100,
    Slot.GOVERNANCE: 200,
    Slot.RUN_CONTRACT: 300,
    Slot.TASK_STATE: 400,
    Slot.CAPABILITIES: 500,
    Slot.WORKING_CONTEXT: 600,
    Slot.FOOTER: 900,
}


class Trust(StrEnum):
    """How far the body of an attachment is trusted as data; it is never an instruction."""

    TRUSTED = "trusted_data"
    UNTRUSTED = "untrusted_data"


class Section(Shape):
    """A piece of the system prompt; a protected one is never cut and never dropped."""

    id: Id
    slot: Slot
    content: str
    order: int = 0
    protected: bool = False
    revision: str | None = None


class Attachment(Shape):
    """A body of data for this turn only, with its source and how far it is trusted."""

    id: Id
    source: str
    trust: Trust
    content: str


class Diagnostic(Shape):
    """A remark of a stage or contributor; it goes to the trace and never to the model."""

    code: str
    message: str
    severity: Literal["info", "warning"] = "warning"
    details: Mapping[str, Any] | None = None
    contributor_id: str | None = None


class Contribution(Shape):
    """Everything that one contributor gives to one turn; none of it enters the canonical history."""

    sections: tuple[Section, ...] = ()
    messages: tuple[UserMessage, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
