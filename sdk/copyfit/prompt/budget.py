"""Admit contributions within the budgets of a turn: protected sections whole, the rest as far as it fits."""

from collections.abc import Iterator, Sequence
from typing import Final

from copyfit.errors import ProtectedOverBudget
from copyfit.shapes.budgets import ContextBudgets, variable
from copyfit.shapes.contributions import Diagnostic
from copyfit.shapes.stages import Admitted, Collected, PlacedAttachment, PlacedMessage, PlacedSection

TRUNCATION_MARKER: Final = "\n[cut here to stay in the context budget]"
"""41 code points, as many as the reference's (behaviour.md section 1.3)."""
SOURCE: Final = "context.budget"
"""The contributor id of the diagnostics that an admission adds."""


def apply_context_budget(collected: Collected, budgets: ContextBudgets) -> Admitted:
    """Return what of `collected` fits the `budgets`, with a diagnostic for each thing cut or dropped.

    Sections and attachments keep their order; of the messages the last ones win, and none is cut. Budgets count
    code points: of the joined sections with their separators, of attachment bodies without their envelopes, of
    message texts.

    Raises:
        ProtectedOverBudget: the protected sections alone exceed the prompt budget.

    """
    diagnostics = list(collected.diagnostics)
    return Admitted(
        sections=tuple(_sections(collected.sections, budgets, diagnostics)),
        attachments=tuple(_attachments(collected.attachments, budgets, diagnostics)),
        messages=_messages(collected.messages, budgets, diagnostics),
        diagnostics=tuple(diagnostics),
    )


def truncate(text: str, limit: int) -> str:
    """Return `text` in at most `limit` code points, with the marker at its end if it was cut.

    Where the marker itself does not fit, its beginning is all that remains.
    """
    if len(text) <= limit:
        return text
    return text[: max(0, limit - len(TRUNCATION_MARKER))] + TRUNCATION_MARKER[:limit]


def _sections(
    sections: Sequence[PlacedSection], budgets: ContextBudgets, diagnostics: list[Diagnostic]
) -> Iterator[PlacedSection]:
    protected = [len(placed.section.content) for placed in sections if placed.section.protected]
    required = sum(protected) + max(0, len(protected) - 1)
    if required > budgets.prompt_budget_chars:
        raise ProtectedOverBudget(required, budgets.prompt_budget_chars)
    remaining = budgets.prompt_budget_chars - required
    separator = 1 if protected else 0
    for placed in sections:
        section = placed.section
        if section.protected:
            yield placed
            continue
        allowed = min(budgets.section_max_chars, remaining - separator)
        if allowed <= 0:
            diagnostics.append(_dropped("SECTION", section.id, "prompt_budget_chars"))
            continue
        content = truncate(section.content, allowed)
        remaining -= separator + len(content)
        separator = 1
        if content == section.content:
            yield placed
        else:
            diagnostics.append(_truncated("SECTION", section.id, len(section.content), len(content)))
            yield PlacedSection(section.model_copy(update={"content": content}), placed.contributor_id)


def _attachments(
    attachments: Sequence[PlacedAttachment], budgets: ContextBudgets, diagnostics: list[Diagnostic]
) -> Iterator[PlacedAttachment]:
    remaining = budgets.data_budget_chars
    for placed in attachments:
        attachment = placed.attachment
        allowed = min(budgets.attachment_max_chars, remaining)
        if allowed <= 0:
            diagnostics.append(_dropped("ATTACHMENT", attachment.id, "data_budget_chars"))
            continue
        content = truncate(attachment.content, allowed)
        remaining -= len(content)
        if content == attachment.content:
            yield placed
        else:
            diagnostics.append(_truncated("ATTACHMENT", attachment.id, len(attachment.content), len(content)))
            yield PlacedAttachment(attachment.model_copy(update={"content": content}), placed.contributor_id)


def _messages(
    messages: Sequence[PlacedMessage], budgets: ContextBudgets, diagnostics: list[Diagnostic]
) -> tuple[PlacedMessage, ...]:
    remaining = budgets.contributed_message_budget_chars
    kept: list[PlacedMessage] = []
    for placed in reversed(messages):
        if len(kept) == budgets.max_contributed_messages:
            break
        size = len(placed.message.text)
        if size <= remaining:
            remaining -= size
            kept.append(placed)
    if len(kept) < len(messages):
        diagnostics.append(
            Diagnostic(
                code="CONTEXT_MESSAGES_DROPPED",
                message=f"{len(kept)} of {len(messages)} contributed messages fit; "
                f"{variable('contributed_message_budget_chars')} and {variable('max_contributed_messages')} "
                "bound them.",
                contributor_id=SOURCE,
                details={"kept": len(kept), "total": len(messages)},
            )
        )
    return tuple(reversed(kept))


def _dropped(kind: str, dropped_id: str, budget: str) -> Diagnostic:
    return Diagnostic(
        code=f"CONTEXT_{kind}_DROPPED",
        message=f"The {kind.lower()} {dropped_id!r} was left out: nothing remains of {variable(budget)}.",
        contributor_id=SOURCE,
        details={"id": dropped_id},
    )


def _truncated(kind: str, cut_id: str, before: int, after: int) -> Diagnostic:
    return Diagnostic(
        code=f"CONTEXT_{kind}_TRUNCATED",
        message=f"The {kind.lower()} {cut_id!r} was cut from {before} to {after} characters.",
        contributor_id=SOURCE,
        details={"id": cut_id, "before": before, "after": after},
    )
